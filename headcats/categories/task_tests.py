"""What scores say of single tasks, as plain arrays: reductions go over subsets of tasks, thousands of times."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.results.head_axes import head_coords
from headcats.scores.table import without_draws
from headcats.scores.testing import p_above, p_below
from headcats.statistics.distributions import t_quantile

_GRIDS = ("effect", "low", "high", "specific_effect", "specific_low", "specific_high", "standard_error")
NEW_TASK = ("mean_effect", "new_task_low", "new_task_high", "these_tasks_low", "these_tasks_high", "task_sd")
"""Variables that `new_task_effects` returns, the same for helping and suppressing heads."""
LEAST_SOURCES = 3
"""Independent sources that an interval for a new task needs."""
_TASK = ("task", "layer", "head")


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


def new_task_effects(scores: xr.Dataset) -> xr.Dataset:
    """Mean effect of every head over a category's tasks, the mean on these alone, and the effect on one more task.

    **These tasks** (tasks are fixed): `mean_effect +- t sqrt(sum of squared standard errors) / n`, errors taken as
    independent. **New task** of a source that was not run (sources are random draws of the category's, and tasks of
    their sources): a prediction interval for its measured effect, `m +- t sqrt(v + s^2 / n)`, m the mean of the n
    sources' mean effects, s their standard deviation, and `v = s^2 + w (1 - mean(1 / tasks of a source))` the variance
    of one task, w that within sources; both contain the noise of items. `task_sd`, the spread of true effects:
    `sqrt(v - mean squared standard error)`, 0 if negative. Degrees of freedom are Satterthwaite's. NaN for the interval
    and spread of fewer than 3 sources (`independent_source`, else tasks). Assumed: effects are roughly normal; where a
    few tasks need the head and most do not, the interval holds fewer of them than it says. Over tasks with numbers:
    `NEW_TASK (category, layer, head)`.

    References:
        Clark (1973), J. Verbal Learn. Verbal Behav. 12, 335-359 (items as random); Satterthwaite (1946), Biometrics
        Bulletin 2, 110-114.
    """
    tasks, scores = numbered_tasks(scores), without_draws(scores)
    by_category = [_over_tasks(scores.sel(task=names).transpose(..., *_TASK)) for names in tasks.values()]
    return xr.Dataset(
        {name: (("category", *_TASK[1:]), np.stack([grids[name] for grids in by_category])) for name in NEW_TASK},
        coords={"category": list(tasks), **head_coords(scores)},
    )


def _over_tasks(scores: xr.Dataset) -> dict[str, Float[np.ndarray, "layer head"]]:
    """The variables of `new_task_effects` for the tasks of one category."""
    effect, n = scores["effect"].values, scores.sizes["task"]
    # Scores made by hand may have no errors.
    squared = scores.get("standard_error", scores["effect"] * np.nan).values ** 2
    mean, fixed, centre, spread, between = (np.full(effect.shape[1:], np.nan) for _ in range(5))
    if n:
        mean = effect.mean(axis=0)
        fixed = _reach(squared / n**2, np.maximum(scores["n_items"].values - 1, 1))
    means = source_means(scores)
    if len(means) >= LEAST_SOURCES:
        sources = sources_of(scores)
        centre, parts = means.mean(axis=0), [means.var(axis=0, ddof=1)]
        freedom, shares = [len(means) - 1], [1.0]
        if n > len(means):
            parts.append(((effect - means[sources]) ** 2).sum(axis=0) / (n - len(means)))
            freedom.append(n - len(means))
            shares.append(1 - (1 / np.bincount(sources)).mean())
        between = np.sqrt(np.maximum(np.tensordot(shares, parts, 1) - squared.mean(axis=0), 0))
        shares[0] += 1 / len(means)
        spread = _reach([share * part for share, part in zip(shares, parts, strict=True)], freedom)
    values = (mean, centre - spread, centre + spread, mean - fixed, mean + fixed, between)
    return dict(zip(NEW_TASK, values, strict=True))


def _reach(
    variances: Sequence[Float[np.ndarray, "layer head"]] | Float[np.ndarray, "part layer head"],
    freedoms: Sequence[int] | Int[np.ndarray, " part"],
) -> Float[np.ndarray, "layer head"]:
    """Half-width of a 95 % interval, from the independent parts of its variance, by Satterthwaite."""
    parts = np.asarray(variances)
    total, within = parts.sum(axis=0), (parts**2 / np.asarray(freedoms)[:, None, None]).sum(axis=0)
    freedom = np.divide(total**2, within, out=np.full_like(total, np.nan), where=within > 0)
    return np.where(total == 0, 0.0, t_quantile(0.025, freedom) * np.sqrt(total))
