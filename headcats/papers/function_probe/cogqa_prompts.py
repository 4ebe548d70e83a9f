"""Files in the public CogQA layout as texts with marked answers, one per step, written as the suite reader does."""

from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.papers.function_probe.cogqa import cogqa_steps
from headcats.prompts.answered import AnsweredText
from headcats.prompts.chat import chat_template
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span
from headcats.tasks.files.json_file import json_content

TASK = "cogqa"
"""Task of every text: the layout names functions, but no tasks within them."""


def cogqa_texts(path: str | Path, *, chat: Any = None) -> tuple[list[AnsweredText], DropReport]:
    """Texts of a file in the CogQA layout: question, all earlier steps and the step, then ` answer`.

    Args:
        path: A JSON or JSON Lines file, UTF-8.
        chat: The tokenizer of a chat model: the prompt becomes a user's message in its chat template, and the reply
            begins with the answer. None: plain text.

    Returns:
        One text per step with an answer: `category` is the canonical name of its function, `item` the question of the
        entry (all its steps are one cluster), `task` "cogqa", `key` such as "entry 12 step 3" (both from 1). And the
        report, with the reasons "no answer", for each skill of another name "skill 'Induction', none of the eight
        functions", and for an entry without steps "no steps".

    Raises:
        DataError: No such file, not JSON, another layout or a missing field (the message names the entry and the step),
            or no text at all.
        OptionError: A tokenizer without a usable chat template.

    Example:
        >>> import headcats as hc
        >>> import json, pathlib
        >>> step = {"subquestion": "What is the capital?", "answer": "Rome", "cognitive_skill": "Retrieval"}
        >>> entry = {"question": "Where is the seat of Italy?", "answer": "Rome", "generated": [step]}
        >>> _ = pathlib.Path("cogqa.json").write_text(json.dumps([entry]), encoding="utf-8")
        >>> texts, report = hc.papers.function_probe.cogqa_texts("cogqa.json")
        >>> print(texts[0].text)
        Question: Where is the seat of Italy?
        Step: What is the capital?
        Answer: Rome
        >>> texts[0].category, texts[0].key, report.kept
        ('Retrieval', 'entry 1 step 1', 1)

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978; data at https://github.com/sihuo-design/CognitiveMirrors.
    """
    template = None if chat is None else chat_template(chat)
    texts: list[AnsweredText] = []
    steps, report = cogqa_steps(json_content(Path(path)), file=Path(path).name)
    for step in steps:
        if step.function is None or step.why_unusable:
            report.drop(step.why_unusable, repr(step.key))
            continue
        report.kept += 1
        prompt, answer = step.prompt, f" {step.answer}"
        if template is not None:
            prompt, answer = template.query(prompt.strip()) + template.answer(""), step.answer
        texts.append(
            AnsweredText(
                prompt + answer,
                (Span(len(prompt), len(prompt + answer)),),
                key=step.key,
                item=step.question,
                task=TASK,
                category=step.function,
                bos="once" if template is None else template.bos,
            )
        )
    if not texts:
        raise DataError(f"{path} holds no step with an answer: {report.summary()}.")
    return texts, report
