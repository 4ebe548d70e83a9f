"""`hc.save_attention`: where the heads of a finished run look, saved for its page; which heads, and on which tasks."""

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning
from headcats.categories.by_block import checked_selection
from headcats.categories.map_spec import MapSpec, resolve_tested
from headcats.categories.run_maps import joint_map, judged_map
from headcats.models.checks import check_model
from headcats.models.head import Head
from headcats.reports.attention.examples import thumbnails
from headcats.reports.text.suggestions import sorting_label
from headcats.results.file_format import json_with_checksum
from headcats.results.finding import line
from headcats.results.folder import ATTENTION, ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import STATE, RunResults
from headcats.results.whole_file import write_whole
from headcats.study.preparation import Preparation
from headcats.study.restore import check_order, check_prompts, restored_model, restored_study

_MOST = 4  # heads of a category


def save_attention(model: Any, results: str | os.PathLike[str], *, method: str | None = None) -> Path:
    """Save where the heads of every category look: the page of `hc.report` shows it beside each of these heads.

    Of each category its four members with the largest effect (without members, its undecided heads with the largest
    effect above 0), on one prompt of the run, clean beside corrupted: the first that the model answers rightly, of the
    task that most of these heads pass. Saved are the patterns `(from, to)` of the last 32 tokens and the strongest
    weights of the last one, after which the answer is read. Attention says where a head looks, not what that does to
    the answer. `headcats run` does this for its first method; `hc.attention` shows any head in any text.

    Args:
        model: The model of the results, as in `hc.run_evidence`: what `hc.load_model` returns, or a name or folder.
        results: A results folder.
        method: Method that heads are chosen by, as `name` or `name@positions`, or a joint method that sorts heads.
            None: the first exact method that was scored task by task, else the first joint one that sorts heads.

    Returns:
        The file, `attention.json` in the folder, in place of that of an earlier call.

    Raises:
        OptionError: A control as `method`, or several positions of it and none chosen.
        UnknownNameError: A method that the results do not hold.
        DataError: No category has a head or a prompt to show; results that are no folder, or swapped with the model.
        PlanError: Another model than that of the results.
        ModelError: The model cannot be loaded or trusted, or computes no attention pattern.
        OccupiedError: Another process is writing the folder; the message says which.
        StorageError: The folder cannot be read or written.

    Example:
        >>> import headcats as hc
        >>> hc.save_attention("mini", "results/mini-icl").name
        'attention.json'
    """
    reading = MapSpec.parse(method=method)
    check_order(model, results, by="hc.save_attention")
    if not isinstance(results, str | os.PathLike):
        raise DataError(
            f"hc.save_attention writes into a results folder, so it takes the folder; got {type(results).__name__}. "
            'Save the results, hc.run(..., out="results/mine"), and write hc.save_attention(model, "results/mine").'
        )
    folder = Path(results)
    with ResultsFolder(folder).adding("hc.save_attention"):
        return _save(model, folder, reading)


def _save(model: Any, folder: Path, reading: MapSpec) -> Path:
    run = open_results(find_place(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the map and the page show them
        method, categories = choose(run, reading)
    adapted = restored_model(run, model)
    check_model(adapted)
    preparation = Preparation(adapted, restored_study(run))
    entries = []
    for chosen in categories:
        # Of tasks that were not scored, prompts may not be there; each one that is asked takes time.
        task = next((task for task in chosen.tasks if preparation.of(task).scored), None)
        if task is not None:
            check_prompts(preparation, run.manifest, tasks=[task])
            pictures = thumbnails(adapted, preparation.of(task).scored, chosen.heads)
            entries.append({"category": chosen.category, "thumbnails": pictures})
    if not entries:
        raise DataError("No task of a category with heads gives a prompt to look at.")
    content = {"method": method, STATE: run.state([method]), "categories": entries}
    file = folder / ATTENTION
    write_whole(file, json_with_checksum(json.dumps(content, indent=1, ensure_ascii=False)))
    return file


class Chosen(NamedTuple):
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
            chosen.append(Chosen(category, largest, _tasks(scores, row, largest)))
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


def _tasks(scores: xr.DataArray, row: xr.Dataset, heads: Sequence[Head]) -> tuple[str, ...]:
    """Tasks of a category with numbers, those first that most of the heads pass, then by the sum of their effects."""
    passed = [str(row["tasks"].sel(layer=head.layer, head=head.head).item()).split(",") for head in heads]
    scores = scores.isel(task=np.flatnonzero(scores["category"].values == row["category"].item()))
    scores = scores.isel(task=np.flatnonzero(scores.notnull().any(("layer", "head")).values))
    names = [str(name) for name in scores["task"].values]
    n_passing = {name: sum(name in tasks for tasks in passed) for name in names}
    cells = [scores.sel(layer=head.layer, head=head.head) for head in heads]
    total = dict(zip(names, np.nansum([cell.values for cell in cells], axis=0).tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: (-n_passing[name], -total[name])))
