"""The heads of a category that are tested: its most category-specific ones, chosen without the tested task."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.categories.membership import categorize, numbered_tasks
from headcats.errors import DataError, StatisticsWarning, pluralize
from headcats.models.head import Head
from headcats.rules import Rule

TESTED_HEADS = 4


@dataclass(frozen=True)
class Selection:
    """The heads of one category, the most category-specific ones first.

    Attributes:
        members: Heads that the rule calls `in`.
        exclusive: Those of them that are in no other category.
        reason: Why there is no member, as a clause, or "".
        relaxed: The min_tasks that the heads were chosen by, if leaving out a task leaves fewer than `min_tasks`; else
            0.
        unknown: Other categories whose only task is the tested one; `exclusive` cannot account for them.
    """

    members: tuple[Head, ...] = ()
    exclusive: tuple[Head, ...] = ()
    reason: str = ""
    relaxed: int = 0
    unknown: tuple[str, ...] = ()


def select(
    scores: xr.Dataset, *, rule: Rule | None, min_tasks: int | str, without: str | None = None
) -> dict[str, Selection]:
    """The members of every category, the most category-specific first, judged without one task.

    Memberships and effects are those of `hc.categorize` on the scores without the task. A category without members gets
    a reason; neither a rule nor a lack of data makes this fail. If leaving out the task leaves a category fewer tasks
    than `min_tasks`, all of those left are required instead.

    Args:
        scores: What `hc.score` returns, of the query items that heads may be chosen by.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        without: Task to leave out; None leaves out none, and passes on the warnings of `hc.categorize`.

    Returns:
        Category -> selection, for every category of the scores.
    """
    scored = _without(scores, without)
    tasks, all_tasks = (numbered_tasks(table, rule=rule) for table in (scored, scores))
    relaxed = {
        name: len(left) if not isinstance(min_tasks, str) and 0 < len(left) < min_tasks <= len(all_tasks[name]) else 0
        for name, left in tasks.items()
    }
    reasons = {
        name: f"it cannot be tested apart from its own task {without}"
        if all_tasks[name] == [without]
        else _too_few(left, relaxed[name] or min_tasks, without)
        for name, left in tasks.items()
    }
    try:
        with warnings.catch_warnings():
            if without is not None:
                warnings.simplefilter("ignore", StatisticsWarning)
            table = _relaxed_table(scored, [name for name in tasks if not reasons[name]], rule, min_tasks, relaxed)
    except DataError as error:
        return {name: Selection(reason=reasons[name] or str(error).rstrip(".")) for name in tasks}
    grid = ("category", "layer", "head")
    inside = (table["member"].transpose(*grid) == 1).values
    specific = category_specific_effect(scored).transpose(*grid).values
    layers, heads = table["layer"].values, table["head"].values
    selections = {}
    for row, name in enumerate(table["category"].values.tolist()):
        places = sorted(zip(*np.nonzero(inside[row]), strict=True), key=lambda at: (-specific[row][at], at))
        members = [Head(int(layers[layer]), int(heads[head])) for layer, head in places]
        undecided = int(((table["member"].values[row] == 0) & table["effect"].notnull().values[row]).sum())
        selections[name] = Selection(
            tuple(members),
            tuple(head for head, at in zip(members, places, strict=True) if inside[:, *at].sum() == 1),
            "" if places else reasons[name] or f"the rule calls no head of it ({undecided} undecided)",
            relaxed[name],
            tuple(category for category, all_of in all_tasks.items() if category != name and all_of == [without]),
        )
    return selections


def most_specific(ordered: Sequence[Head], n_heads: Mapping[int, int], *, most: int = TESTED_HEADS) -> tuple[Head, ...]:
    """The first `most` heads, at most half of any layer (but one), which leaves as many there to compare with.

    Args:
        ordered: Heads, the most category-specific one first.
        n_heads: Layer -> number of heads.
        most: How many heads at most.
    """
    first: list[Head] = []
    for head in ordered:
        if [member.layer for member in first].count(head.layer) < max(1, n_heads[head.layer] // 2):
            first.append(head)
    return tuple(first[:most])


def category_specific_effect(scores: xr.Dataset) -> xr.DataArray:
    """Mean effect over a category's tasks minus the mean over the other categories of their mean effects.

    Tasks without numbers do not count. With one category there is nothing to subtract.

    Args:
        scores: What `hc.score` returns.

    Returns:
        `(category, layer, head)`, in shares of the gap; -inf where a head has no number in the category.
    """
    effect = scores["effect"].transpose("task", "layer", "head")
    tasks = numbered_tasks(scores)
    index = scores.get_index("task")
    means = np.stack([finite_mean(effect.values[index.get_indexer(names)]) for names in tasks.values()])
    elsewhere = np.stack([finite_mean(np.delete(means, row, axis=0)) for row in range(len(means))])
    specific = means - np.nan_to_num(elsewhere, nan=0.0)
    return xr.DataArray(
        np.where(np.isnan(specific), -np.inf, specific),
        dims=("category", "layer", "head"),
        coords={"category": list(tasks), "layer": scores["layer"].values, "head": scores["head"].values},
    )


def _relaxed_table(
    scores: xr.Dataset, usable: list[str], rule: Rule | None, min_tasks: int | str, relaxed: dict[str, int]
) -> xr.Dataset:
    """`hc.categorize` on the tasks of the usable categories, each with its own number of tasks required."""
    if not usable:
        raise DataError("no category has enough tasks with numbers")
    strict = [name for name in usable if not relaxed[name]]
    if not strict:
        return _table(scores, usable, rule, max(relaxed.values()))
    table = _table(scores, strict, rule, min_tasks)
    for name in usable:
        if relaxed[name]:
            judged_relaxed = _table(scores, usable, rule, relaxed[name])
            for values in ("member", "effect"):
                table[values].loc[{"category": name}] = judged_relaxed[values].sel(category=name)
    return table


def _table(scores: xr.Dataset, categories: list[str], rule: Rule | None, min_tasks: int | str) -> xr.Dataset:
    """`hc.categorize` on the tasks of some categories alone; the others stay in it, empty."""
    by_category = numbered_tasks(scores, rule=rule)
    tasks = {task for name in categories for task in by_category[name]}
    return categorize(
        scores.sel(task=[task for task in scores["task"].values if task in tasks]), rule=rule, min_tasks=min_tasks
    )


def _without(scores: xr.Dataset, task: str | None) -> xr.Dataset:
    # Bootstrap draws and sign flips are not needed here, and would be sorted again for every task.
    extra = [name for name, values in scores.items() if {"resample", "flip"} & set(values.dims)]
    scores = scores.drop_vars(extra)
    return scores.sel(task=[name for name in scores["task"].values if name != task])


def _too_few(tasks: list[str], min_tasks: int | str, without: str | None) -> str:
    left = f"{without} left out" if without is not None else "all tasks"
    if not tasks:
        return f"it has no task with numbers ({left})"
    if not isinstance(min_tasks, str) and len(tasks) < min_tasks:
        return f"it has {pluralize(len(tasks), 'task')} with numbers ({left}) and min_tasks={min_tasks} needs more"
    return ""


def finite_mean(values: Float[np.ndarray, " row *cell"]) -> Float[np.ndarray, "*cell"]:
    """Mean over rows of what is finite; NaN where nothing is (numpy would warn)."""
    finite = ~np.isnan(values)
    return np.where(finite, values, 0.0).sum(axis=0) / np.where(finite.any(axis=0), finite.sum(axis=0), np.nan)
