"""Questions with options in the forms of public files: the parts of a row, or why it is dropped.

{question, choices: {label, text}, answerKey}            CommonsenseQA and ARC, as a table or as JSON Lines
{input, target_scores}                                   BIG-bench, in the field `examples` of a task or as a list
{inputs, multiple_choice_targets, multiple_choice_scores}  BIG-bench as a table
{question, choices, answer}, {question, options, answer}  a list; the answer is one of them, its number or letter
{question, A, B, C, D, answer}                           MMLU: the answer is a letter, its number from 0, or its text
"""

import ast
import contextlib
import itertools
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

LETTERS = string.ascii_uppercase
NO_QUESTION, NO_ANSWER, NO_OPTIONS = "no question", "no answer key", "no options"
BEYOND = "answer is a number, and options count from 0"
# numpy writes lists of texts without commas, which Python would read as one text.
_NO_COMMA = re.compile(r"""(?<=['"])\s+(?=['"])""")

Parts = tuple[str, str, tuple[str, ...]]
"""Question, answer and options."""
Row = Mapping[str, Any]
_SIDES = (("label", "labels"), ("text", "choices"))


def as_text(value: Any) -> str:
    """A text or a number without spaces around it, "" for anything else and for a number that is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value:
        return ""
    return str(value).strip()


def _unpacked(value: Any) -> Any:
    """A text that is a list or a mapping as such; anything else, and a text that cannot be read, unchanged."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{")):
        return value
    read = _read(value.strip())
    if isinstance(read, list) and _NO_COMMA.search(value) and len(read) < len(_NO_COMMA.split(value)):
        return value
    return value if read is None else read


def _read(text: str) -> Any:
    """JSON, or a Python literal; None for a text that is neither."""
    with contextlib.suppress(ValueError):
        return json.loads(text)
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(text)
    return None


def _as_list(value: Any) -> list[Any] | None:
    """A list, tuple or array as a list, also one that a table holds as text."""
    value = _unpacked(value.tolist() if hasattr(value, "tolist") else value)
    return list(value) if isinstance(value, list | tuple) else None


def with_options(question: Any, options: Any, answer: Any) -> Parts | str:
    """The parts of a question, or why it is dropped.

    `options`: texts, pairs of label and text, two lists of these, or option -> score. `answer`: a label, the text of
    an option, its letter, its number from 0, or scores of all of them, 1 for the right one; None where options have
    scores.
    """
    labels, texts, scores = _taken_apart(options)
    scores = _as_list(answer) if scores is None else scores
    if not texts or (labels and len(labels) != len(texts)) or (scores is not None and len(scores) != len(texts)):
        return NO_OPTIONS
    if scores is not None:
        right = [place for place, score in enumerate(scores) if score == 1]
    elif not as_text(answer):
        return NO_ANSWER
    elif labels:
        right = [place for place, label in enumerate(labels) if as_text(label) == as_text(answer)]
    else:
        places = _places(texts, answer)
        if isinstance(places, str):
            return places
        right = places
    return _parts(question, texts, right)


def _taken_apart(options: Any) -> tuple[list[Any], list[Any], list[Any] | None]:
    """Labels, texts and scores of options; [] or None for what they do not have."""
    options = _unpacked(options)
    if isinstance(options, Mapping):
        labels, texts = (_as_list(options.get(one, options.get(many))) for one, many in _SIDES)
        if labels and texts:
            are_scores = all(isinstance(label, Integral) and label in (0, 1) for label in labels)
            return ([], texts, labels) if are_scores else (labels, texts, None)
        # A table has a column for every option of any row, empty where the row lacks it.
        scored = {option: score for option, score in options.items() if score is not None}
        are_texts = all(isinstance(text, str) for text in scored.values())
        return (list(scored), list(scored.values()), None) if are_texts else ([], list(scored), list(scored.values()))
    listed = _as_list(options) or []
    if listed and all(isinstance(pair, Mapping) for pair in listed):
        return [pair.get("label") for pair in listed], [pair.get("text") for pair in listed], None
    return [], listed, None


def _places(options: Sequence[Any], answer: Any) -> list[int] | str:
    """Places of the right options, by letter, number from 0 or text, or why the row is dropped."""
    written = as_text(answer)
    same = [place for place, option in enumerate(options) if as_text(option) == written]
    # A letter may be small or in brackets, and a number of a table with empty cells is 1.0.
    spelled = written if same else written.removesuffix(".0").strip("().").upper()
    place = int(spelled) if spelled.isdecimal() else LETTERS.find(spelled) if len(spelled) == 1 else -1
    counted = [place] if 0 <= place < len(options) else []
    if same and counted and same != counted and isinstance(answer, str):
        return "answer is an option, and the number of another"
    if place == len(options) and spelled.isdecimal() and not same:
        return BEYOND
    return counted or same


def _parts(question: Any, options: Sequence[Any], right: Sequence[int]) -> Parts | str:
    """`right`: places of the right options."""
    text, texts = as_text(question), tuple(map(as_text, options))
    problems = {
        NO_QUESTION: not text,
        NO_OPTIONS: not texts or not all(texts),
        "one option": len(texts) == 1,
        f"more than {len(LETTERS)} options": len(texts) > len(LETTERS),
        "an option twice": len(set(texts)) < len(texts),
        "answer not among the options": not right,
        "several right options": len(right) > 1,
    }
    problem = next((reason for reason, holds in problems.items() if holds), "")
    return problem or (text, texts[right[0]], texts)


def _keyed(row: Row) -> Parts | str:
    """CommonsenseQA: in its JSON Lines question and options stand within the question."""
    asked = row["question"]
    within = isinstance(asked, Mapping)
    return with_options(
        asked.get("stem") if within else asked, (asked if within else row).get("choices"), row["answerkey"]
    )


def _lettered(row: Row) -> Parts | str:
    """MMLU as a table: a column for each option."""
    options = list(itertools.takewhile(as_text, (row.get(letter.casefold()) for letter in LETTERS)))
    return with_options(row["question"], options, row["answer"])


LAYOUTS: dict[tuple[str, ...], Callable[[Row], Parts | str]] = {
    ("question", "answerkey"): _keyed,
    ("input", "target_scores"): lambda row: with_options(row["input"], row["target_scores"], None),
    ("inputs", "multiple_choice_targets", "multiple_choice_scores"): lambda row: with_options(
        row["inputs"], row["multiple_choice_targets"], row["multiple_choice_scores"]
    ),
    ("question", "choices", "answer"): lambda row: with_options(row["question"], row["choices"], row["answer"]),
    ("question", "options", "answer"): lambda row: with_options(row["question"], row["options"], row["answer"]),
    ("question", "a", "b", "answer"): _lettered,
}
"""Columns of a layout -> what a row of it holds, or why it is dropped; the first that fits is taken."""
