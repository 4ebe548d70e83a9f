"""Which heads of a category are looked at, and on which of its tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from headcats.base.errors import DataError
from headcats.categories.by_block import checked_selection
from headcats.categories.map_spec import MapSpec, resolve_tested
from headcats.categories.run_maps import joint_map, judged_map
from headcats.models.head import Head
from headcats.reports.text.suggestions import sorting_label
from headcats.results.finding import Finding, line
from headcats.results.run_results import RunResults

_STATUS = {1: "in", 0: "undecided", -1: "out"}


@dataclass(frozen=True)
class ShownHead:
    """A head and its numbers in a category, the effect in shares of the gap or the score; NaN where there are none."""

    head: Head
    status: str
    effect: float
    low: float
    high: float
    q: float
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """Heads of a category, the largest effect first, and its tasks, those first that most of the heads pass."""

    category: str
    heads: tuple[ShownHead, ...]
    tasks: tuple[str, ...]
    why: Finding


@dataclass(frozen=True)
class Choice:
    """Heads and tasks of every category; `label` is the method and `by` method, metric and rule in a line."""

    by: str
    label: str
    measure: str
    categories: tuple[Chosen, ...]
    left_out: dict[str, Finding]


def choose(run: RunResults, reading: MapSpec, *, heads: int) -> Choice:
    """Choose at most so many heads of each category with the largest effect: its members, or else undecided ones."""
    label = sorting_label(run, run.place or Path("results"), str(reading.label) or None)
    if label is None:
        result = judged_map(run.without_untried(), resolve_tested(reading, run))
        scores, measure = result.tables["scores"]["effect"], str(line("attention.effect"))
    else:
        result = joint_map(run, label, reading)
        assert result.block is not None
        selection = checked_selection(result.block)
        if result.is_of_relations:
            scores = result.block[selection.variable]
        else:
            scores = _by_task(result.tables["members"], run.manifest.blocks[label].tasks)
        measure = selection.text
    members = result.tables["members"]
    chosen = {name: _choose_heads(members, scores, name, heads) for name in members["category"].values.tolist()}
    left_out = {name: reason for name, reason in chosen.items() if isinstance(reason, Finding)}
    if len(left_out) == len(chosen):
        reasons = [f"{name}: {reason}" for name, reason in left_out.items()]
        raise DataError(str(line("attention.no_category", reasons=reasons)))
    return Choice(
        result.title,
        result.methods[0],
        measure,
        tuple(each for each in chosen.values() if isinstance(each, Chosen)),
        left_out,
    )


def _by_task(members: xr.Dataset, categories: Mapping[str, str]) -> xr.DataArray:
    """The scores of every category for each of its tasks, of a method that does not tell these apart."""
    judged = set(members["category"].values.tolist())
    tasks = {name: category for name, category in categories.items() if category in judged}
    of_task = members["effect"].sel(category=xr.DataArray(list(tasks.values()), dims="task"))
    return of_task.assign_coords(task=list(tasks))


def _choose_heads(members: xr.Dataset, scores: xr.DataArray, category: str, heads: int) -> Chosen | Finding:
    """The heads and tasks of a category, or why there are none to show."""
    row = members.sel(category=category).transpose(..., "layer", "head")
    effect, outcome = row["effect"].values, row["member"].values
    finite = np.isfinite(effect)
    if not finite.any():
        return line("attention.no_numbers")
    inside = finite & (outcome == 1)
    candidates = inside if inside.any() else finite & (outcome == 0) & (effect > 0)
    if not candidates.any():
        return line("attention.no_head")
    places = np.argwhere(candidates)
    places = places[np.argsort(-effect[candidates], kind="stable")][:heads]
    largest = tuple(_shown_head(row.isel(layer=layer, head=head)) for layer, head in places.tolist())
    reason = str(members.attrs.get("not_judged", "")).rstrip(".")
    if inside.any():
        id = {1: "only", 2: "both"}.get(len(largest), "all") if len(largest) == inside.sum() else "largest"
    else:
        id = "not_judged" if reason else "undecided"
    why = line(f"attention.why_{id}", category=category, shown=len(largest), n=int(candidates.sum()), reason=reason)
    return Chosen(category, largest, _tasks(scores, category, largest), why)


def _shown_head(cell: xr.Dataset) -> ShownHead:
    head = Head(int(cell["layer"]), int(cell["head"]))
    effect, low, high, q = (float(cell[name]) for name in ("effect", "low", "high", "q_value"))
    tasks = tuple(filter(None, str(cell["tasks"].item()).split(",")))
    return ShownHead(head, _STATUS[int(cell["member"])], effect, low, high, q, tasks)


def _tasks(scores: xr.DataArray, category: str, heads: Sequence[ShownHead]) -> tuple[str, ...]:
    """Tasks of a category with numbers, those first that most of the heads pass, then by the sum of their effects."""
    scores = scores.isel(task=np.flatnonzero(scores["category"].values == category))
    scores = scores.isel(task=np.flatnonzero(scores.notnull().any(("layer", "head")).values))
    names = [str(name) for name in scores["task"].values]
    passed = {name: sum(name in head.tasks for head in heads) for name in names}
    cells = [scores.sel(layer=head.head.layer, head=head.head.head) for head in heads]
    total = dict(zip(names, np.nansum([cell.values for cell in cells], axis=0).tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: (-passed[name], -total[name])))
