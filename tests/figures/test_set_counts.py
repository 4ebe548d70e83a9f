import html

import numpy as np
import pytest
from figures.examples import FUNCTIONS, ICL, overlap_of, whole_overlap
from figures.reading import caption, traces

from headcats.base.errors import DataError
from headcats.categories.exact_sets import exact_sets
from headcats.figures import data, set_counts


def table_of(member: np.ndarray, **options: object):
    table = overlap_of(member, **options)
    return table.assign(expected=("k", np.zeros(len(member))))


def test_every_set_is_in_the_numbers_and_they_sum_to_the_heads() -> None:
    table = whole_overlap(6, 8)
    frame = data(set_counts(table))
    assert len(frame) == 2 ** len(ICL)
    assert frame.observed.sum() == 48
    assert frame[["expected", "expected_within_layers"]].sum().tolist() == pytest.approx([48, 48])
    sets = exact_sets(table)
    assert frame.set.tolist() == sets["set"].values.tolist()
    bounds = ("observed_least", "observed_most")
    for column in ("observed", *bounds, "low", "high", "p", "expected_within_layers", "p_within_layers"):
        assert frame[column].tolist() == sets[column].values.tolist()


def test_shown_are_single_categories_sets_with_heads_and_those_that_chance_would_give() -> None:
    fig = set_counts(whole_overlap(12, 12))
    frame = data(fig)
    by_chance = frame[["expected", "expected_within_layers"]].max(axis=1)
    expected = (frame.observed > 0) | (frame.n_categories == 1) | (by_chance >= 1)
    assert frame.shown.tolist() == (expected & (frame.n_categories > 0)).tolist()
    sparse = set_counts(whole_overlap(3, 4))
    hidden = data(sparse).query("not shown and n_categories > 0")
    assert not hidden.observed.any()
    assert f"not shown: {len(hidden)} sets without heads" in caption(sparse)


def test_bars_chance_and_dots_stand_in_one_column_per_set() -> None:
    fig = set_counts(whole_overlap(6, 8))
    frame = data(fig)
    shown = frame[frame.shown].reset_index(drop=True)
    bars, undecided = traces(fig, "heads for certain")[0], traces(fig, "heads undecided elsewhere")[0]
    assert bars.y.tolist() == undecided.base.tolist() == shown.observed_least.tolist()
    assert (bars.y + undecided.y).tolist() == shown.observed.tolist()
    assert set(undecided.marker.pattern.bgcolor) == set(shown.colour)
    assert 0 < sum(undecided.y) < shown.observed.sum()
    assert np.round(bars.x).astype(int).tolist() == list(range(len(shown)))
    assert list(bars.marker.color) == shown.colour.tolist()
    for name, suffix in (("by chance", ""), ("by chance in layers", "_within_layers")):
        mark = traces(fig, name)[0]
        assert mark.y.tolist() == shown[f"expected{suffix}"].tolist()
        np.testing.assert_allclose(mark.y + mark.error_y.array, shown[f"high{suffix}"])
        np.testing.assert_allclose(mark.y - mark.error_y.arrayminus, shown[f"low{suffix}"])
        assert np.round(mark.x).astype(int).tolist() == list(range(len(shown)))
    dots = traces(fig, "in the set")[0]
    rows = list(fig.layout.yaxis2.ticktext)
    found = {column: [] for column in range(len(shown))}
    for column, row in zip(dots.x.tolist(), dots.y.tolist(), strict=True):
        found[column].append(rows[row])
    assert ["+".join(names) for names in found.values()] == shown.set.tolist()
    symbols = {traces(fig, name)[0].marker.symbol for name in ("by chance", "by chance in layers")}
    assert len(symbols) == 2
    # Every mark lies on its panel.
    assert fig.layout.yaxis.range[1] >= shown[["observed", "high", "high_within_layers"]].max(axis=None)


def test_colours_are_those_of_the_overlap_map() -> None:
    frame = data(set_counts(whole_overlap(6, 8))).set_index("set")
    assert frame.colour["Knowledge"] == ICL["Knowledge"]
    assert frame.colour["Algorithmic+Knowledge"] == "#9467bd"
    assert (frame.label["Algorithmic+Knowledge"], frame.label[""]) == ("2 categories", "Unclassified")
    other = data(set_counts(whole_overlap(6, 8), palette="colour_blind")).set_index("set")
    assert other.colour["Knowledge"] == "#efae0d"
    assert other.colour["Algorithmic+Knowledge"] == "#b77ffa"


def test_hover_names_the_heads_and_the_numbers_say_the_same_without_it() -> None:
    member = -np.ones((2, 2, 10))
    member[:, 0] = 1
    member[0, 1, :8] = 1
    fig = set_counts(table_of(member, categories={"a<b>": "#123456", "c": "#654321"}))
    both = traces(fig, "heads for certain")[0].hovertext[2]
    assert both.startswith(f"<b>{html.escape('a<b>')} + c</b>")
    assert "10 observed: L0H0, L0H1" in both
    assert "by chance: 9.00 [8, 10], p 0.24" in both
    assert "in layers: 10.00 [10, 10], p 1" in both
    rows = [list(traces(fig, f"{name}, written")[0].text) for name in ("heads", "by chance", "by chance in layers")]
    assert [row[2] for row in rows] == ["<b>10</b>", "9.00", "10.0"]
    assert traces(fig, "heads, written")[0].hovertext == traces(fig, "heads for certain")[0].hovertext
    member[:] = 1
    full = set_counts(table_of(member, categories={"a": "#123456", "c": "#654321"}))
    assert "and 8 more" in traces(full, "heads for certain")[0].hovertext[2]
    assert "least" not in traces(full, "heads for certain")[0].hovertext[2] + caption(full)


def test_what_undecided_heads_could_become_is_written_and_said() -> None:
    member = np.array([[[1, 1, 0]], [[-1, 0, -1]]])
    fig = set_counts(table_of(member, categories={"a": "#123456", "c": "#654321"}))
    assert list(traces(fig, "least–most, written")[0].text) == ["1–3", "0"]
    assert "2 observed (least 1, most 3): L0H0, L0H1" in traces(fig, "heads for certain")[0].hovertext[0]
    assert "hatched: undecided" in caption(fig)


def test_without_room_sets_of_the_fewest_heads_stay_in_the_numbers() -> None:
    draw = np.random.default_rng(0)
    table = table_of(np.where(draw.random((8, 20, 20)) < 0.4, 1, -1), categories=dict.fromkeys(FUNCTIONS, "#123456"))
    fig = set_counts(table)
    frame = data(fig)
    left_out = frame[~frame.shown & (frame.observed > 0) & (frame.n_categories > 0)]
    assert fig.layout.width <= 1400
    assert f"no room for {len(left_out)} sets with {left_out.observed.sum()} heads" in caption(fig)
    several = frame[frame.shown & (frame.n_categories > 1)]
    assert several.observed.min() >= left_out.observed.max()
    assert frame[frame.n_categories == 1].shown.all()


def test_categories_without_numbers_take_no_part_and_are_named() -> None:
    table = whole_overlap(3, 4)
    table["effect"] = table.effect.where(table.category != "Knowledge")
    fig = set_counts(table)
    assert "Knowledge" not in "+".join(data(fig).set)
    assert "not judged: Knowledge" in caption(fig)
    with pytest.raises(DataError, match="one category"):
        set_counts(table.assign(effect=table.effect * np.nan))


def test_no_heads_at_all_still_draw_their_categories() -> None:
    fig = set_counts(table_of(-np.ones((4, 2, 3))))
    assert data(fig).shown.sum() == 4
    assert "6 heads (by chance 6.00" in caption(fig)


def test_a_plus_in_the_name_of_a_category_does_not_split_it() -> None:
    member = np.zeros((2, 1, 3), dtype=int)
    member[0, 0, :2] = member[1, 0, 1:] = 1
    fig = set_counts(table_of(member, categories={"C++": "#1f77b4", "C": "#ff7f0e"}))
    dots = traces(fig, "in the set")[0]
    rows = min(dots.y)
    assert sorted(zip(dots.x, np.subtract(dots.y, rows), strict=True)) == [(0, 0), (1, 1), (2, 0), (2, 1)]
