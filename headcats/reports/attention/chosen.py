"""Which heads of a category are looked at, and on which of its tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headcats.base.errors import DataError
from headcats.categories.by_block import checked_selection
from headcats.categories.map_spec import MapSpec, resolve_tested
from headcats.categories.run_maps import joint_map, judged_map
from headcats.models.head import Head
from headcats.reports.text.suggestions import sorting_label
from headcats.results.finding import line
from headcats.results.run_results import RunResults

_MOST = 4  # heads of a category


@dataclass(frozen=True)
class Chosen:
    """Heads of a category, the largest effect first, and its tasks, those first that most of the heads pass."""

    category: str
    heads: tuple[Head, ...]
    tasks: tuple[str, ...]


def choose(run: RunResults, reading: MapSpec) -> tuple[str, list[Chosen]]:
    """Choose at most four heads of each category with the largest effect: its members, or else undecided ones.

    Returns the method, too; a DataError where no category has a head.
    """
    label = sorting_label(run, str(reading.label) or None)
    if label is None:
        result = judged_map(run.without_untried(), resolve_tested(reading, run))
        scores = result.tables["scores"]["effect"]
    else:
        result = joint_map(run, label, reading)
        assert result.block is not None
        if result.is_of_relations:
            scores = result.block[checked_selection(result.block).variable]
        else:
            scores = _by_task(result.tables["members"], run.manifest.blocks[label].tasks)
    members = result.tables["members"]
    chosen = []
    for category in members["category"].values.tolist():
        row = members.sel(category=category).transpose("layer", "head", ...)
        if largest := _largest(row):
            passed = [str(row["tasks"].sel(layer=head.layer, head=head.head).item()).split(",") for head in largest]
            chosen.append(Chosen(category, largest, _tasks(scores, category, largest, passed)))
    if not chosen:
        raise DataError(str(line("attention.no_category")))
    return result.method, chosen


def _by_task(members: xr.Dataset, categories: Mapping[str, str]) -> xr.DataArray:
    """The scores of every category for each of its tasks, of a method that does not tell these apart."""
    judged = set(members["category"].values.tolist())
    tasks = {name: category for name, category in categories.items() if category in judged}
    of_task = members["effect"].sel(category=xr.DataArray(list(tasks.values()), dims="task"))
    return of_task.assign_coords(task=list(tasks))


def _largest(row: xr.Dataset) -> tuple[Head, ...]:
    """The heads of a category with the largest effect; without any, the undecided ones with an effect above 0."""
    effect, outcome = row["effect"].to_numpy(), row["member"].to_numpy()
    finite = np.isfinite(effect)
    inside = finite & (outcome == 1)
    candidates = inside if inside.any() else finite & (outcome == 0) & (effect > 0)
    places = np.argwhere(candidates)[np.argsort(-effect[candidates], kind="stable")][:_MOST]
    layers, heads = row["layer"].values, row["head"].values
    return tuple(Head(int(layers[layer]), int(heads[head])) for layer, head in places.tolist())


def _tasks(
    scores: xr.DataArray, category: str, heads: Sequence[Head], passed: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """Tasks of a category with numbers, those first that most of the heads pass, then by the sum of their effects."""
    scores = scores.isel(task=np.flatnonzero(scores["category"].values == category))
    scores = scores.isel(task=np.flatnonzero(scores.notnull().any(("layer", "head")).values))
    names = [str(name) for name in scores["task"].values]
    n_passing = {name: sum(name in tasks for tasks in passed) for name in names}
    cells = [scores.sel(layer=head.layer, head=head.head) for head in heads]
    total = dict(zip(names, np.nansum([cell.values for cell in cells], axis=0).tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: (-n_passing[name], -total[name])))
