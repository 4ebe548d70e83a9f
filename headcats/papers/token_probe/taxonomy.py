"""Kinds of error, by what a model says when it is asked again and again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.errors import DataError
from headcats.papers.token_probe.exact_text import contains_one
from headcats.papers.token_probe.extraction import NO_ANSWER, gives_none
from headcats.papers.token_probe.items import AnsweredItem, Resample

SUBTYPES = (
    "refuses", "consistently_correct_mostly", "consistently_correct_always", "consistently_incorrect_right_seen",
    "consistently_incorrect_right_never", "two_competing", "many_answers_right_seen", "many_answers_right_never",
)  # fmt: skip
ERROR_TYPES = ("refuses", "consistently_correct", "consistently_incorrect", "two_competing", "many_answers")
"""Types of the paper; those with subtypes are either of them."""


@dataclass(frozen=True)
class Tally:
    """What the answers to one question come to.

    Attributes:
        n_right: Answers that hold a right one.
        wrong: Distinct wrong answer -> how many agree with it.
    """

    n_right: int
    wrong: dict[str, int]

    @property
    def largest_wrong(self) -> int:
        """How many agree on the commonest wrong answer."""
        return max(self.wrong.values(), default=0)

    @property
    def refuses(self) -> bool:
        """Whether giving no answer is the commonest of the wrong ones, and commoner than right answers."""
        none = self.wrong.get(NO_ANSWER, 0)
        return none > self.n_right and none == self.largest_wrong


def tally(resamples: Sequence[Resample], right_answers: Sequence[str]) -> Tally:
    """Right answers, and wrong ones that agree, of one question.

    An answer without a label is right if a right answer stands in it, ignoring case. Of wrong answers, exact answers
    agree if one holds the other, ignoring case; one that agrees with several earlier ones counts for each. Wrong
    answers without an exact answer are not counted.
    """
    n_right, wrong = 0, Counter[str]()
    for text, exact, is_wrong in resamples:
        exact = NO_ANSWER if gives_none(exact) else exact
        if not (is_wrong if is_wrong is not None else not contains_one(text, right_answers)):
            n_right += 1
        elif exact in wrong:
            wrong[exact] += 1
        elif exact.strip():
            folded = exact.lower()
            alike = [other for other in wrong if folded in other.lower() or other.lower() in folded]
            wrong.update(alike or [exact])
    return Tally(n_right, dict(wrong))


def subtypes(tallied: Tally, *, n: int) -> dict[str, bool]:
    """Which of `SUBTYPES` a question is, by the thresholds of the authors' code: half, a third and a sixth of `n`."""
    half, third, sixth = n // 2, n // 3, n // 6
    right, largest, distinct = tallied.n_right, tallied.largest_wrong, len(tallied.wrong)
    wrong_often = largest >= half and not tallied.refuses
    values = (
        tallied.refuses,
        right >= half and distinct > 0,
        right == n,
        wrong_often and right > 0,
        wrong_often and right == 0,
        abs(right - largest) <= sixth and right > sixth and largest > sixth,
        distinct >= third - 1 and right > 0,
        distinct >= third and right == 0,
    )
    return dict(zip(SUBTYPES, values, strict=True))


def error_types(items: Sequence[Any]) -> xr.Dataset:
    """Sort questions by kind of error: a model may repeat one wrong answer, or give another one at each draw.

    Of n answers to one question, drawn at random (30 in the paper), right ones hold a right answer; wrong ones are
    counted by their exact answers, where one that holds another, ignoring case, is the same. Numbers are rounded down.
    `refuses`: giving no answer is the commonest wrong answer, and commoner than right ones. `consistently_correct`: at
    least n/2 are right and some wrong (mostly), or all are right (always). `consistently_incorrect`: at least n/2 agree
    on one wrong answer, and it does not refuse; a right one is seen or never. `two_competing`: right answers and the
    commonest wrong one are at most n/6 apart, and each more than n/6. `many_answers`: at least n/3 - 1 distinct wrong
    answers where a right one is seen, n/3 where never. A question may be of several types, or of none.

    Args:
        items: `AnsweredItem` with `resamples` and `aliases`, equally many resamples each.

    Returns:
        `is_type (prompt, error_type)` and `is_subtype (prompt, subtype)`, booleans; `n_right`, `n_distinct_wrong`,
        `largest_wrong (prompt)`, numbers of answers; `n_resamples`; `wrong (prompt)`, 1 where the greedy answer is
        wrong; the coordinates `item` and `task`.

    Raises:
        DataError: No item; one without resamples or right answers, or with another number of resamples.

    Example:
        >>> import headcats as hc
        >>> drawn = [(" It is in Rome.", "Rome")] * 4 + [(" Paris, of course.", "Paris")] * 2
        >>> item = hc.papers.token_probe.AnsweredItem(
        ...     "Where is the Louvre?", " In Rome.", "Rome", aliases=("Paris",), resamples=tuple(drawn))
        >>> types = hc.papers.token_probe.error_types([item])
        >>> types.error_type[types.is_type.isel(prompt=0)].values.tolist()
        ['consistently_incorrect', 'many_answers']

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, section 5 and the thresholds of its code.
    """
    n = resamples_of_each(items)
    tallies = [tally(item.resamples, item.aliases) for item in items]
    by_subtype = np.array([list(subtypes(tallied, n=n).values()) for tallied in tallies], dtype=bool)
    return xr.Dataset(
        {
            "is_type": (("prompt", "error_type"), merged(by_subtype)),
            "is_subtype": (("prompt", "subtype"), by_subtype),
            "n_right": ("prompt", [tallied.n_right for tallied in tallies]),
            "n_distinct_wrong": ("prompt", [len(tallied.wrong) for tallied in tallies]),
            "largest_wrong": ("prompt", [tallied.largest_wrong for tallied in tallies]),
            "wrong": ("prompt", np.array([item.is_wrong for item in items], dtype=np.int8)),
            "n_resamples": n,
        },
        coords={
            "error_type": list(ERROR_TYPES),
            "subtype": list(SUBTYPES),
            "item": ("prompt", np.array([item.item for item in items], dtype=str)),
            "task": ("prompt", np.array([item.task for item in items], dtype=str)),
        },
    )


def merged(by_subtype: Bool[np.ndarray, "prompt subtype"]) -> Bool[np.ndarray, "prompt type"]:
    """`ERROR_TYPES` from `SUBTYPES`: either subtype makes the type."""
    columns = [[place for place, name in enumerate(SUBTYPES) if name.startswith(error)] for error in ERROR_TYPES]
    return np.stack([by_subtype[:, places].any(1) for places in columns], axis=1)


def resamples_of_each(items: Sequence[Any]) -> int:
    """How many resamples every item has; a DataError where that is not one number above 0."""
    if not items:
        raise DataError("No item was given; error types need some hundred with resampled answers.")
    for item in items:
        if not isinstance(item, AnsweredItem) or not item.resamples or not item.aliases:
            raise DataError(
                f"error types need AnsweredItem with `resamples` and `aliases`; got {item!r:.80}. `resampled` draws "
                "answers of a model, and `answered_items` reads the columns resampled_answers and "
                "resampled_exact_answers."
            )
    counts = Counter(len(item.resamples) for item in items)
    if len(counts) > 1:
        shown = ", ".join(f"{number} in {pieces} items" for number, pieces in sorted(counts.items()))
        raise DataError(f"error types need as many resamples of every item; got {shown}: leave the others out.")
    return next(iter(counts))
