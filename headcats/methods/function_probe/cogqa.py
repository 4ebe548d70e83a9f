"""The public CogQA layout as texts with marked answers.

A file is a list of entries `{question, answer, generated: [{subquestion, answer, cognitive_skill}, ...]}`, as one JSON
array or as JSON Lines. Every step of every entry becomes one text, after the entry's question and the steps before it,
since most steps mean nothing without them:

    Question: Lee mows one lawn and charges $33. ...
    Step: How much does Lee charge for one lawn?
    Answer: $33
    Step: How many lawns did Lee mow?
    Answer: 16

Here ` 16` is the answer of the second step (the space belongs to it, as in every template of headcats). The paper shows
a model the same things in the words of a chat instruction, and takes what the model writes as the answer; here it is
the answer of the file.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headcats.errors import DataError
from headcats.prompts.answered import AnsweredText
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span
from headcats.registry import unknown_name_message
from headcats.tasks.categories import FUNCTIONS

TASK = "cogqa"
"""Task of every text: the layout names functions, but no tasks within them."""


def _bare(name: str) -> str:
    """A name without case, spaces, hyphens and underscores."""
    return "".join(char for char in name.casefold() if char.isalnum())


_NAMES = {_bare(name): name for name in FUNCTIONS}


def cogqa_texts(path: str | Path) -> tuple[list[AnsweredText], DropReport]:
    """Texts of a file in the CogQA layout.

    Args:
        path: A JSON or JSON Lines file, UTF-8.

    Returns:
        One text per step with an answer: `category` is the canonical name of its function, `item` the question of the
        entry (all its steps are one cluster), `task` "cogqa", `key` such as "entry 12 step 3" (both from 1). And the
        report, with the reason "no answer".

    Raises:
        DataError: No such file, not JSON, another layout, a missing field or an unknown skill; the message names the
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
    for number, entry in enumerate(_entries(Path(path)), start=1):
        entry_name = f"{Path(path).name}, entry {number}"
        # Some releases wrap each entry in a list of one.
        if isinstance(entry, list) and len(entry) == 1:
            entry = entry[0]
        question = _text(entry, "question", entry_name)
        steps = _field(entry, "generated", entry_name)
        if not isinstance(steps, list):
            raise DataError(f"{entry_name}: 'generated' must be a list of steps; got {_shown(steps)}.")
        texts += _steps(question, steps, f"entry {number}", entry_name, report)
    if not texts:
        raise DataError(f"{path} holds no step with an answer: {report.summary()}.")
    return texts, report


def _steps(question: str, steps: Sequence[Any], key: str, entry_name: str, report: DropReport) -> list[AnsweredText]:
    texts = []
    before = f"Question: {question}"
    for number, step in enumerate(steps, start=1):
        step_name = f"{entry_name}, step {number}"
        before += f"\nStep: {_text(step, 'subquestion', step_name)}"
        skill = _text(step, "cognitive_skill", step_name)
        if _bare(skill) not in _NAMES:
            raise DataError(f"{step_name}: {unknown_name_message('cognitive skill', skill, FUNCTIONS)}")
        answer = _answer(step, step_name)
        if not answer:
            report.drop("no answer", repr(f"{key} step {number}"))
            continue
        prompt = f"{before}\nAnswer:"
        before = f"{prompt} {answer}"
        report.kept += 1
        texts.append(
            AnsweredText(
                before,
                (Span(len(prompt), len(before)),),
                key=f"{key} step {number}",
                item=question,
                task=TASK,
                category=_NAMES[_bare(skill)],
            )
        )
    return texts


def _entries(path: Path) -> list[Any]:
    layout = "a list of entries {question, answer, generated}"
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise DataError(f"Could not read {path}: {problem}. Expected a JSON or JSON Lines file in UTF-8.") from None
    try:
        entries = json.loads(content)
    except (ValueError, RecursionError) as problem:
        # Only line feeds separate entries: JSON strings may hold other line separators as they are.
        lines = enumerate(content.split("\n"), start=1)
        entries = [_line(line, number, path, problem) for number, line in lines if line.strip()]
        if not entries:
            raise DataError(f"{path} is empty; expected {layout}.") from None
    if isinstance(entries, dict):
        entries = [entries]
    if not isinstance(entries, list):
        raise DataError(f"{path} must hold {layout}; got {_shown(entries)}.")
    return entries


def _line(line: str, number: int, path: Path, whole: Exception) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{path} is neither JSON ({whole}) nor JSON Lines (line {number}: {problem}).") from None


def _field(entry: Any, name: str, where: str) -> Any:
    if not isinstance(entry, dict):
        raise DataError(f"{where}: expected an object with the field {name!r}; got {_shown(entry)}.")
    if name not in entry:
        raise DataError(f"{where}: field {name!r} is missing; there are {', '.join(map(repr, entry)) or 'none'}.")
    return entry[name]


def _text(entry: Any, name: str, where: str) -> str:
    value = _field(entry, name, where)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: field {name!r} must be text; got {_shown(value)}.")
    return value.strip()


def _answer(step: dict[str, Any], where: str) -> str:
    """The answer as text, empty where there is none."""
    value = step.get("answer")
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value).strip()
    raise DataError(f"{where}: field 'answer' must be text or a number; got {_shown(value)}.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
