"""What scores say of single tasks, as plain arrays: reductions go over subsets of tasks, thousands of times."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.scores.testing import p_above, p_below

_GRIDS = ("effect", "low", "high", "specific_effect", "specific_low", "specific_high", "standard_error")


@dataclass(frozen=True)
class TaskTests:
    """Effects on single tasks, with one-sided p of "above `least`" and of "below" it."""

    scores: xr.Dataset
    least: float
    grids: Mapping[str, Float[np.ndarray, "task layer head"]]
    p_above: Float[np.ndarray, "task layer head"]  # of "the effect is at most `least`"
    p_below: Float[np.ndarray, "task layer head"]  # of "the effect is at least `least`"
    doubtful: Bool[np.ndarray, "task layer head"]  # p cannot be trusted
    n_items: Int[np.ndarray, " task"]
    smallest_p: Float[np.ndarray, " task"]  # two-sided
    noise_correlation: Float[np.ndarray, "task task"]

    @classmethod
    def from_scores(cls, scores: xr.Dataset, *, least: float) -> "TaskTests":
        """The tests of all tasks of some scores."""
        scores = scores.transpose(..., "task", "layer", "head")
        return cls(
            scores,
            least,
            {name: scores[name].values for name in _GRIDS if name in scores},
            p_above(scores, least),
            p_below(scores, least),
            scores["doubtful"].values,
            scores["n_items"].values,
            scores["smallest_p"].values,
            scores["noise_correlation"].sel(other_task=scores["task"].values).transpose("task", "other_task").values,
        )

    def rows_of(self, tasks: Mapping[str, list[str]]) -> dict[str, Int[np.ndarray, " task"]]:
        """Category -> places of its tasks."""
        index = self.scores.get_index("task")
        return {category: index.get_indexer(names) for category, names in tasks.items()}


def numbered_tasks(scores: xr.Dataset) -> dict[str, list[str]]:
    """Category -> its tasks with any number."""
    numbered = scores["effect"].notnull().any(("layer", "head"))
    tasks = {}
    for entry in json.loads(scores.attrs["categories"]):
        rows = (scores["category"] == entry["name"]) & numbered
        tasks[entry["name"]] = [str(task) for task in scores["task"].values[rows.values]]
    return tasks


def sources_of(scores: xr.Dataset) -> Int[np.ndarray, " task"]:
    """Number of every task's independent source, from 0; where scores name none, each task is its own."""
    names = scores["independent_source"] if "independent_source" in scores.coords else scores["task"]
    return np.unique(names.values, return_inverse=True)[1]


def source_means(scores: xr.Dataset) -> Float[np.ndarray, "source layer head"]:
    """Mean effect over the tasks of every source among some scores."""
    effects = scores["effect"].transpose("task", "layer", "head").values
    sources = sources_of(scores)
    return np.array([effects[sources == source].mean(axis=0) for source in range(sources.max(initial=-1) + 1)])
