"""What the figure of a series shows: sizes, heads that come and go, effects, and what was not judged."""

import functools

import numpy as np
import pytest
from figures.examples import scattered_revisions
from figures.reading import heatmaps, texts_of, traces

from headcats.base.errors import DataError, UnknownNameError
from headcats.figures import checkpoints, data

TABLE = scattered_revisions(3, 4)


@functools.cache
def drawn():
    """Read-only."""
    return checkpoints(TABLE)


def test_bars_are_the_sizes_and_a_cross_is_not_zero():
    fig = drawn()
    bars = traces(fig, "size")
    for bar, category in zip(bars, TABLE["category"].values, strict=True):
        assert bar.x.tolist() == [1, 2, 3]
        assert bar.y.tolist() == TABLE["size"].sel(category=category).values[1:].tolist()
    undecided = [trace for trace in traces(fig, "undecided") if trace.type == "bar"]
    assert [trace.base.tolist() for trace in undecided] == [bar.y.tolist() for bar in bars]
    assert [trace.x.tolist() for trace in traces(fig, "not judged")] == [[0]] * 4
    assert [trace.text for trace in traces(fig, "tasks scored")] == [("0/4", "3/4")] * 4


def test_triangles_mark_changes_and_are_filled_where_a_difference_is_found():
    fig, numbers = drawn(), data(drawn())
    for change, name, symbol in ((1, "comes", "triangle-up"), (-1, "goes", "triangle-down")):
        for found, look in ((True, symbol), (False, f"{symbol}-open")):
            marked = sum(len(trace.x) for trace in traces(fig, name) if trace.marker.symbol == look)
            expected = (TABLE["change"] == change) & (TABLE["change_found"] == found)
            rows = numbers[(numbers.change == change) & (numbers.change_found == found)]
            assert marked == int(expected.sum()) == len(rows)
    assert int((TABLE["change"] != 0).sum()) > 4


def test_the_largest_heads_are_followed_or_those_that_are_named():
    numbers = data(drawn())
    last = TABLE["mean_effect"].isel(revision=-1)
    for category, rows in numbers[numbers.followed].groupby("category"):
        largest = np.sort(last.sel(category=category).values.ravel())[-3:]
        of_last = rows[rows.revision == "step1000"]
        assert sorted(of_last.mean_effect) == pytest.approx(largest)
    fig = checkpoints(TABLE, heads=["L2H3", "L0H0"])
    assert set(data(fig)[data(fig).followed].name) == {"L2H3", "L0H0"}
    (line, *_) = traces(fig, "L2H3")
    cell = TABLE.sel(category=TABLE["category"][0], layer=2, head=3)
    assert line.y.tolist() == cell["mean_effect"].values[1:].tolist()
    np.testing.assert_allclose(line.error_y.array, (cell["mean_high"] - cell["mean_effect"]).values[1:])
    # The mean at step 10 is over three tasks, at the others over four.
    assert [symbol.endswith("-open") for symbol in line.marker.symbol] == [True, False, False]


def test_the_strip_has_every_head_that_is_ever_in_up_to_twenty():
    numbers = data(drawn())
    ever = (TABLE["member"] == 1).any("revision")
    shown = numbers[(numbers.outcome == "in")].groupby("category").name.nunique()
    assert shown.to_dict() == {str(c): int(ever.sel(category=c).sum()) for c in TABLE["category"].values}
    large = scattered_revisions(12, 12)
    fig = checkpoints(large)
    assert {np.shape(strip.z) for strip in heatmaps(fig)} == {(20, 4)}
    assert all(text.endswith(", 20 shown") for text in texts_of(fig) if "ever in" in text)


def test_revisions_without_steps_are_named_and_many_steps_do_not_touch():
    unnamed = TABLE.assign_coords(step=("revision", [np.nan] * 4), revision=["init", "a", "b", "main"])
    axis = checkpoints(unnamed).layout.xaxis3
    assert (axis.title.text, axis.ticktext) == ("revision", ("init", "a", "b", "main"))
    many = TABLE.isel(revision=[1] * 60, category=[0]).assign_coords(
        revision=[f"step{1000 * i}" for i in range(60)], step=("revision", 1000.0 * np.arange(60))
    )
    axis = checkpoints(many).layout.xaxis3
    assert axis.ticktext[1].endswith("k")
    assert len(axis.ticktext) < 30


def test_a_category_that_is_never_judged_has_a_panel():
    never = TABLE.copy(deep=True)
    for name, value in {"effect": np.nan, "member": 0, "change": 0, "size": np.nan}.items():
        never[name][{"category": 0}] = value
    fig = checkpoints(never)
    rows = data(fig)[data(fig).category == str(TABLE["category"].values[0])]
    assert rows.name.tolist() == [""] * 4
    assert len(traces(fig, "not judged")[0].x) == 4


def test_unknown_and_too_many_heads_are_refused():
    with pytest.raises(UnknownNameError, match="L9H9"):
        checkpoints(TABLE, heads=["L9H9"])
    with pytest.raises(DataError, match="4 heads; got 5"):
        checkpoints(TABLE, heads=["L0H0", "L0H1", "L0H2", "L0H3", "L1H0"])
