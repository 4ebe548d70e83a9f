"""What a head does on a task that was not run: the tasks of a category as draws of those it stands for."""

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from headcats.categories.task_tests import numbered_tasks
from headcats.results.head_axes import head_coords
from headcats.scores.table import without_draws
from headcats.statistics.distributions import t_quantile

NEW_TASK = ("mean_effect", "new_task_low", "new_task_high", "these_tasks_low", "these_tasks_high", "task_sd")
"""Variables that `new_task_effects` returns, the same for helping and suppressing heads."""
_TASK = ("task", "layer", "head")


def new_task_effects(scores: xr.Dataset) -> xr.Dataset:
    """Mean effect of every head over a category's tasks, its effect on one more, and the mean on these tasks alone.

    Both intervals are around the mean `m` of n task effects. **New task** (tasks are random), a prediction interval for
    the effect that would be measured on one more task: `m +- t(n - 1) s sqrt(1 + 1 / n)`, s the standard deviation of
    the task effects, which contains the noise of items. **These tasks** (tasks are fixed), where their mean effect
    lies: `m +- t sqrt(sum of squared standard errors) / n`, errors taken as independent, with Satterthwaite's degrees
    of freedom. `task_sd`, the spread of true effects between tasks: `sqrt(s^2 - mean squared standard error)`, 0 if
    negative. Assumed: tasks are exchangeable draws of the category's, their effects roughly normal; tasks about the
    same words are not, and make the interval too narrow. Over tasks with numbers: `NEW_TASK (category, layer, head)`.

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
    mean, spread, fixed, between = (np.full(effect.shape[1:], np.nan) for _ in range(4))
    if n:
        mean, fixed = effect.mean(axis=0), _reach_of_fixed(squared, scores["n_items"].values)
    if n > 1:
        variance = effect.var(axis=0, ddof=1)
        spread = t_quantile(0.025, n - 1) * np.sqrt(variance * (1 + 1 / n))
        between = np.sqrt(np.maximum(variance - squared.mean(axis=0), 0))
    values = (mean, mean - spread, mean + spread, mean - fixed, mean + fixed, between)
    return dict(zip(NEW_TASK, values, strict=True))


def _reach_of_fixed(
    squared: Float[np.ndarray, "task layer head"], n_items: Int[np.ndarray, " task"]
) -> Float[np.ndarray, "layer head"]:
    """Half-width of the interval for fixed tasks, from squared standard errors."""
    total, freedom = squared.sum(axis=0), np.maximum(n_items - 1, 1)[:, None, None]
    within = (squared**2 / freedom).sum(axis=0)
    freedom = np.divide(total**2, within, out=np.full_like(total, np.nan), where=within > 0)
    return np.where(total == 0, 0.0, t_quantile(0.025, freedom) * np.sqrt(total) / len(squared))
