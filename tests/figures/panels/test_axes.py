"""Ticks of published figures."""

from hypothesis import example, given
from hypothesis import strategies as st

from headcats.figures.panels.axes import Axis, ticks


def test_round_steps_by_hand() -> None:
    by_hand = {1: [0], 5: range(5), 6: [0, 2, 4], 24: [0, 5, 10, 15, 20], 28: [0, 10, 20], 64: [0, 20, 40, 60]}
    for n, expected in by_hand.items():
        assert list(Axis("layer", n).in_round_steps().ticks) == list(expected)


@given(st.integers(1, 2000), st.integers(1, 9))
def test_the_step_is_the_smallest_round_one_with_few_enough_ticks(n: int, most: int) -> None:
    numbers = list(Axis("layer", n).in_round_steps(most=most).ticks)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if len(range(0, n, s)) <= most)
    assert numbers == list(range(0, n, step))


@given(st.integers(1, 200), st.sampled_from([1.5, 2, 2.5, 6, 33.5]))
@example(80, 2.5)
def test_an_axis_goes_on_to_its_last_tick_alone(n: int, cell: float) -> None:
    axis = Axis("layer", n, ticks=ticks(n)).with_last_tick(cell)
    low, high = axis.layout(named=False)["range"]
    assert low == -0.5
    assert max(axis.ticks) <= high < n + 1 / cell
    assert (axis.after > 0) == (n in ticks(n)) == (high > n - 0.5)
    assert round(axis.after * cell, 9).is_integer()
