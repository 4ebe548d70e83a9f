"""Tables of questions, with a model's answers or without, as items of a token probe."""

import math
import os
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError, OptionError, UnknownNameError, unknown_name_message
from headcats.papers.any_records import FIELDS, file_records, language_of, other_languages
from headcats.papers.token_probe.items import AnsweredItem, Item, Question, find_text, gives_none
from headcats.prompts.drop_report import DropReport
from headcats.prompts.tokens import check_bos
from headcats.tasks.files.questions import LIST, read_list
from headcats.tasks.files.records import ABSENT, EMPTY, by_meaning, find

_RIGHT = {"1", "1.0", "true", "right", "correct", "yes"}
_WRONG = {"0", "0.0", "false", "wrong", "incorrect", "no"}
# How pandas and CSV write that a cell is empty.
_NOTHING = {"", "nan", "none", "null", "<na>"}
# A list of texts, rather than a text that starts with a bracket, such as "[1] Rome".
_QUOTED = re.compile(r"""\[\s*['"]""")
# The first name is preferred where several are there, as `find` has it.
QUESTION = ("question", "prompt", "input")
ASKED = ("raw_question",)
GENERATED = ("model_answer", "generated_answer", "model_output", "generated", "completion", "response")
EXACT = ("exact_answer",)
VALID = ("valid_exact_answer",)
LABEL = ("automatic_correctness", "correctness", "is_correct", "correct", "label")
RIGHT = ("correct_answer", "answer", "answers", "right_answer", "target")
ALIASES = ("aliases",)
WRONG = ("incorrect_answer", "wrong_answer", "wrong_answers", "incorrect_answers")
MEANINGS = {
    "question": QUESTION, "asked": ASKED, "generated": GENERATED, "exact": EXACT, "valid": VALID, "label": LABEL,
    "right": RIGHT, "aliases": ALIASES, "wrong": WRONG,
}  # fmt: skip
INSIDE = "Data"
"""Key of the list in TriviaQA's own files."""
_SENTENCE = ("sentence", "q")


def text_of(cell: Any) -> str:
    """A cell as text; "" for none."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return cell if isinstance(cell, str) else str(cell)


def answers_of(cell: Any) -> list[str]:
    """The right answers of a cell, each once: a text, a number, a list, a list as text, or `{value, aliases}`."""
    if isinstance(cell, Mapping):
        fields = {str(name).casefold().replace("_", ""): value for name, value in cell.items()}
        parts = [fields.get("value"), *_listed(fields.get("aliases"))]
        return _distinct(parts)
    return _distinct(_listed(cell))


def _listed(cell: Any) -> list[Any]:
    if isinstance(cell, str) and cell.strip().startswith("["):
        text = cell.strip()
        if text.endswith("]"):
            return read_list(text)
        if _QUOTED.match(text) or text.count("[") > text.count("]"):
            raise ValueError(f"{LIST}: {text!r:.80}, without its end")
    return list(cell) if isinstance(cell, list | tuple) else [cell]


def _distinct(cells: Sequence[Any]) -> list[str]:
    texts: dict[str, None] = {}
    for cell in cells:
        if isinstance(cell, Mapping | list | tuple):
            raise ValueError(f"{LIST}: {cell!r:.80}")
        number = isinstance(cell, float) and not math.isnan(cell)
        if number and cell.is_integer():
            texts[str(int(cell))] = None
        if text_of(cell).strip():
            texts[text_of(cell).strip()] = None
    return list(texts)


def label_of(cell: Any) -> bool | None:
    """True for right, False for wrong, None for an empty cell."""
    text = text_of(cell).strip().casefold()
    if text in _NOTHING:
        return None
    if text not in _RIGHT | _WRONG:
        raise ValueError(f"label that is neither right nor wrong: {cell!r:.40}")
    return text in _RIGHT


def answered_items(
    path: str | os.PathLike[str],
    *,
    task: str | None = None,
    template: str = "",
    options: Sequence[str] = (),
    bos: str = "once",
) -> tuple[list[Item], DropReport]:
    r"""Questions of a table, with the answers of a model where it has them.

    Columns are found by name, ignoring case. A row with an answer of the model (`model_answer`) becomes an
    `AnsweredItem`, so that nothing is generated; another one a `Question`, which the model answers itself. The names
    are those of the authors' tables: `question` (what the model read), `raw_question` (what was asked, if that is
    another text), `model_answer`, `exact_answer`, `valid_exact_answer`, `automatic_correctness` (1 = right),
    `correct_answer`, `incorrect_answer`. Further names: `prompt`; `generated`; `correctness`, `label`; `answer`,
    `aliases`; `wrong_answer`.

    Right answers are a text, a number, a list of them, such a list as text (`['Paris', 'Paname']` or JSON), or
    TriviaQA's `{value, aliases}`; those of a column `aliases` are added. A whole number is looked for as "9" and as
    "9.0". Without a column `exact_answer`, the exact answer is the right or wrong answer that comes first in the
    model's; where none is in it, the model is asked to copy it out when it is probed.

    Args:
        path: A JSON, JSON Lines, CSV, TSV or Parquet file, or TriviaQA's `{"Data": [...]}`.
        task: Task of all rows; None takes the file's name.
        template: Prompt with columns in braces, such as "Q: {question}\nA:". "" takes `question` as it is, and of
            tables like WinoBias, with the columns `sentence` and `q`, both with a space between.
        options: Every possible answer, such as ("entailment", "neutral", "contradiction"): those that are not right
            are known wrong answers of every row.
        bos: As in `Question`.

    Returns:
        The items in the order of the file, and the report: how many rows were kept, and how many dropped for which
        reason, with an example. Reasons: "empty row", "no question", "no answer of the model", "no right answer", "list
        that cannot be read", "exact answer marked as not valid", "no exact answer", "exact answer not found in the
        answer", "label that is neither right nor wrong", "neither label nor right answer", and a language (a column
        `language` or `lang`) or script of the question that most rows do not have.

    Raises:
        DataError: No such file, one that cannot be read, without a column for the question or for answers, or without a
            usable row; a template with anything but names of columns between its braces.
        OptionError: A task or template that is no text, or options that are no list of texts.
        UnknownNameError: A column of the template that the file lacks, or another `bos`.

    Example:
        >>> import headcats as hc
        >>> import pathlib
        >>> rows = ["question,model_answer,exact_answer,automatic_correctness,correct_answer"]
        >>> rows += ["Where is the Louvre?, It is in Rome.,Rome,0,\"['Paris', 'Paname']\""]
        >>> _ = pathlib.Path("answers.csv").write_text("\n".join(rows), encoding="utf-8")
        >>> items, report = hc.papers.token_probe.answered_items("answers.csv")
        >>> items[0].exact_answer, items[0].is_wrong, items[0].aliases
        ('Rome', True, ('Paris', 'Paname'))
        >>> report.kept
        1

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, and its repository for the columns; Joshi
        et al. (2017), TriviaQA, arXiv 1705.03551.
    """
    check_bos(bos)
    _check_options(task, template, options)
    path = Path(path)
    records = file_records(path, inside=INSIDE)
    names = by_meaning(records.columns, file=records.file)
    if not template and set(_SENTENCE) <= set(names):
        template = "{sentence} {q}"
    columns = {meaning: find(names, synonyms, file=records.file) for meaning, synonyms in MEANINGS.items()}
    fields = _template_fields(template, names, records.file)
    if not columns["question"] and not columns["asked"] and not fields:
        raise DataError(_without("question", QUESTION, records.columns, records.file))
    if not columns["right"] and not columns["aliases"] and not columns["label"]:
        raise DataError(_without("right answer or label", (*RIGHT[:2], LABEL[0]), records.columns, records.file))
    reader = _Rows(columns, template, fields, tuple(options), path.stem if task is None else task, bos)
    language = find(names, FIELDS, file=records.file)
    read: list[tuple[int, Item, str]] = []
    report = DropReport()
    for number, cells in records.read():
        row = {name: None if cell is ABSENT else cell for name, cell in zip(records.columns, cells, strict=False)}
        item = reader.item(row) if row else EMPTY
        if isinstance(item, str):
            reason, _, shown = item.partition(": ")
            report.drop(reason, records.place(number) + (f": {shown}" if shown else ""))
        else:
            named = {FIELDS[0]: row.get(language)} if language else {}
            read.append((number, item, language_of(named, [item.item])))
    items: list[Item] = []
    others = other_languages([each for *_, each in read])
    for place, (number, item, _) in enumerate(read):
        if place in others:
            report.drop(others[place], records.place(number))
        else:
            items.append(item)
    report.kept = len(items)
    if not items:
        raise DataError(f"{records.file} holds no usable row: {report.summary()}. Correct its rows.")
    return items, report


def _without(what: str, names: Sequence[str], columns: Sequence[str], file: str) -> str:
    listed = ", ".join(map(repr, columns))
    return f"{file} has no column for the {what}, such as {' or '.join(map(repr, names))}; got {listed}. Rename one."


def _check_options(task: Any, template: Any, options: Any) -> None:
    if not isinstance(task, str | None):
        raise OptionError(f"task must be a name, or None for that of the file; got {task!r:.60}.")
    if not isinstance(template, str):
        raise OptionError(f"template must be a text with columns in braces; got {template!r:.60}.")
    listed = isinstance(options, Sequence) and not isinstance(options, str)
    if not listed or not all(isinstance(option, str) and option.strip() for option in options):
        raise OptionError(f"options must be a list of answers, such as ('yes', 'no'); got {options!r:.60}.")


def _template_fields(template: str, names: Mapping[str, str], file: str) -> dict[str, str]:
    """Field of the template -> column."""
    try:
        parts = [part for part in string.Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise DataError(f"template {template!r}: {error}; write braces that name no column twice.") from None
    for _, field, form, conversion in parts:
        if form or conversion:
            shown = f"{field}{'!' if conversion else ''}{conversion or ''}{':' if form else ''}{form}"
            raise DataError(
                f"template {template!r}: expected the name of a column alone between braces; got {{{shown}}}: write "
                f"{{{field}}}."
            )
        if str(field).casefold() not in names:
            raise UnknownNameError(unknown_name_message(f"column in {file}", str(field), names))
    return {str(field): names[str(field).casefold()] for _, field, _, _ in parts}


@dataclass(frozen=True)
class _Rows:
    """Reader of the rows of a table."""

    columns: Mapping[str, str | None]
    template: str
    fields: Mapping[str, str]
    options: tuple[str, ...]
    task: str
    bos: str

    def item(self, row: Mapping[str, Any]) -> Item | str:
        """An item, or the reason why the row is dropped, with what it holds behind a colon."""
        try:
            return self._item(row)
        except ValueError as problem:
            return str(problem)

    def _cell(self, row: Mapping[str, Any], meaning: str) -> Any:
        column = self.columns[meaning]
        return None if column is None else row.get(column)

    def _item(self, row: Mapping[str, Any]) -> Item:
        question = text_of(self._cell(row, "question"))
        texts = {field: text_of(row[column]) for field, column in self.fields.items()}
        asked = text_of(self._cell(row, "asked")) or question
        prompt = self.template.format(**texts) if self.fields else question or asked
        if not prompt.strip() or not all(text.strip() for text in texts.values()):
            raise ValueError("no question")
        right = list(dict.fromkeys(answers_of(self._cell(row, "right")) + answers_of(self._cell(row, "aliases"))))
        wrong = answers_of(self._cell(row, "wrong"))
        folded = {answer.casefold() for answer in right}
        wrong += [option for option in self.options if option.casefold() not in folded and option not in wrong]
        named = {"task": self.task, "item": asked.strip() or prompt, "bos": self.bos}
        if self.columns["generated"] is not None:
            return self._answered(row, prompt, right, wrong, named)
        if not right:
            raise ValueError("no right answer")
        return Question(prompt, right[0], aliases=tuple(right[1:]), wrong_answers=tuple(wrong), **named)

    def _answered(
        self, row: Mapping[str, Any], prompt: str, right: list[str], wrong: list[str], named: Mapping[str, str]
    ) -> AnsweredItem:
        text = text_of(self._cell(row, "generated"))
        if not text.strip():
            raise ValueError("no answer of the model")
        is_right = label_of(self._cell(row, "label"))
        exact = self._exact(row, text, right, wrong)
        if exact and find_text(exact, text) is None:
            raise ValueError(f"exact answer not found in the answer: {exact!r:.40} in {text!r:.80}")
        if is_right is None and not right:
            raise ValueError("neither label nor right answer")
        label = None if is_right is None else not is_right
        return AnsweredItem(prompt, text, exact, label, tuple(right), **named)

    def _exact(self, row: Mapping[str, Any], text: str, right: list[str], wrong: list[str]) -> str:
        if self.columns["valid"] is not None and label_of(self._cell(row, "valid")) is False:
            raise ValueError("exact answer marked as not valid")
        if self.columns["exact"] is None:
            judged = right and Question("?", right[0], aliases=tuple(right[1:]), wrong_answers=tuple(wrong)).judge(text)
            return text[judged.start : judged.stop] if judged else ""
        exact = text_of(self._cell(row, "exact"))
        if not exact.strip() or gives_none(exact):
            raise ValueError(f"no exact answer: {text!r:.80}")
        return exact
