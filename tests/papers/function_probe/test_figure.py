import functools
import math

import numpy as np
import pytest
import xarray as xr
from figures.examples import FUNCTIONS, scores_of
from figures.reading import axes, heatmaps, texts_of
from paper_tables import probe_of

from headcats.base.errors import DataError, OptionError
from headcats.figures import data
from headcats.papers.function_probe.figure import importance_grid
from headcats.papers.function_probe.summary import SEPARATES_TASKS

paper_grid = functools.partial(importance_grid, layout="paper")
"""The axes of the paper; tests/figures/test_layouts.py compares those of the default with them."""


def counted(n_layers: int, n_heads: int) -> np.ndarray:
    """Importance .001 * (function + 1) + .0001 * layer + .00001 * head, in one seed."""
    function, layer, head = np.ogrid[:8, :n_layers, :n_heads]
    return (1e-3 * (function + 1) + 1e-4 * layer + 1e-5 * head)[None]


def test_eight_functions_stand_in_two_rows_of_four_in_the_order_of_their_scheme() -> None:
    fig = paper_grid(probe_of(counted(28, 24)).isel(function=[3, 7, 1, 0, 6, 5, 4, 2]))
    assert [trace.name for trace in heatmaps(fig)] == list(FUNCTIONS)
    assert [text for text in texts_of(fig) if text in FUNCTIONS] == list(FUNCTIONS)
    tops = [axis.domain[1] for axis in axes(fig, "y")]
    assert tops[:4] == [tops[0]] * 4
    assert tops[4:] == [tops[4]] * 4
    assert tops[4] < tops[0]
    lefts = [axis.domain[0] for axis in axes(fig, "x")]
    assert lefts[:4] == lefts[4:] == sorted(lefts[:4])


def test_one_viridis_bar_with_four_decimals_is_clipped_for_all_panels() -> None:
    values = np.full((1, 8, 28, 24), 0.001)
    values[0, 3, :2] = 0.02  # 48 of 5376: less than a hundredth
    values[0, 4, 0] = 0.0031
    values[0, 5:, 0] = 0.003
    fig = paper_grid(probe_of(values))
    axis = fig.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0, pytest.approx(0.003))
    texts = [text.strip() for text in axis.colorbar.ticktext]
    assert texts == ["0.0000", "0.0005", "0.0010", "0.0015", "0.0020", "0.0025", "0.0030+"]
    assert axis.colorbar.title.text == "Heads Importance"
    assert axis.colorbar.title.side == "right"
    assert axis.colorscale[0][1] == "#440154"
    assert {trace.coloraxis for trace in heatmaps(fig)} == {"coloraxis"}
    assert paper_grid(probe_of(values), clip=0.02).layout.coloraxis.colorbar.ticktext[-1].strip() == "0.0200"
    assert paper_grid(probe_of(values), clip=0.01).layout.coloraxis.colorbar.ticktext[-1].strip() == "0.0100+"


def test_importance_is_shown_by_size_averaged_over_seeds_after_that_with_negative_heads_marked() -> None:
    values = np.zeros((2, 8, 2, 2))
    values[:, 0, 0, 0] = [-0.004, -0.002]
    values[:, 0, 1, 1] = [0.001, -0.003]
    values[:, 0, 0, 1] = [0.002, 0.004]
    fig = paper_grid(probe_of(values))
    np.testing.assert_allclose(heatmaps(fig)[0].z, [[0.003, 0.003], [0, 0.002]], atol=1e-9)
    rows = data(fig).query("panel == 'Knowledge Recall'").set_index("name")
    assert rows.score.tolist() == pytest.approx([-0.003, 0.003, 0, -0.001])
    assert rows.shown.tolist() == pytest.approx([0.003, 0.003, 0, 0.002])
    assert rows.low.tolist() == pytest.approx([-0.004, 0.002, 0, -0.003])
    assert rows.high.tolist() == pytest.approx([-0.002, 0.004, 0, 0.001])
    assert rows.negative.tolist() == [True, False, False, True]
    # L1H1 is negative by less than half of the scale.
    assert [(list(t.x), list(t.y)) for t in fig.data if t.name == "negative"] == [([0], [0])]
    assert any("▼ negative" in text for text in texts_of(fig))


def test_other_scores_keep_their_sign() -> None:
    effect = np.array([[[0.4, -0.4], [-0.1, 0.1]]])
    scores = scores_of(effect, tasks=["copy"], belongs=["Algorithmic"])
    fig = paper_grid(scores)
    np.testing.assert_allclose(heatmaps(fig)[0].z, effect[0], rtol=1e-6)
    axis = fig.layout.coloraxis
    assert axis.cmin == 0
    assert axis.colorbar.ticktext[0].strip() == "≤ 0.0000"
    assert axis.colorbar.title.text == "Heads Importance (effect)"
    assert [(list(t.x), list(t.y)) for t in fig.data if t.name == "negative"] == [([1], [0])]
    rows = data(fig)
    assert rows.low.tolist() == pytest.approx((effect.ravel() - 0.02).tolist())
    assert rows["rank"].tolist() == [1, 4, 3, 2]


def test_the_largest_heads_are_named_above_their_panel_and_ringed() -> None:
    fig = paper_grid(probe_of(counted(6, 8)))
    assert texts_of(fig).count("L5H7, L5H6, L5H5") == 8
    rings = [trace for trace in fig.data if trace.name == "largest"]
    assert len(rings) == 8
    assert {(tuple(ring.x), tuple(ring.y)) for ring in rings} == {((5, 6, 7), (5, 5, 5))}
    assert {ring.marker.symbol for ring in rings} == {"circle-open"}
    assert data(fig).query("named").name.value_counts().to_dict() == {"L5H7": 8, "L5H6": 8, "L5H5": 8}


def test_only_heads_that_reach_the_threshold_of_their_panel_are_ringed() -> None:
    score = np.zeros((2, 4, 4))
    score[:, 0, 0], score[:, 1, 1] = 0.3, 0.2
    dims = ("task", "layer", "head")
    table = xr.Dataset({"score": (dims, score), "threshold": ("task", [0.25, 0.4])}, coords={"task": ["one", "two"]})
    table = table.assign_coords(layer=range(4), head=range(4))
    fig = paper_grid(table)
    assert [(list(t.x), list(t.y)) for t in fig.data if t.name == "largest"] == [([0], [0])]
    assert data(fig).query("named").panel.tolist() == ["one"]
    texts = texts_of(fig)
    assert "none reaches 0.4" in texts
    assert "L0H0" in texts
    assert any("reach its threshold" in text for text in texts)
    without = paper_grid(table.drop_vars("threshold"))
    assert "L0H0, L1H1" in texts_of(without)
    assert not any("threshold" in text for text in texts_of(without))


def test_accuracies_stand_below_the_title() -> None:
    texts = " ".join(texts_of(paper_grid(probe_of(counted(6, 8)))))
    assert "accuracy 0.900 [0.850, 0.950] (chance 0.125)" in texts
    assert "accuracy 0.600 [0.500, 0.700]" in texts
    three = probe_of(np.repeat(counted(6, 8), 3, axis=0))
    three["accuracy"] = three.accuracy + xr.DataArray([-0.03, 0, 0.03], dims="seed")
    three["accuracy_low"] = three.accuracy - 0.05
    three["left_out_accuracy"] = three.left_out_accuracy * np.nan
    texts = " ".join(texts_of(paper_grid(three)))
    assert "accuracy 0.900 [0.820, 0.950]" in texts  # the mean, the least low and the highest high
    assert "accuracy unknown" in texts
    assert "accuracy" not in " ".join(texts_of(paper_grid(three[["importance"]])))


def test_a_probe_that_separates_tasks_says_so_in_the_title() -> None:
    probe = probe_of(counted(2, 2), verdict=SEPARATES_TASKS)
    assert paper_grid(probe).layout.title.text == SEPARATES_TASKS.capitalize()
    assert paper_grid(probe, title="Mini").layout.title.text == f"Mini: {SEPARATES_TASKS}"
    title = f"Mini {SEPARATES_TASKS}"
    assert paper_grid(probe, title=title).layout.title.text == title


def test_a_probe_at_chance_or_of_few_seeds_is_not_drawn() -> None:
    for verdict in ("not above chance", "too few seeds"):
        with pytest.raises(DataError, match=r" accuracy 0\.900"):
            paper_grid(probe_of(counted(2, 2), verdict=verdict))


def test_what_is_refused() -> None:
    probe = probe_of(counted(2, 2))
    for table, message in (
        (probe.drop_vars("importance"), "importance, effect, score.*got accuracy"),
        (probe.assign_coords(layer=["a", "b"]), "whole numbers"),
        (probe_of(counted(2, 2), functions=["same"] * 8), "distinct .* `function`"),
    ):
        with pytest.raises(DataError, match=message):
            paper_grid(table)
    for clip in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(OptionError, match="clip"):
            paper_grid(probe, clip=clip)
    with pytest.raises(OptionError, match="'rank'"):
        paper_grid(probe, variable="rank")


def test_other_grids_are_drawn_too() -> None:
    dims = ("dataset", "seed", "layer", "head")
    gates = xr.Dataset(
        {
            "facilitation": (dims, np.array([0.2, 0.4]).reshape(1, 2, 1, 1)),
            "interference": (dims, np.full((1, 2, 1, 1), 0.7)),
        },
        coords={"dataset": ["Math"], "layer": [0], "head": [0]},
    )
    assert heatmaps(paper_grid(gates))[0].z.item() == pytest.approx(0.3)  # the mean over seeds
    other = paper_grid(gates, variable="interference")
    assert heatmaps(other)[0].z.item() == pytest.approx(0.7)
    assert other.layout.coloraxis.colorbar.title.text.endswith("(interference)")
    single = xr.Dataset({"score": (("layer", "head"), np.eye(3))}, coords={"layer": [0, 1, 2], "head": [0, 1, 2]})
    assert [trace.name for trace in heatmaps(paper_grid(single))] == ["score"]
    gaps = heatmaps(paper_grid(probe_of(counted(2, 2)).assign_coords(layer=[1, 3])))[0].z
    assert np.isfinite(gaps).all(axis=1).tolist() == [False, True, False, True]
