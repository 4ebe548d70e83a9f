import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import ICL, mixed_overlap, scores_of
from figures.reading import heatmaps
from simulated import block

from headcats.base.errors import DataError
from headcats.figures import data, head_grid
from headcats.scores.scoring import score


def three_tasks(**kwargs) -> xr.Dataset:
    """Tasks out of category order, 3 layers x 2 heads, effects .1 apart from -.8."""
    effect = np.arange(18).reshape(3, 3, 2) / 10 - 0.8
    return scores_of(
        effect, tasks=["capital", "copy", "reverse"], belongs=["Knowledge", "Algorithmic", "Algorithmic"], **kwargs
    )


def marks(fig: go.Figure) -> set[tuple[str, str, str]]:
    """(panel, outcome, head) of everything drawn over the heatmaps."""
    panel = {trace.xaxis: trace.name for trace in heatmaps(fig)}
    return {
        (panel[trace.xaxis], trace.name, f"L{x}H{y}")
        for trace in fig.data
        if trace.type == "scatter"
        for x, y in zip(trace.x, trace.y, strict=True)
    }


def test_one_panel_per_task_grouped_by_category_in_order() -> None:
    fig = head_grid(three_tasks())
    assert [trace.name for trace in heatmaps(fig)] == ["copy", "reverse", "capital"]
    texts = [annotation.text for annotation in fig.layout.annotations]
    assert [text for text in texts if text.startswith("<b>")] == ["<b>Algorithmic</b>", "<b>Knowledge</b>"]
    assert {"copy", "reverse", "capital"} <= set(texts)
    np.testing.assert_allclose(heatmaps(fig)[0].z[1], [-0.1, 0.1, 0.3], atol=1e-6)  # head 1 over layers
    assert fig.layout.yaxis.range == (1.5, -0.5)
    assert (fig.layout.xaxis.title.text, fig.layout.yaxis.title.text) == ("layer", "head")
    assert (fig.layout.xaxis.domain[0], fig.layout.yaxis3.domain[1]) == pytest.approx(
        (fig.layout.xaxis3.domain[0], fig.layout.yaxis3.domain[1])
    )
    assert fig.layout.yaxis3.domain[1] < fig.layout.yaxis.domain[0] == fig.layout.yaxis2.domain[0]


def test_marks_need_a_small_q_and_an_interval_on_one_side() -> None:
    effect = np.array([[[0.3, 0.01], [-0.3, 0.3], [np.nan, -0.01]]])
    q_value = np.array([[[0.01, 0.01], [0.01, 0.06], [np.nan, 0.01]]])
    scores = scores_of(effect, tasks=["copy"], belongs=["Algorithmic"], q_value=q_value)
    fig = head_grid(scores)
    assert marks(fig) == {("copy", "helps", "L0H0"), ("copy", "hurts", "L1H0"), ("copy", "no value", "L2H0")}
    symbols = {trace.name: trace.marker.symbol for trace in fig.data if trace.type == "scatter"}
    assert len(set(symbols.values())) == 3
    assert data(fig).outcome.tolist() == ["helps", "neither", "hurts", "neither", "no value", "neither"]
    # Precise effects far below what the rule asks for pass any test against 0.
    small = scores_of(np.array([[[0.06, 0.08], [-0.08, -0.06]]]), tasks=["copy"], belongs=["Algorithmic"])
    assert marks(head_grid(small)) == {("copy", "helps", "L0H1"), ("copy", "hurts", "L1H0")}


def test_memberships_give_one_panel_per_category_marked_by_their_own_verdict() -> None:
    members = mixed_overlap(4, 3)
    member = members.member.values
    members["suppressing"] = members.member.copy(data=np.where(np.roll(member, 1, axis=1) == 1, 1, -1) * (member != 1))
    fig = head_grid(members.isel(category=[3, 1, 0, 2]))
    assert [trace.name for trace in heatmaps(fig)] == list(ICL)
    expected = {
        (name, outcome, f"L{layer}H{head}")
        for i, name in enumerate(ICL)
        for layer, head in np.ndindex(4, 3)
        for outcome, values in (("helps", member), ("hurts", members.suppressing.values))
        if values[i, layer, head] == 1
    }
    assert {outcome for _, outcome, _ in expected} == {"helps", "hurts"}
    assert marks(fig) == expected


def test_frame_has_one_row_per_panel_and_head() -> None:
    frame = data(head_grid(three_tasks(layers=[3, 7, 11])))
    assert len(frame) == 18
    assert frame.panel.unique().tolist() == ["copy", "reverse", "capital"]
    trace = heatmaps(head_grid(three_tasks()))[0]
    assert trace.hovertemplate.startswith("<b>L%{x}H%{y}</b> copy%{text}")
    assert trace.text.tolist() == [[": hurts", "", ": helps"], [": hurts", ": helps", ": helps"]]
    np.testing.assert_allclose(trace.customdata[1][2], [0.28, 0.32, 0.001], rtol=1e-5)
    row = frame[(frame.panel == "reverse") & (frame.name == "L7H1")].iloc[0]
    assert (row.category, row.layer, row["head"], row.outcome) == ("Algorithmic", 7, 1, "helps")
    assert (row.effect, row.low, row.high, row.q_value) == pytest.approx((0.7, 0.68, 0.72, 0.001))


WRONG = {
    r"`effect` over \(category, layer, head\)": lambda ds: ds.isel(task=0),
    r"coordinate `category`": lambda ds: ds.drop_vars("category"),
    r"one task": lambda ds: ds.isel(task=[]),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_tables_are_refused_with_what_came(message: str) -> None:
    with pytest.raises(DataError, match=message):
        head_grid(WRONG[message](three_tasks()))


def test_effects_below_the_noise_of_16_bit_numbers_are_marked() -> None:
    scores = scores_of(np.full((1, 2, 2), 0.5), tasks=["a"], belongs=["Knowledge"])
    noisy = np.array([[[True, False], [False, False]]])
    fig = head_grid(scores.assign(below_noise=(("task", "layer", "head"), noisy)))
    frame = data(fig)
    assert frame.outcome.tolist() == ["below noise", "helps", "helps", "helps"]
    marks = {trace.name: len(trace.x) for trace in fig.data if trace.type == "scatter"}
    assert marks == {"helps": 3, "below noise": 1}
    assert "noise of 16-bit" in fig.to_json()  # hover
    assert "16-bit noise" in fig.to_json()  # caption
    assert "16-bit" not in head_grid(scores).to_json()


def test_sweeps_are_scored_on_the_way() -> None:
    sweeps = {name: block(np.random.default_rng(seed).normal(0.2, 0.1, (12, 2, 3))) for seed, name in enumerate("ab")}
    fig = head_grid(sweeps)
    pd.testing.assert_frame_equal(data(fig), data(head_grid(score(sweeps))))
    assert set(data(fig).panel) == {"a", "b"}
    assert set(data(head_grid(sweeps["a"])).panel) == {"sweep"}
    by_category = head_grid({"Knowledge": sweeps})
    assert set(data(by_category).category) == {"Knowledge"}
    assert any("<b>Knowledge</b>" in text.text for text in by_category.layout.annotations)
    assert not any("<b>a</b>" in text.text for text in fig.layout.annotations)  # each task is a category: no headings


def test_approximations_among_sweeps_say_so() -> None:
    sweep = block(np.random.default_rng(0).normal(0.2, 0.1, (12, 2, 3))).assign_attrs(approximation="first order")
    for given in (sweep, {"a": sweep}):
        assert head_grid(given).layout.title.text.startswith("First-order approximation")
