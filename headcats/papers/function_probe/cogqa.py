"""The public CogQA layout: questions that are answered in steps, each with the function that it needs.

A file is a list of entries `{question, answer, generated: [{subquestion, answer, cognitive_skill}, ...]}`, as one JSON
array or as JSON Lines. A step is shown after the entry's question and the steps before it, since most steps mean
nothing without them:

    Question: Lee mows one lawn and charges $33. ...
    Step: How much does Lee charge for one lawn?
    Answer: $33
    Step: How many lawns did Lee mow?
    Answer: 16

Here `16` is the answer of the second step. Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headcats.base.errors import DataError
from headcats.base.registry import register
from headcats.papers.any_records import language_of, other_languages
from headcats.prompts.drop_report import DropReport
from headcats.results.categories import FUNCTIONS
from headcats.tasks.files.file_task import FileContent, FileTask, Layout
from headcats.tasks.files.kept_rows import keep_rows
from headcats.tasks.files.records import Texts
from headcats.tasks.files.word_pairs import SLOT, TemplatePrompts

NO_ANSWER, NO_STEPS = "no answer", "no steps"
ONE_ANSWER = "function with one answer in all"


@dataclass(frozen=True)
class Step:
    """A step of an entry, and the steps before it."""

    key: str
    """Such as "entry 12 step 3", both from 1."""
    question: str
    """Of the entry."""
    subquestion: str
    answer: str
    """Without a space in front; "" where there is none."""
    skill: str
    """As the file spells it."""
    # Each holds those before it: compared or shown, they would be visited again and again.
    earlier: "tuple[Step, ...]" = field(default=(), repr=False, compare=False)

    @property
    def function(self) -> str | None:
        """Function of the step, one of `FUNCTIONS`; None for another skill."""
        return _NAMES.get(_bare(self.skill))

    @property
    def prompt(self) -> str:
        """Question, earlier steps and sub-question, up to the answer; an earlier step without answer shows none."""
        lines = [f"Question: {self.question}"]
        for step in self.earlier:
            lines += [f"Step: {step.subquestion}", *([f"Answer: {step.answer}"] if step.answer else [])]
        return "\n".join([*lines, f"Step: {self.subquestion}", "Answer:"])

    @property
    def why_unusable(self) -> str:
        """Why it is left out: no answer, or the name of a skill that is none of the eight; "" if it can be used."""
        if not self.answer:
            return NO_ANSWER
        return "" if self.function else f"skill {_shown(self.skill)}, none of the eight functions"


def _bare(name: str) -> str:
    """A name without case, spaces, hyphens and underscores."""
    return "".join(char for char in name.casefold() if char.isalnum())


_NAMES = {_bare(name): name for name in FUNCTIONS}


def is_cogqa(content: Any) -> bool:
    """True for an entry, or a list of entries, of the layout."""
    first = next((entry for entry in content if entry is not None), None) if isinstance(content, list) else content
    # Some releases wrap each entry in a list of one.
    if isinstance(first, list) and len(first) == 1:
        first = first[0]
    return isinstance(first, dict) and "generated" in first


def cogqa_content(content: Any, *, file: str) -> FileContent:
    """One task per function, which is its category; the corrupted prompt is another step with another answer."""
    steps, left_out = cogqa_steps(content, file=file)
    tasks = []
    for function in FUNCTIONS:
        keys = {number: step.key for number, step in enumerate(steps) if step.function == function}
        if len({steps[number].answer for number in keys} - {""}) > 1:
            tasks.append(_task(steps, keys, function, file))
            continue
        for number in keys:
            left_out.drop(steps[number].why_unusable or ONE_ANSWER, f"{file}, {steps[number].key}")
    for step in steps:
        if step.function is None:
            left_out.drop(step.why_unusable, f"{file}, {step.key}")
    if not tasks:
        raise DataError(f"{file} holds no function with two steps of different answers: {left_out.summary()}.")
    return FileContent(tuple(tasks), left_out)


def _task(steps: Sequence[Step], keys: Mapping[int, str], function: str, file: str) -> FileTask:
    def read() -> Iterator[tuple[int, Texts | str]]:
        for number in keys:
            step = steps[number]
            yield number, (step.prompt, step.answer, step.question) if step.answer else NO_ANSWER

    title = f"{file}, {function}"
    rows = keep_rows(read(), file=title, place=lambda number: f"{file}, {keys[number]}", output=1)
    name = function.casefold().replace(" ", "_").replace("-", "_")
    layout = f"CogQA, steps of {function}"
    return FileTask(layout, TemplatePrompts(rows, (SLOT,), title, keys), rows.report, function, name)


def cogqa_steps(content: Any, *, file: str) -> tuple[list[Step], DropReport]:
    """The steps of all skills, without entries in another language or script than most; and what is left out."""
    entries = [content] if isinstance(content, dict) else content
    if not isinstance(entries, list):
        raise DataError(f"{file} must hold a list of entries {{question, answer, generated}}; got {_shown(entries)}.")
    by_entry: list[list[Step]] = []
    languages: list[str] = []
    left_out = DropReport()
    for number, entry in enumerate((entry for entry in entries if entry is not None), start=1):
        place = f"{file}, entry {number}"
        if isinstance(entry, list) and len(entry) == 1:
            entry = entry[0]
        question = _text(entry, "question", place)
        generated = _field(entry, "generated", place)
        if not isinstance(generated, list):
            raise DataError(f"{place}: 'generated' must be a list of steps; got {_shown(generated)}.")
        if not generated:
            left_out.drop(NO_STEPS, place)
            continue
        of_entry = _steps(question, generated, f"entry {number}", place)
        by_entry.append(of_entry)
        asked_and_answered = (text for step in of_entry for text in (step.subquestion, step.answer))
        languages.append(language_of(entry, [question, *asked_and_answered]))
    foreign = other_languages(languages)
    for number, reason in foreign.items():
        for step in by_entry[number]:
            left_out.drop(reason, f"{file}, {step.key}")
    steps = [step for number, of_entry in enumerate(by_entry) if number not in foreign for step in of_entry]
    return steps, left_out


def _steps(question: str, generated: Sequence[Any], entry: str, place: str) -> list[Step]:
    steps: list[Step] = []
    for number, step in enumerate(generated, start=1):
        here, key = f"{place}, step {number}", f"{entry} step {number}"
        subquestion, skill = _text(step, "subquestion", here), _text(step, "cognitive_skill", here)
        steps.append(Step(key, question, subquestion, _answer(step, here), skill, tuple(steps)))
    return steps


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


register("layout", "cogqa", Layout("CogQA steps", fits=is_cogqa, read=cogqa_content))
