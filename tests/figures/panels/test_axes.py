"""Ticks of axes, and those of a picture, where nobody zooms."""

from hypothesis import example, given
from hypothesis import strategies as st

from headcats.figures.panels.axes import Axis, Scale, ticks


@given(st.integers(1, 200), st.sampled_from([1.5, 2, 2.5, 6, 33.5]))
@example(80, 2.5)
def test_an_axis_goes_on_to_its_last_tick_alone(n: int, cell: float) -> None:
    assert ticks(n) == list(range(0, n + 1, max(1, n // 5)))  # the published rule
    axis = Axis("layer", n, ticks=ticks(n)).with_last_tick(cell)
    low, high = axis.layout(named=False)["range"]
    assert low == -0.5
    assert max(axis.ticks) <= high < n + 1 / cell
    assert (axis.after > 0) == (n in ticks(n)) == (high > n - 0.5)
    assert round(axis.after * cell, 9).is_integer()


def test_ticks_of_a_scale_are_round_and_at_most_five_steps() -> None:
    for low, high, texts in (
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-0.12, 0.31, ["−0.1", "0", "0.1", "0.2", "0.3"]),
        (0, 240, ["0", "50", "100", "150", "200"]),
        (0, 5, ["0", "2", "4"]),
    ):
        assert [text for _, text in Scale(low, high).marks] == texts


def test_ticks_of_cells_are_those_that_are_given_or_as_many_as_there_is_room_for() -> None:
    assert list(Axis("layer", 40, most=3).marks) == [(0, "0"), (20, "20")]
    assert list(Axis("layer", 3, most=9).marks) == [(0, "0"), (1, "1"), (2, "2")]
    assert list(Axis("layer", 8, ticks=[0, 6], first=1).marks) == [(0, "1"), (6, "7")]
    assert list(Axis("task", 3, labels=["a", "<b>"]).marks) == [(0, "a"), (1, "&lt;b&gt;")]
    assert list(Axis("place", 3, ticks=[0, 2], tick_texts=["1k", "8k"]).marks) == [(0, "1k"), (2, "8k")]
