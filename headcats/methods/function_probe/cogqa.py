"""Files in the public CogQA layout as texts with marked answers: the layout is `headcats.tasks.files.cogqa`'s.

Every step of every entry becomes one text. Its answer is ` 16` in the example there (the space belongs to it, as in
every template of headcats). The paper shows a model the same things in the words of a chat instruction, and takes what
the model writes as the answer; here it is the answer of the file.
"""

from pathlib import Path

from headcats.errors import DataError
from headcats.prompts.answered import AnsweredText
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span
from headcats.tasks.files.cogqa import NO_ANSWER, OTHER, cogqa_steps
from headcats.tasks.files.json_file import json_content

TASK = "cogqa"
"""Task of every text: the layout names functions, but no tasks within them."""


def cogqa_texts(path: str | Path) -> tuple[list[AnsweredText], DropReport]:
    """Texts of a file in the CogQA layout.

    Args:
        path: A JSON or JSON Lines file, UTF-8.

    Returns:
        One text per step with an answer: `category` is the canonical name of its function, `item` the question of the
        entry (all its steps are one cluster), `task` "cogqa", `key` such as "entry 12 step 3" (both from 1). And the
        report, with the reasons "no answer" and "skill that is none of the eight functions".

    Raises:
        DataError: No such file, not JSON, another layout or a missing field; the message names the
            entry and the step. No text at all.

    Example:
        >>> import headcats as hc
        >>> import json, pathlib
        >>> step = {"subquestion": "What is the capital?", "answer": "Rome", "cognitive_skill": "Retrieval"}
        >>> entry = {"question": "Where is the seat of Italy?", "answer": "Rome", "generated": [step]}
        >>> _ = pathlib.Path("cogqa.json").write_text(json.dumps([entry]), encoding="utf-8")
        >>> texts, report = hc.methods.function_probe.cogqa_texts("cogqa.json")
        >>> print(texts[0].text)
        Question: Where is the seat of Italy?
        Step: What is the capital?
        Answer: Rome
        >>> texts[0].category, texts[0].key, report.kept
        ('Retrieval', 'entry 1 step 1', 1)

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978; data at https://github.com/sihuo-design/CognitiveMirrors.
    """
    texts: list[AnsweredText] = []
    report = DropReport()
    for step in cogqa_steps(json_content(Path(path)), file=Path(path).name):
        if not step.answer or step.function == OTHER:
            report.drop(OTHER if step.answer else NO_ANSWER, repr(step.key))
            continue
        report.kept += 1
        text = f"{step.prompt} {step.answer}"
        texts.append(
            AnsweredText(
                text,
                (Span(len(step.prompt), len(text)),),
                key=step.key,
                item=step.question,
                task=TASK,
                category=step.function,
            )
        )
    if not texts:
        raise DataError(f"{path} holds no step with an answer: {report.summary()}.")
    return texts, report
