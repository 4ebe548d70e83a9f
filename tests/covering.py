"""Fewer combinations of parameters; with `HEADCATS_CASES=all`, which `.ci/nightly` sets, the whole product."""

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

ALL = os.environ.get("HEADCATS_CASES") == "all"


def pairwise(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of the product of the factors that hold every pair of values of two factors."""
    rows = list(itertools.product(*factors))
    return rows if ALL else _covering(rows, 2)


def each_value(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of the product of the factors that hold every value."""
    rows = list(itertools.product(*factors))
    return rows if ALL else _covering(rows, 1)


def spread(names: Sequence[Any], cases: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Every name with one case, another one for the next name."""
    if ALL:
        return [(name, *case) for name in names for case in cases]
    return [(name, *cases[place % len(cases)]) for place, name in enumerate(names)]


def some(cases: Sequence[Any], n: int) -> list[Any]:
    """The first `n` cases."""
    return list(cases if ALL else cases[:n])


def _covering(rows: Sequence[tuple[Any, ...]], size: int) -> list[tuple[Any, ...]]:
    """As few of the rows as hold every combination of values of `size` factors."""
    missing = {values for row in rows for values in _combinations(row, size)}
    chosen = []
    while missing:
        row = max(rows, key=lambda candidate: len(missing.intersection(_combinations(candidate, size))))
        chosen.append(row)
        missing.difference_update(_combinations(row, size))
    return chosen


def _combinations(row: tuple[Any, ...], size: int) -> Iterator[Any]:
    return itertools.combinations(enumerate(row), size)
