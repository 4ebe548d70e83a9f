"""Elbow curves, and answers with heads scaled: the numbers that are drawn, and what is marked."""

import numpy as np
import pytest
import xarray as xr
from figures.examples import FUNCTIONS
from paper_tables import probe_of, scaling_of

import headcats as hc
from headcats.base.errors import DataError, OptionError
from headcats.figures import data
from headcats.papers.function_probe.summary import NOT_ABOVE_CHANCE


def probe(*, functions: int = 3, seed: int = 0) -> xr.Dataset:
    draws = np.random.default_rng(seed).standard_t(3, (2, functions, 3, 4))
    return probe_of(draws, functions=FUNCTIONS[:functions]).assign_attrs(method="function_probe", verdict="")


def test_heads_are_sorted_by_mean_absolute_importance_and_cut_at_the_elbow_of_the_rule() -> None:
    probes = probe()
    frame = data(hc.figures.elbow_curves(probes))
    chosen = hc.categorize(probes).member == 1
    for name, rows in frame.groupby("function"):
        effect = abs(probes.importance.sel(function=name)).mean("seed")
        np.testing.assert_allclose(rows["importance"], np.sort(effect.values.ravel())[::-1])
        assert rows["rank"].tolist() == list(range(1, 13))
        taken = rows[rows["chosen"]]
        assert {(row.layer, row.head) for row in taken.itertuples()} == {
            (layer, head) for layer in range(3) for head in range(4) if bool(chosen.sel(category=name)[layer, head])
        }
        assert rows["n_chosen"].unique().tolist() == [len(taken)]
        assert rows.loc[rows["elbow"], "rank"].tolist() == [len(taken)]
        assert (rows["low"] <= rows["importance"]).all()
        assert (rows["importance"] <= rows["high"]).all()


def test_the_elbow_is_marked_where_it_is() -> None:
    importance = np.array([[[[-8.0, 3.0, 1.0, 0.9, np.nan]]]])
    fig = hc.figures.elbow_curves(probe_of(importance, functions=FUNCTIONS[:1]))
    marks = {trace.marker.symbol: trace for trace in fig.data if trace.mode == "markers"}
    assert (list(marks["circle"].x), list(marks["circle"].y)) == ([0], [8])
    assert (list(marks["diamond"].x), list(marks["diamond"].y)) == ([1], [3])
    assert any(note.text.startswith("2 of 4") and "L0H1" in note.text for note in fig.layout.annotations)
    with pytest.raises(DataError, match="above chance"):
        hc.figures.elbow_curves(probe().assign_attrs(verdict=NOT_ABOVE_CHANCE))


def test_scaled_heads_stand_beside_clean_answers_and_random_heads() -> None:
    draws = np.random.default_rng(0)
    log_prob, control = -draws.random((2, 2)), -draws.random((2, 2, 5))
    control[1] = np.nan
    scaled = scaling_of(log_prob, control, functions=["a", "b"], p=[0.04, np.nan])
    fig = hc.figures.scaled_heads(scaled)
    frame = data(fig).set_index(["function", "target"])
    assert frame["own"].tolist() == [True, False, False, True]
    for row, name in enumerate("ab"):
        for column, target in enumerate("ab"):
            numbers = frame.loc[(name, target)]
            assert numbers["log_prob"] == log_prob[row, column]
            assert numbers["accuracy"] == pytest.approx(np.exp(log_prob[row, column]))
            assert numbers["clean_log_prob"] == -0.05
            ends = [numbers[f"random_log_prob{end}"] for end in ("", "_low", "_high")]
            of_sets = control[row, column]
            expected = [of_sets.mean(), of_sets.min(), of_sets.max()] if row == 0 else [np.nan] * 3
            np.testing.assert_allclose(ends, expected)
    masked = [trace for trace in fig.data if trace.name == "scaled"]
    np.testing.assert_array_equal([trace.y for trace in masked], log_prob)
    assert [list(trace.marker.color).index(masked[0].marker.color[0]) for trace in masked] == [0, 1]
    notes = [note.text for note in fig.layout.annotations]
    assert any(note.startswith("1 head,") and note.count(" 0.04") == 2 for note in notes)
    assert any(note.startswith("2 heads,") and " 0" not in note for note in notes)
    accuracy = [
        trace.y for trace in hc.figures.scaled_heads(scaled, variable="accuracy").data if trace.name == "scaled"
    ]
    np.testing.assert_allclose(accuracy, np.exp(log_prob))


def test_other_variables_and_tables_without_functions_are_refused() -> None:
    scaled = scaling_of(-np.ones((1, 1)), -np.ones((1, 1, 2)), functions=["a"], p=[0.5])
    with pytest.raises(OptionError, match=r"log_prob, accuracy; .*'p'"):
        hc.figures.scaled_heads(scaled, variable="p")
    with pytest.raises(DataError, match="0 and 1"):
        hc.figures.scaled_heads(scaled.isel(function=[]))
