"""Groups of heads that share keys and values, on every figure of layers and heads."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.registered import EXAMPLES, HEAD_GRIDS

import headcats.figures
from headcats.figures.panels.groups import GROUPS, Groups


def grouped(table: xr.Dataset, size: int = 2) -> xr.Dataset:
    number = np.tile(np.arange(table.sizes["head"]) // size, (table.sizes["layer"], 1))
    return table.assign_coords(kv_head=(("layer", "head"), number))


def lines_of(fig: go.Figure) -> list[go.Scatter]:
    return [trace for trace in fig.data if trace.name == GROUPS]


def segments(trace: go.Scatter) -> set[tuple[float, ...]]:
    points = np.stack([trace.x, trace.y], axis=1).reshape(-1, 3, 2)
    assert np.isnan(points[:, 2]).all()
    return {tuple(points[row, :2].ravel().round(2).tolist()) for row in range(len(points))}


class TestGroups:
    table = xr.Dataset(
        coords={"layer": [0, 1, 3], "head": np.arange(4)}
        | {"kv_head": (("layer", "head"), [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, -1]])}
    )

    @pytest.mark.parametrize("across", [True, False])
    def test_lines_stand_between_groups_and_are_joined_over_layers(self, across: bool) -> None:
        found = Groups.of(self.table, layers_across=across)
        light, dark = found.lines(cell=(50, 50), gap=2)
        # Layer 2 has no heads; layer 3 has three groups, and no fourth head.
        expected = {(-0.5, 1.51, 1.5, 1.51), (2.5, 0.51, 3.5, 0.51), (2.5, 1.51, 3.5, 1.51)}
        if not across:
            expected = {(y0, x0, y1, x1) for x0, y0, x1, y1 in expected}
        assert segments(light) == segments(dark) == expected
        assert light.line.width > dark.line.width

    def test_the_pointer_names_the_first_and_the_last_head(self) -> None:
        frame = pd.DataFrame([(layer, head) for layer in (0, 1) for head in range(4)], columns=["layer", "head"])
        frame = pd.concat([frame, pd.DataFrame({"layer": 3, "head": range(3)})])
        named = Groups.of(self.table, layers_across=True).named(frame)
        ends = list(zip(named["layer"], named["head"], named["group_first"], named["group_last"], strict=True))
        assert ends[:4] == [(0, 0, 0, 1), (0, 1, 0, 1), (0, 2, 2, 3), (0, 3, 2, 3)]
        assert ends[8:] == [(3, 0, 0, 0), (3, 1, 1, 1), (3, 2, 2, 2)]

    def test_one_group_has_no_lines_and_a_table_without_them_none_at_all(self) -> None:
        one = self.table.assign_coords(kv_head=self.table.kv_head * 0)
        assert Groups.of(one, layers_across=True).lines(cell=(9, 9), gap=1) == []
        assert Groups.of(self.table.drop_vars("kv_head"), layers_across=True) is None


@pytest.mark.parametrize("name", ["overlap_map", *HEAD_GRIDS])
def test_every_grid_shows_them_where_they_are(name: str) -> None:
    draw, plain = getattr(headcats.figures, name), EXAMPLES[name](3, 4)
    fig, without = draw(grouped(plain)), draw(plain)
    panels = len([trace for trace in without.data if trace.type in ("heatmap", "image") and trace.hovertemplate])
    assert len(lines_of(fig)) == 2 * panels
    assert lines_of(without) == []
    shown = [trace for trace in fig.data if trace.type in ("heatmap", "image") and trace.hovertemplate]
    assert all("keys and values" in trace.hovertemplate for trace in shown)
    assert not any("keys and values" in (trace.hovertemplate or "") for trace in without.data)
    assert sum("keys and values" in note.text for note in fig.layout.annotations) == 1
    numbers = headcats.figures.data(fig)
    assert numbers["kv_head"].tolist() == (numbers["head"] // 2).tolist()
    assert "kv_head" not in headcats.figures.data(without)


@pytest.mark.parametrize("name", HEAD_GRIDS[:2])
def test_effects_of_groups_are_called_groups(name: str) -> None:
    table = EXAMPLES[name](3, 4)
    fig = getattr(headcats.figures, name)(table.assign_attrs(table.attrs | {"unit": "kv_group"}))
    titles = {axis.title.text for axis in fig.select_xaxes()} | {axis.title.text for axis in fig.select_yaxes()}
    assert titles & {"group", "Group", "groups"}
    assert not titles & {"head", "Head", "heads"}
    numbers = headcats.figures.data(fig)
    assert set(numbers["name"].str.replace(r"\d+", "", regex=True)) == {"LG"}
