import json

import numpy as np
import pytest
import xarray as xr
from figures.examples import ICL, curves_of, scattered_curves
from figures.reading import caption, traces

from headcats.base.errors import DataError
from headcats.figures import ablation_curves, data
from headcats.figures.ablation_curves import NOT_COMPARED


def by_hand() -> xr.Dataset:
    """Two categories, three heads; the second has no third head, and one task less at the second."""
    damage = np.array([[[0.1, 0.2, 0.4], [0.0, 0.01, 0.02]], [[0.3, 0.5, np.nan], [0.1, 0.2, np.nan]]])
    random = np.tile(np.linspace(-0.1, 0.1, 5), (2, 2, 3, 1))
    random[1, :, 2] = np.nan
    n_tasks = np.array([[[4, 4, 4], [6, 6, 6]], [[6, 5, 0], [4, 4, 0]]])
    return curves_of(damage, random, n_tasks=n_tasks)


def test_numbers_of_every_category_side_and_number_of_heads() -> None:
    frame = data(ablation_curves(by_hand())).set_index(["category", "side", "k"])
    assert len(frame) == 2 * 2 * 3
    one = frame.loc[("Algorithmic", "own", 1)]
    assert (one.damage, one.n_tasks, one.n_sequences) == (0.1, 4, 5)
    assert one.random_mean == pytest.approx(0)
    assert (one.random_low, one.random_high) == pytest.approx((-0.095, 0.095))
    assert one.share_of_random == pytest.approx(0.2)
    missing = frame.loc[("Knowledge", "own", 3)]
    assert (missing.n_tasks, missing.n_sequences) == (0, 0)
    assert np.isnan(missing[["damage", "random_mean", "random_low", "random_high", "share_of_random"]].tolist()).all()


def test_curves_end_where_the_heads_end_and_count_from_one() -> None:
    fig = ablation_curves(by_hand())
    own, others = traces(fig, "own tasks"), traces(fig, "others tasks")
    assert [trace.y.tolist() for trace in own] == [[0.1, 0.2, 0.4], [0.3, 0.5]]
    assert [trace.y.tolist() for trace in others] == [[0.0, 0.01, 0.02], [0.1, 0.2]]
    # Cells are counted from 0, and labelled from 1.
    assert own[0].x.tolist() == [0, 1, 2]
    assert list(fig.layout.xaxis.ticktext) == ["1", "2", "3"]
    assert own[0].customdata[0, 0] == 1


def test_hover_says_where_there_are_no_random_heads_to_compare_with() -> None:
    def said(table: xr.Dataset) -> set[str]:
        return {text for trace in traces(ablation_curves(table), "own tasks") for text in trace.text}

    assert said(by_hand()) == {"5 random sequences: mean 0.000 [-0.095, 0.095]"}
    assert said(by_hand().assign(random=by_hand().random * np.nan)) == {NOT_COMPARED}


def test_own_and_other_tasks_differ_in_more_than_colour_and_means_over_fewer_tasks_are_open() -> None:
    fig = ablation_curves(by_hand())
    own, others = (traces(fig, name)[0] for name in ("own tasks", "others tasks"))
    assert own.line.dash != others.line.dash
    assert set(own.marker.symbol) == {"circle"}
    assert set(others.marker.symbol) == {"square"}
    assert list(traces(fig, "own tasks")[1].marker.symbol) == ["circle", "circle-open"]
    assert "fewer tasks" in caption(fig)
    whole = by_hand().isel(category=[0])
    assert "fewer tasks" not in caption(ablation_curves(whole))


def test_the_band_holds_95_percent_of_random_heads() -> None:
    fig = ablation_curves(by_hand())
    band = traces(fig, "random heads, 95 %")[0]
    np.testing.assert_allclose(band.y, [0.095] * 3 + [-0.095] * 3)
    np.testing.assert_allclose(band.x, [0, 1, 2, 2, 1, 0])
    assert "95 % of 5 sequences" in caption(fig)
    bare = by_hand()
    bare["random"] = bare.random * np.nan
    assert not traces(ablation_curves(bare), "random heads, 95 %")
    assert NOT_COMPARED in caption(ablation_curves(bare))

    (ends,) = {fig.layout[f"yaxis{trace.yaxis[1:]}"].range for trace in traces(fig, "own tasks")}
    assert ends[0] < -0.095
    assert ends[1] > 0.5


def test_colours_are_those_of_the_table_or_of_the_suite() -> None:
    def colours(table: xr.Dataset, **options: str) -> list[str]:
        return [trace.marker.color[0] for trace in traces(ablation_curves(table, **options), "own tasks")]

    table = by_hand()
    assert colours(table) == [ICL["Algorithmic"], ICL["Knowledge"]]
    assert colours(table, palette="colour_blind") == ["#145fc8", "#efae0d"]
    listed = [{"name": "Knowledge", "colour": "#111111"}, {"name": "Algorithmic", "colour": "#777777"}]
    assert colours(table.assign_attrs(categories=json.dumps(listed))) == ["#111111", "#777777"]
    made_up = table.assign_coords(category=["Nouns", "Verbs"])
    assert len(set(colours(made_up))) == 2


def test_tables_that_are_no_curves_are_refused() -> None:
    table = scattered_curves(2, 2)
    with pytest.raises(DataError, match="sides own, mine"):
        ablation_curves(table.assign_coords(side=["own", "mine"]))
    with pytest.raises(DataError, match="0 numbers of heads"):
        ablation_curves(table.isel(k=[]))


def test_a_category_that_no_head_was_chosen_for_says_so() -> None:
    table = by_hand()
    nothing = table.category == "Knowledge"
    table = table.assign(damage=table.damage.where(~nothing), n_tasks=table.n_tasks.where(~nothing, 0))
    fig = ablation_curves(table)
    assert "no task" in caption(fig)
    assert len(traces(fig, "own tasks")) == 1
