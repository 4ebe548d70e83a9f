"""Fewer combinations of parameters: the others are marked slow, so that `pytest -m slow` runs the full product."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest


def pairwise(*factors: Sequence[Any]) -> list[Any]:
    """The product of the factors; those not needed to have every pair of values of two factors once are slow."""
    rows = list(itertools.product(*factors))
    missing = {pair for row in rows for pair in _pairs(row)}
    chosen = set()
    while missing:
        row = max(rows, key=lambda candidate: len(missing.intersection(_pairs(candidate))))
        chosen.add(row)
        missing.difference_update(_pairs(row))
    return [_param(row, slow=row not in chosen) for row in rows]


def spread(names: Sequence[str], cases: Sequence[tuple[Any, ...]], *, per_name: int) -> list[Any]:
    """Every name with every case; all but `per_name` cases of a name are slow, and other ones of the next name."""
    return [
        _param((name, *case), slow=(place - shift) * 5 % len(cases) >= per_name)
        for shift, name in enumerate(names)
        for place, case in enumerate(cases)
    ]


def _pairs(row: tuple[Any, ...]) -> Iterator[Any]:
    return itertools.combinations(enumerate(row), 2)


def _param(row: tuple[Any, ...], *, slow: bool) -> Any:
    return pytest.param(*row, marks=pytest.mark.slow) if slow else row
