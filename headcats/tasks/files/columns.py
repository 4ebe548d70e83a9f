"""Columns of a file by role, and its records under the usual names."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headcats.base.errors import DataError, unknown_name_message
from headcats.tasks.files.questions import with_options
from headcats.tasks.files.records import ABSENT, OPTIONAL, Records, by_meaning, meaning

ROLES = (
    "input", "clean", "corrupted", "answer", "wrong", "options", "template", "item", "group", "good", "bad",
)  # fmt: skip
_NAMES_IN_TEXT = re.compile(r"\{([^{}]+)\}")
_SLOT = re.compile(r"\{\}|\[X\]|%s|\{subject\}")
_ANSWERED = re.compile(r"\[Y\]|\[MASK\]|<mask>")
LOOKED_AT = 100
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Columns:
    """Columns by role, each as its name, as `a.b` (the field b within a), or as a text with `{a.b}` in it."""

    roles: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Role -> regular expression; its group is what counts of the text, and a row without it is dropped."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Answer in the file -> answer of the prompts."""
    layout: str = ""
    """Name in layouts.toml."""

    def __str__(self) -> str:
        written = (f"{role} = {' and '.join([of] if isinstance(of, str) else of)}" for role, of in self.roles.items())
        limited = (f"{role} as in {pattern}" for role, pattern in self.patterns.items())
        return f"{self.layout or 'columns'} ({', '.join([*written, *limited])})"

    def __bool__(self) -> bool:
        return bool(self.roles)

    def each(self, records: Records) -> Iterator[tuple[str, "Columns"]]:
        """Name what tells its tasks apart ("" for a single one), with the columns of each."""
        answers = self.roles.get("answer", "")
        if answers == "*":
            used = {
                meaning(path.partition(".")[0])
                for role in self.roles.values()
                for path in ([role] if isinstance(role, str) else role)
            }
            first = list(itertools.islice((row for _, row in rows(records) if row), LOOKED_AT))
            answers = tuple(
                name for bare, name in by_meaning(records.columns, file=records.file).items()
                if bare not in {*used, "id"} and any(_text(row[bare]) for row in first)
            )  # fmt: skip
        if isinstance(answers, str):
            yield "", self
            return
        for answer in answers:
            yield answer, replace(self, roles={**self.roles, "answer": answer})

    def check(self, records: Records) -> None:
        """Raise a DataError for a column that the file lacks; a layout may name some that not every file has."""
        known = by_meaning(records.columns, file=records.file)
        for path in itertools.chain(*([of] if isinstance(of, str) else of for of in self.roles.values())):
            for name in [path] if meaning(path) in known or "{" not in path else _NAMES_IN_TEXT.findall(path):
                is_known = {meaning(name.partition(".")[0]), meaning(name)} & {*known, "*"}
                if not is_known and not self.layout:
                    raise DataError(unknown_name_message(f"column of {records.file}", name, records.columns))

    def renamed(self, records: Records) -> Records:
        """The records as `input, output`, as `question, options, answer`, or as finished prompts; each with `group`."""
        self.check(records)
        names: dict[str, Any]
        if "options" in self.roles and "input" in self.roles:
            names = {"question": self._of("input"), "options": self._options, "answer": self._key}
        elif {"good", "clean", "corrupted", "wrong", "template"} & self.roles.keys():
            names = dict.fromkeys(("clean", "answer", *OPTIONAL))
        else:
            names = {"input": self._of("input"), "output": self._of("answer")}
        if "group" in self.roles:
            names["group"] = self._of("group")

        def read() -> Iterator[tuple[int, Sequence[Any]]]:
            for number, row in rows(records):
                made = self._prompt(row) if row and "clean" in names else {}
                yield number, [take(row) if take else made.get(name) for name, take in names.items()] if row else ()

        return Records(records.file, tuple(names), read, records.unit, OPTIONAL)

    def _of(self, role: str) -> Any:
        return lambda row: self._read(row, role)

    def _read(self, row: Row, role: str) -> str | None:
        """The text of a role in a row; None without one."""
        path = self.roles.get(role)
        text = _text(cell(row, path)) if isinstance(path, str) else None
        if text and role in self.patterns:
            match = re.search(self.patterns[role], text, flags=re.DOTALL)
            text = match[1].strip() if match else None
        return self.words.get(text, text) if text and role in ("answer", "wrong") else text

    def _key(self, row: Row) -> Any:
        path = self.roles.get("answer")
        value = cell(row, path) if isinstance(path, str) else None
        return self._read(row, "answer") if isinstance(value, str) or str(value) in self.words else value

    def _options(self, row: Row) -> Any:
        path, pattern = self.roles["options"], self.patterns.get("options")
        if isinstance(path, str) and pattern is None:
            return cell(row, path)
        paths = [path] if isinstance(path, str) else path
        texts = [_text(text) or "" for each in paths for text in _spread(cell(row, each))]
        if pattern is not None:
            return [part.strip() for text in texts for part in re.findall(pattern, text)]
        # One that is missing before others keeps its place: a letter or number counts it.
        return texts[: max((place for place, text in enumerate(texts, 1) if text), default=0)]

    def _prompt(self, row: Row) -> dict[str, str | None]:
        """Texts of a finished prompt."""
        texts = {role: self._read(row, role) for role in ("clean", "input", "answer", "item", "template", *OPTIONAL)}
        good, bad = self._read(row, "good"), self._read(row, "bad")
        if good and bad:
            return texts | _continued(good, bad)
        if "options" in self.roles:
            parts = with_options(texts["clean"], self._options(row), self._key(row))
            if isinstance(parts, str):
                return {}
            _, texts["answer"], options = parts
            texts["wrong"] = next(option for option in options if option != parts[1])
        subject = texts["clean"] or texts["input"]
        if texts["template"] and subject:
            texts["item"] = texts["item"] or subject
            texts["clean"] = _filled(texts["template"], subject)
        else:
            texts["clean"] = subject
        if texts["wrong"] == texts["answer"] and isinstance(path := self.roles.get("wrong"), str):
            others = (text for text in map(_text, _spread(cell(row, path))) if text != texts["answer"])
            texts["wrong"] = next(others, texts["wrong"])
        return texts


def rows(records: Records) -> Iterator[tuple[int, Row]]:
    """Number and cells by name of every row; {} for an empty one."""
    names = by_meaning(records.columns, file=records.file)
    for number, cells in records.read():
        yield number, dict(zip(names, cells, strict=False)) if len(cells) else {}


def cell(row: Row, path: str) -> Any:
    """Value of a column, of a field within it, or of a text with columns in it; None for nothing."""
    if meaning(path) in row:
        value = row[meaning(path)]
        return None if value is ABSENT else value
    if "{" in path:
        texts = [_text(cell(row, name)) or "" for name in _NAMES_IN_TEXT.findall(path)]
        filled = iter(texts)
        made = _NAMES_IN_TEXT.sub(lambda _: next(filled), path).strip()
        return made if any(texts) or not texts else None
    first, _, others = path.partition(".")
    value = row.get(meaning(first))
    for name in others.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _spread(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str | None:
    """A text, a number or a truth value as text, of a list its first; None for anything else."""
    if isinstance(value, list):
        return _text(value[0]) if value else None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() if isinstance(value, str | int | float) and value == value else None


def _filled(template: str, subject: str) -> str | None:
    """The template with the subject, up to the place of the answer; None where that stands before it, or no slot is."""
    slot, answer = _SLOT.search(template), _ANSWERED.search(template)
    if slot is None or (answer and answer.start() < slot.start()):
        return None
    return _SLOT.sub(lambda _: subject, template[: answer.start()] if answer else template).rstrip()


def _continued(good: str, bad: str) -> dict[str, str | None]:
    """The beginning that two sentences share, and the first word of each that differs."""
    words, others = good.rstrip(".?! ").split(), bad.rstrip(".?! ").split()
    n = next((n for n, pair in enumerate(zip(words, others, strict=False)) if pair[0] != pair[1]), 0)
    if not n:
        return {"clean": None}
    return {"clean": " ".join(words[:n]), "answer": f" {words[n]}", "wrong": f" {others[n]}"}
