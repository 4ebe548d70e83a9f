"""Fewer combinations of parameters: most are left to CI (`ci`) or to `pytest -m slow`, which runs the full product."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest


def pairwise(*factors: Sequence[Any]) -> list[Any]:
    """The product of the factors: every value runs always, every pair of values of two factors in CI."""
    rows = list(itertools.product(*factors))
    pairs = _covering(rows, 2)
    singles = _covering(pairs, 1)
    return [_param(row, always=row in singles, in_ci=row in pairs) for row in rows]


def spread(names: Sequence[Any], cases: Sequence[tuple[Any, ...]], *, per_name: int) -> list[Any]:
    """Every name with every case: one case of a name runs always, `per_name` in CI, and other ones of the next name."""
    turns = [
        ((name, *case), (place - shift) * 5 % len(cases))
        for shift, name in enumerate(names)
        for place, case in enumerate(cases)
    ]
    return [_param(row, always=turn == 0, in_ci=turn < per_name) for row, turn in turns]


def some(cases: Sequence[Any], *, in_ci: int) -> list[Any]:
    """The first few cases run always, the others by `pytest -m slow`."""
    return [*cases[:in_ci], *(pytest.param(*_row(case), marks=pytest.mark.slow) for case in cases[in_ci:])]


def _row(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)


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


def _param(row: tuple[Any, ...], *, always: bool, in_ci: bool) -> Any:
    if always:
        return row
    return pytest.param(*row, marks=pytest.mark.ci if in_ci else pytest.mark.slow)
