"""Ticks of published figures, and the variable that a figure draws."""

import contextlib

import pytest
from figures.examples import mixed_overlap
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DataError
from headcats.figures import tables
from headcats.figures.panels.axes import Axis
from headcats.papers.panels import in_round_steps, pick_variable


def test_round_steps_by_hand() -> None:
    by_hand = {1: [0], 5: range(5), 6: [0, 2, 4], 24: [0, 5, 10, 15, 20], 28: [0, 10, 20], 64: [0, 20, 40, 60]}
    for n, expected in by_hand.items():
        assert list(in_round_steps(Axis("layer", n)).ticks) == list(expected)


@given(st.integers(1, 2000), st.integers(1, 9))
def test_the_step_is_the_smallest_round_one_with_few_enough_ticks(n: int, most: int) -> None:
    numbers = list(in_round_steps(Axis("layer", n), most=most).ticks)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if len(range(0, n, s)) <= most)
    assert numbers == list(range(0, n, step))


@pytest.mark.parametrize(("came", "message"), [(mixed_overlap(2, 2), ""), (None, "dataset, as.*got a NoneType")])
def test_results_are_looked_for_once(came: object, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(tables, "refuse_results", lambda data, *, expected, **named: looked.append(expected))
    refused = pytest.raises(DataError, match=f"(?i){message}") if message else contextlib.nullcontext()
    with refused:
        pick_variable(came, ("effect",), grid=("layer", "head"), rows=("category",), figure="a_figure", table="it")
    assert len(looked) == 1
