"""How public files write questions with options: columns -> the parts of a row.

{question, choices: {label, text}, answerKey}            CommonsenseQA and ARC, as a table or as JSON Lines
{input, target_scores}                                   BIG-bench, in the field `examples` of a task or as a list
{inputs, multiple_choice_targets, multiple_choice_scores}  BIG-bench as a table
{question, choices, answer}                              options as a list; the answer is one of them, or its number
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


def _with_options(question: Any, options: Sequence[Any], right: Sequence[int]) -> Parts | str:
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
    """CommonsenseQA: labels and texts as two lists, or, in its JSON Lines, as one list within the question."""
    asked = row["question"]
    within = isinstance(asked, Mapping)
    question: Any = asked.get("stem") if within else asked
    choices: Any = _unpacked((asked if within else row).get("choices"))
    if isinstance(choices, Mapping):
        labels, texts = _as_list(choices.get("label")), _as_list(choices.get("text"))
    else:
        pairs: list[Any] = _as_list(choices) or []
        pairs = pairs if all(isinstance(pair, Mapping) for pair in pairs) else []
        labels, texts = ([pair.get(side) for pair in pairs] for side in ("label", "text"))
    if not labels or not texts or len(labels) != len(texts):
        return NO_OPTIONS
    key = as_text(row["answerkey"])
    if not key:
        return NO_ANSWER
    return _with_options(question, texts, [place for place, label in enumerate(labels) if as_text(label) == key])


def _scored(row: Row) -> Parts | str:
    """BIG-bench: option -> score, 1 for the right one."""
    scores = _unpacked(row["target_scores"])
    if not isinstance(scores, Mapping):
        return NO_OPTIONS
    # A table has a column for every option of any row, empty where the row lacks it.
    scores = {option: score for option, score in scores.items() if score is not None}
    return _by_score(row["input"], list(scores), list(scores.values()))


def _scored_lists(row: Row) -> Parts | str:
    options, scores = (_as_list(row[f"multiple_choice_{side}"]) for side in ("targets", "scores"))
    if options is None or scores is None or len(options) != len(scores):
        return NO_OPTIONS
    return _by_score(row["inputs"], options, scores)


def _by_score(question: Any, options: Sequence[Any], scores: Sequence[Any]) -> Parts | str:
    return _with_options(question, options, [place for place, score in enumerate(scores) if score == 1])


def _listed(row: Row) -> Parts | str:
    """Options as a list; the answer is one of them, or the number of one, from 0."""
    options, answer = _as_list(row["choices"]), row["answer"]
    if options is None:
        return NO_OPTIONS
    right = [place for place, option in enumerate(options) if as_text(option) == as_text(answer)]
    is_whole = isinstance(answer, float) and answer.is_integer() and not right  # as of a table with empty cells
    if is_whole or (isinstance(answer, Integral) and not isinstance(answer, bool)):
        place = int(answer)
        if place == len(options):
            return BEYOND
        return _with_options(row["question"], options, [place] if 0 <= place < len(options) else [])
    if not as_text(answer):
        return NO_ANSWER
    return _with_options(row["question"], options, right)


def _lettered(row: Row) -> Parts | str:
    """MMLU as a table: a column for each option."""
    cells = itertools.takewhile(as_text, (row.get(letter.casefold()) for letter in LETTERS))
    options, answer = list(map(as_text, cells)), as_text(row["answer"])
    if not answer:
        return NO_ANSWER
    same = [place for place, option in enumerate(options) if option == answer]
    # A letter may be small, and a number of a table with empty cells is 1.0, where this is not the text of an option.
    spelled = answer if same else answer.removesuffix(".0").upper()
    place = int(spelled) if spelled.isdecimal() else LETTERS.find(spelled) if len(spelled) == 1 else -1
    counted = [place] if 0 <= place < len(options) else []
    if same and counted and same != counted and isinstance(row["answer"], str):
        return "answer is an option, and the number of another"
    if place == len(options) and spelled.isdecimal() and not same:
        return BEYOND
    return _with_options(row["question"], options, counted or same)


LAYOUTS: dict[tuple[str, ...], Callable[[Row], Parts | str]] = {
    ("question", "answerkey"): _keyed,
    ("input", "target_scores"): _scored,
    ("inputs", "multiple_choice_targets", "multiple_choice_scores"): _scored_lists,
    ("question", "choices", "answer"): _listed,
    ("question", "a", "b", "answer"): _lettered,
}
"""Columns of a layout -> what a row of it holds, or why it is dropped; the first that fits is taken."""
