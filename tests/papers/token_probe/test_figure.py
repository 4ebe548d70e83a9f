import functools

import numpy as np
import plotly.graph_objects as go
import pytest
from figures.reading import caption, heatmaps
from paper_tables import ROLES, token_map_of

from headcats.base.errors import OptionError
from headcats.figures import data
from headcats.figures.colours import FRAME
from headcats.papers.token_probe.figure import layer_token

paper_map = functools.partial(layer_token, layout="paper")
"""The axes of the paper; tests/figures/test_layouts.py compares those of the default with them."""

# Layers 0 and 1, roles x, exact_answer_first, y.
THREE = ("x", "exact_answer_first", "y")
BY_HAND = np.array([[0.5, 0.9, 0.4], [0.56, 0.6, 0.52]])


def rectangles(fig: go.Figure) -> list[tuple[float, float, float, float]]:
    """Left, right, top, bottom of the black lines."""
    return [
        (min(t.x), max(t.x), min(t.y), max(t.y)) for t in fig.data if t.type == "scatter" and t.name == "exact answer"
    ]


def marks(fig: go.Figure) -> set[tuple[str, int, int]]:
    return {
        (trace.name, int(y), int(x))
        for trace in fig.data
        if trace.type == "scatter" and trace.name != "exact answer"
        for x, y in zip(trace.x, trace.y, strict=True)
    }


def test_effects_of_patches_are_not_clipped_where_few_cells_hold_them() -> None:
    values = np.full((6, 22), 0.01)
    values[1, -1], values[0, 4] = 0.906, -0.4
    roles = [f"x{i}" for i in range(22)]
    table = token_map_of(values, roles=roles)[["auc"]].rename(auc="effect")
    axis = paper_map(table).layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-0.906, 0.906)
    assert tuple(map(str.strip, axis.colorbar.ticktext)) == ("-0.91", "-0.45", "0.00", "0.45", "0.91")
    nothing = paper_map(table * 0).layout.coloraxis
    assert (nothing.cmin, nothing.cmax) == (-1, 1)


def test_auc_is_blue_from_a_half_to_1() -> None:
    fig = paper_map(token_map_of(BY_HAND, roles=THREE))
    np.testing.assert_allclose(heatmaps(fig)[0].z, BY_HAND, rtol=1e-6)
    axis = fig.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0.5, 1.0)
    assert axis.colorscale[0][1] == "rgb(247,251,255)"
    assert axis.colorscale[-1][1] == "rgb(8,48,107)"
    assert tuple(map(str.strip, axis.colorbar.ticktext)) == ("≤ 0.5", "0.6", "0.7", "0.8", "0.9", "1.0")
    assert axis.colorbar.title.text == "ROC-AUC"
    above = paper_map(token_map_of(BY_HAND + 0.1, roles=THREE)).layout.coloraxis.colorbar
    assert above.ticktext[0].strip() == "0.5"


def test_a_rectangle_surrounds_the_exact_answer_by_the_names_of_its_roles() -> None:
    table = token_map_of(np.full((4, len(ROLES)), 0.7))
    assert rectangles(paper_map(table)) == [(1.5, 5.5, -0.5, 3.5)]
    rectangle = next(trace for trace in paper_map(table).data if trace.name == "exact answer")
    assert rectangle.line.color == FRAME
    assert rectangle.cliponaxis is False
    named = table.assign_attrs(exact_roles="exact_answer_first\nexact_answer_last")
    assert rectangles(paper_map(named)) == [(2.5, 4.5, -0.5, 3.5)]
    assert rectangles(paper_map(table.drop_attrs())) == [(1.5, 5.5, -0.5, 3.5)]
    moved = table.isel(role=[4, 0, 2, 1, 3])
    assert rectangles(paper_map(moved)) == [(-0.5, 0.5, -0.5, 3.5), (1.5, 2.5, -0.5, 3.5), (3.5, 4.5, -0.5, 3.5)]


def test_marks_hold_intervals_against_a_half() -> None:
    fig = paper_map(token_map_of(BY_HAND, roles=THREE))
    assert marks(fig) == {("above", 0, 1), ("above", 1, 0), ("above", 1, 1), ("below", 0, 2), ("largest", 0, 1)}
    assert "largest: 0.900 [0.850, 0.950], layer 0, exact" in caption(fig)
    frame = data(fig)
    assert frame.mark.tolist() == ["neither", "above", "below", "above", "above", "neither"]
    assert frame[frame.largest].role.tolist() == ["exact_answer_first"]
    assert frame.low.tolist() == pytest.approx((BY_HAND - 0.05).ravel().tolist())
    assert frame.within_task.tolist() == pytest.approx((BY_HAND - 0.1).ravel().tolist())


def test_what_the_map_is_held_against_stands_above_it() -> None:
    table = token_map_of(BY_HAND, roles=THREE)
    texts = caption(paper_map(table))
    assert "400 answers, 150 wrong" in texts
    assert "AUC 0.625" in texts
    assert "AUC 0.500 to 0.500" in texts
    table["shuffled_within"] = table.auc * 0 + 0.47
    fig = paper_map(table, variable="within_task")
    assert "AUC 0.470 to 0.470" in caption(fig)
    assert "AUC 0.625" not in caption(fig)
    np.testing.assert_allclose(heatmaps(fig)[0].z, BY_HAND - 0.1, rtol=1e-6)
    assert fig.layout.coloraxis.colorbar.title.text.endswith("within tasks")
    assert data(fig).low.isna().all()


def test_effects_have_a_signed_scale() -> None:
    table = token_map_of(BY_HAND, roles=THREE)
    effects = (table[["auc", "low", "high"]] - 0.5).rename(auc="effect")
    fig = paper_map(effects)
    axis = fig.layout.coloraxis
    assert axis.cmin == -axis.cmax
    assert axis.colorbar.title.text.startswith("effect (share")
    assert {(name, y, x) for name, y, x in marks(fig) if name == "below"} == {("below", 0, 2)}


def test_probes_that_did_not_converge_are_said_to_leave_cells_without_value() -> None:
    values = BY_HAND.copy()
    values[0, :2] = np.nan
    table = token_map_of(values, roles=THREE)
    failed = ["layer 0, x", "layer 0, exact_answer_first", "layer 1, y (shuffled labels)"]
    text = caption(paper_map(table.assign_attrs(not_converged="\n".join(failed))))
    assert "value: in 2 of 6" in text
    assert "converge" in text
    table["shuffled"] = table["shuffled"].where((table.layer != 1) | (table.role != "y"))
    fig = paper_map(table.assign_attrs(not_converged="\n".join(failed)), variable="shuffled")
    assert "value: in 1 of 6" in caption(fig)
    assert "converge" not in caption(paper_map(table))
    nothing = paper_map(token_map_of(np.full((2, 3), np.nan), roles=THREE))
    assert {name for name, *_ in marks(nothing)} == {"no value"}
    assert data(nothing).largest.sum() == 0


def test_what_is_refused() -> None:
    table = token_map_of(BY_HAND, roles=THREE)
    with pytest.raises(OptionError, match="'low'"):
        paper_map(table, variable="low")
