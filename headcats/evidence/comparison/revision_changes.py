"""Which heads come into a category and leave it from one revision to the next, and whether their effects differ."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.scores.blocks import prompt_effects
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.paired_differences import paired_differences
from headcats.statistics.task import Estimate, estimate

_DIMS = ("revision", "category", "layer", "head")
_TESTED = ("difference", "difference_low", "difference_high", "difference_p", "difference_q")

Pair = tuple[str, str, str]
"""Category, revision, and the one before it."""


def with_changes(
    table: xr.Dataset, runs: Mapping[str, RunResults], *, label: Label, metric: str, alpha: float, seed: int
) -> xr.Dataset:
    """The table of `over_revisions` with its variables on changes; the runs are those of its revisions."""
    shape = tuple(table.sizes[dim] for dim in _DIMS)
    change, tested = np.zeros(shape, dtype=np.int8), {name: np.full(shape, np.nan) for name in _TESTED}
    before = np.full(shape[:2], "", dtype=object)
    counts = {name: np.zeros(shape[:2], dtype=np.int64) for name in ("n_compared", "n_other_prompts")}
    estimates: dict[tuple[str, str], Estimate] = {}

    def estimated(task: str, revision: str) -> Estimate:
        if (task, revision) not in estimates:
            prompts, _ = prompt_effects(_block(runs[revision], task, label), task=task, metric=metric)
            estimates[task, revision] = estimate(prompts, task=task, seed=seed)
        return estimates[task, revision]

    pairs: dict[str, list[tuple[Estimate, Estimate]]] = {}
    places: dict[str, tuple[int, int]] = {}
    for category, revision, previous in _pairs(table):
        place = table.get_index("revision").get_loc(revision), table.get_index("category").get_loc(category)
        member = [table["member"].sel(revision=name, category=category).values == 1 for name in (previous, revision)]
        change[place] = member[1].astype(int) - member[0]
        before[place] = previous
        both = _tasks_of_both(table, category, revision, previous)
        same = [task for task in both if _same_prompts(task, runs[previous], runs[revision], label)]
        counts["n_compared"][place], counts["n_other_prompts"][place] = len(same), len(both) - len(same)
        if same:
            name = f"{category} {revision}"
            places[name] = place
            pairs[name] = [(estimated(task, previous), estimated(task, revision)) for task in same]
    grid = shape[2:]
    doubts = np.zeros(shape, dtype=bool)
    for name, of_pair in (paired_differences(pairs, seed=seed) if pairs else {}).items():
        for variable, values in zip(_TESTED, of_pair, strict=False):
            tested[variable][places[name]] = values.reshape(grid)
        doubts[places[name]] = of_pair.doubtful.reshape(grid)
    tested["difference_q"] = np.where(doubts, np.nan, benjamini_hochberg(tested["difference_p"]))
    found = (tested["difference_q"] <= alpha) & (np.sign(tested["difference"]) == change) & (change != 0)
    return table.assign(
        {name: (_DIMS, values) for name, values in (tested | {"change": change, "change_found": found}).items()}
        | {name: (_DIMS[:2], values) for name, values in (counts | {"before": before.astype(str)}).items()}
    )


def _pairs(table: xr.Dataset) -> Iterator[Pair]:
    """Pairs of each judged revision of a category and the last judged one before it."""
    judged = table["effect"].notnull().any(("layer", "head"))
    for category in table["category"].values.tolist():
        names = table["revision"].values[judged.sel(category=category).values].tolist()
        for previous, revision in itertools.pairwise(names):
            yield category, revision, previous


def _tasks_of_both(table: xr.Dataset, category: str, *revisions: str) -> list[str]:
    """Tasks of a category with numbers at all of these revisions."""
    of_category = table["task"].values[(table["task_category"] == category).values]
    effects = table["task_effect"].sel(task=of_category, revision=list(revisions))
    has_numbers = effects.notnull().any(("layer", "head")).all("revision")
    return [str(task) for task in of_category[has_numbers.values]]


def _same_prompts(task: str, first: RunResults, second: RunResults, label: Label) -> bool:
    hashes = [run.manifest.tasks[task].prompt_hash for run in (first, second)]
    # A method may have left some of them out.
    keys = [_block(run, task, label)["key"].values.tolist() for run in (first, second)]
    return hashes[0] is not None and hashes[0] == hashes[1] and keys[0] == keys[1]


def _block(run: RunResults, task: str, label: Label) -> xr.Dataset:
    return run.block(task, str(label))
