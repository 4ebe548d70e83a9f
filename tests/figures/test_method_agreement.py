import re

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import agreement_of, scattered_agreement
from figures.reading import heatmaps, texts_of

from headcats.base.errors import DataError
from headcats.figures import data, method_agreement

METHODS = ("patch", "weights", "gates")
# L0H0, L0H1, L1H0, L1H1: the first two methods agree, the third turns the order round.
RANK = np.array([[[[1, 2], [3, 4]], [[1, 2], [4, 3]], [[4, 3], [2, 1]]]], dtype=float)


def by_hand() -> xr.Dataset:
    return agreement_of(RANK, groups=["Knowledge"], methods=METHODS)


def numbers(fig: go.Figure, panel: int = 0) -> np.ndarray:
    """The texts in the cells of a panel."""
    trace = [trace for trace in fig.data if trace.name == "numbers"][panel]
    n = round(len(trace.text) ** 0.5)
    grid = np.full((n, n), "", dtype=object)
    grid[np.array(trace.y), np.array(trace.x)] = trace.text
    return grid


def test_cells_hold_correlation_and_overlap_beside_chance() -> None:
    fig = method_agreement(by_hand())
    np.testing.assert_allclose(heatmaps(fig)[0].z, [[1, 0.8, -1], [0.8, 1, -0.8], [-1, -0.8, 1]], atol=1e-9)
    assert numbers(fig).tolist() == [
        ["<b>1.00</b>", "<b>0.80</b><br>top 1.00 (.20)", "<b>-1.00</b><br>top .00 (.20)"],
        ["<b>0.80</b><br>top 1.00 (.20)", "<b>1.00</b>", "<b>-0.80</b><br>top .00 (.20)"],
        ["<b>-1.00</b><br>top .00 (.20)", "<b>-0.80</b><br>top .00 (.20)", "<b>1.00</b>"],
    ]
    axis = fig.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-1, 1)
    assert tuple(map(str.strip, axis.colorbar.ticktext)) == ("-1.0", "-0.5", "0.0", "0.5", "1.0")
    assert "top 2 heads" in texts_of(fig)[0]

    # Methods stand on both axes in one order.
    assert tuple(fig.layout.xaxis.ticktext) == tuple(fig.layout.yaxis.ticktext) == METHODS
    assert fig.layout.yaxis.range == (2.5, -0.5)
    assert fig.layout.xaxis.side == "top"


def test_one_panel_per_group_in_the_order_of_categories() -> None:
    listed = '[{"name": "Translation", "colour": "#d62728"}, {"name": "Knowledge", "colour": "#ff7f0e"}]'
    table = scattered_agreement(2, 3)
    assert [trace.name for trace in heatmaps(method_agreement(table))] == ["Knowledge", "Translation"]
    turned = method_agreement(table.assign_attrs(categories=listed))
    assert [trace.name for trace in heatmaps(turned)] == ["Translation", "Knowledge"]
    assert {"Translation", "Knowledge"} <= set(texts_of(turned))


def test_heads_that_methods_disagree_on_are_named() -> None:
    fig = method_agreement(by_hand())
    assert "ranks differ most: L0H0, L1H1, L1H0" in texts_of(fig)
    frame = data(fig).set_index(["method", "other"])
    assert frame.disagree_on["patch", "gates"] == "L0H0 (1, 4), L1H1 (4, 1), L0H1 (2, 3)"
    assert frame.disagree_on["gates", "patch"] == "L0H0 (4, 1), L1H1 (1, 4), L0H1 (3, 2)"
    assert frame.disagree_on["patch", "patch"] == ""
    assert set(frame.disputed) == {"L0H0, L1H1, L1H0"}
    cells = heatmaps(fig)[0]
    assert re.findall(r"patch|gates|Knowledge", cells.text[0][2]) == ["patch", "gates", "Knowledge"]
    assert "L0H0 (1, 4)" in cells.hovertext[0][2]
    assert cells.customdata[0][2].tolist() == pytest.approx([0.0, 0.2])


def test_what_layers_alone_give_is_told_where_it_is_known() -> None:
    table = by_hand()
    pair = ("group", "method", "other")
    q_value = np.full((1, 3, 3), 0.2)
    q_value[0, 0, 2] = q_value[0, 2, 0] = 0.01
    q_value[0][np.eye(3, dtype=bool)] = np.nan
    table = table.assign(q_value=(pair, q_value), layer_correlation=(pair, np.full((1, 3, 3), 0.3)))
    fig = method_agreement(table)
    assert [text.split("</b>")[0] for text in numbers(fig)[0]] == ["<b>1.00", "<b>0.80", "<b>-1.00*"]
    assert "layers alone 0.300, q 0.01" in heatmaps(fig)[0].hovertext[0][2]
    assert any("* q ≤ 0.05" in text for text in texts_of(fig))
    assert data(fig).q_value.tolist()[2] == 0.01
    assert not any("* q" in text for text in texts_of(method_agreement(by_hand())))


def test_a_method_that_ranks_nothing_in_a_group_is_grey() -> None:
    rank = np.concatenate([RANK, RANK])
    rank[1, 1] = np.nan
    table = agreement_of(rank, groups=["Knowledge", "Translation"], methods=METHODS)
    table["spread"][1] = table["rank"][1].max("method") - table["rank"][1].min("method")
    fig = method_agreement(table)
    crosses = [trace for trace in fig.data if trace.name == "no value"]
    assert len(crosses) == 1
    assert set(zip(crosses[0].y, crosses[0].x, strict=True)) == {(1, 0), (1, 1), (1, 2), (0, 1), (2, 1)}
    assert crosses[0].xaxis == heatmaps(fig)[1].xaxis
    written = [trace for trace in fig.data if trace.name == "numbers"][1]
    assert set(zip(written.y, written.x, strict=True)) == {(0, 0), (0, 2), (2, 0), (2, 2)}
    assert any("× no value" in text for text in texts_of(fig))


def test_the_table_of_the_package_is_drawn() -> None:
    from headcats.evidence.comparison.method_agreement import method_agreement as agreement

    draws = np.random.default_rng(0).normal(size=(3, 2, 4, 5))
    dims = ("method", "group", "layer", "head")
    labels = {"method": list(METHODS), "group": ["a", "b"], "layer": np.arange(4), "head": np.arange(5)}
    table = agreement(xr.Dataset({"strength": (dims, draws)}, coords=labels), draws=99)
    frame = data(method_agreement(table))
    np.testing.assert_array_equal(frame.rank_correlation, table.rank_correlation.values.ravel())
    assert {"layer_correlation", "q_value", "n_heads"} <= set(frame.columns)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (by_hand().drop_vars("top_chance"), "`top_chance`"),
        (by_hand().assign_coords(other=["patch", "gates", "weights"]), "in the same order"),
    ],
    ids=["no chance", "other order"],
)
def test_wrong_tables_are_refused_with_what_came(table: xr.Dataset, message: str) -> None:
    with pytest.raises(DataError, match=message):
        method_agreement(table)
