"""Head x task: which heads, which tasks in which groups, which cells pass."""

import sys

import numpy as np
import pytest
import xarray as xr
from figures.examples import ICL, scored_tasks
from figures.reading import caption, traces

from headcats.categories.membership import categorize
from headcats.figures import data, head_tasks

TASKS = ["copy", "reverse", "capital", "currency"]


@pytest.fixture(scope="module")
def scores() -> xr.Dataset:
    return scored_tasks(6, 5)


@pytest.fixture(scope="module")
def members(scores: xr.Dataset) -> xr.Dataset:
    return categorize(scores)


def named(members: xr.Dataset) -> set[str]:
    places = np.argwhere((members["member"] == 1).any("category").transpose("layer", "head").values)
    return {f"L{layer}H{head}" for layer, head in places.tolist()}


def test_rows_are_the_members_by_their_first_category_and_effect(scores: xr.Dataset, members: xr.Dataset) -> None:
    fig = head_tasks(scores)
    heads = list(fig.layout.yaxis.ticktext)
    assert set(heads) == named(members) != set()
    frame = data(fig)
    first = {head: rows["serves"].iloc[0].split("+")[0] for head, rows in frame.groupby("head")}
    assert [first[head] for head in heads] == sorted(first[head] for head in heads)
    own = members["effect"].sel(category="Algorithmic")
    effects = [float(own.sel(layer=int(h[1]), head=int(h[3]))) for h in heads if first[h] == "Algorithmic"]
    assert effects == sorted(effects, reverse=True)
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]  # the first on top


def test_columns_are_tasks_grouped_by_category_with_names_and_gaps(scores: xr.Dataset) -> None:
    fig = head_tasks(scores.isel(task=[2, 0, 3, 1]))
    assert list(fig.layout.xaxis.ticktext) in (TASKS, ["copy", "reverse", "capital", "currency"])
    names = [(text.text, text.x) for text in fig.layout.annotations if text.text.startswith("<b>")]
    assert [text for text, _ in names] == ["<b>Algorithmic</b>", "<b>Knowledge</b>"]
    left, right = fig.layout.xaxis.domain
    assert [x for _, x in names] == pytest.approx([left + (right - left) / 4, left + 3 * (right - left) / 4], abs=0.002)
    (gap,) = traces(fig, "between groups of columns")
    assert list(gap.x[:2]) == [1.5, 1.5]


def test_a_cell_has_the_effect_and_a_dot_where_the_head_passes(scores: xr.Dataset, members: xr.Dataset) -> None:
    fig = head_tasks(scores)
    frame, heads = data(fig), list(fig.layout.yaxis.ticktext)
    assert len(frame) == len(heads) * len(TASKS)
    for row in frame.itertuples():
        cell = scores.sel(task=row.task, layer=int(row.layer), head=int(row.head[3]))
        assert row.effect == pytest.approx(float(cell["effect"]))
        joined = str(members["tasks"].sel(category=row.category, layer=int(row.layer), head=int(row.head[3])).values)
        assert row.passes == (row.task in joined.split(","))
    dots = {(int(x), int(y)) for trace in traces(fig, "passes") for x, y in zip(trace.x, trace.y, strict=True)}
    passing = frame[frame.passes]
    assert dots == {(TASKS.index(row.task), heads.index(row.head)) for row in passing.itertuples()}
    for category in ("Algorithmic", "Knowledge"):
        (cells,) = traces(fig, category)
        assert cells.colorscale[-1][1] == ICL[category]
        assert (cells.zmin, cells.zmax) == (-cells.zmax, cells.zmax)
        shown = np.isfinite(cells.z).all(axis=0)
        assert shown.tolist() == [(task in TASKS[:2]) == (category == "Algorithmic") for task in TASKS]


def test_other_memberships_and_fewer_heads(
    scores: xr.Dataset, members: xr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowledge = members.assign(member=members["member"].where(members["category"] == "Knowledge", -1))
    fig = head_tasks(scores, members=knowledge)
    assert set(data(fig).serves) == {"Knowledge"}
    monkeypatch.setattr(sys.modules["headcats.figures.head_tasks"], "_MOST", 2)
    few = head_tasks(scores, members=members)
    assert len(few.layout.yaxis.ticktext) == 2
    n = len(named(members))
    assert f"2 of {n} heads" in caption(few)
    assert "heads, those" not in caption(fig)


def test_without_a_member_the_largest_effects_are_shown_and_it_is_said(scores: xr.Dataset, members: xr.Dataset) -> None:
    fig = head_tasks(scores, members=members.assign(member=-xr.ones_like(members["member"])))
    assert len(fig.layout.yaxis.ticktext) == 10
    assert "no head is" in caption(fig)
    layer, head = np.unravel_index(np.abs(members["effect"]).max("category").values.argmax(), (6, 5))
    assert f"L{layer}H{head}" in fig.layout.yaxis.ticktext


def test_cells_without_a_number_are_crossed(scores: xr.Dataset, members: xr.Dataset) -> None:
    missing = scores.assign(effect=scores["effect"].where(scores["task"] != "copy"))
    (cross, *_) = traces(head_tasks(missing, members=members), "no value")
    assert set(cross.x) == {0}
