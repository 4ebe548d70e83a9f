"""The heads of every category that are tested on every task, chosen without it, and what they are compared with."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.categories.membership import categorize
from headcats.categories.numbered_tasks import numbered_tasks
from headcats.errors import DataError, StatisticsWarning, pluralize
from headcats.evidence.controls import Controls, coupled_controls, relabellings
from headcats.models.head import Head
from headcats.rules.rule import Rule
from headcats.sweeps.tree import HeadSet

_TESTED_HEADS = 4


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
    """The members of every category by `hc.categorize` on the scores without one task, the most specific first.

    A category without members gets a reason; neither a rule nor a lack of data makes this fail. If leaving out the task
    leaves a category fewer tasks than `min_tasks`, all of those left are required instead. Without a task to leave out,
    the warnings of `hc.categorize` are passed on.
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


def most_specific(ordered: Sequence[Head], n_heads: Mapping[int, int]) -> tuple[Head, ...]:
    """The first 4 heads, at most half of any layer (but one), which leaves as many there to compare with."""
    first: list[Head] = []
    for head in ordered:
        if [member.layer for member in first].count(head.layer) < max(1, n_heads[head.layer] // 2):
            first.append(head)
    return tuple(first[:_TESTED_HEADS])


def category_specific_effect(scores: xr.Dataset) -> xr.DataArray:
    """Mean effect over a category's tasks minus the mean over the other categories of their mean effects.

    Tasks without numbers do not count. With one category there is nothing to subtract.
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
    # Bootstrap and null draws are not needed here, and would be sorted again for every task.
    extra = [name for name, values in scores.items() if {"resample", "draw"} & set(values.dims)]
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


@dataclass(frozen=True)
class Trial:
    """The heads of a category that are tested on one task, and what they are compared with.

    Attributes:
        heads: The tested heads, the most category-specific one first; chosen without the task.
        controls: Random sets without the tested heads.
        relabelled: Images of the heads by permutations within layers; the k-th of every trial of a row (a category's
            heads on all tasks) is by the same permutation.
        reason: Why there are no heads, as a clause, or "".
        shared: How many of the heads are in other categories too.
    """

    heads: HeadSet
    controls: Controls
    reason: str = ""
    shared: int = 0
    relabelled: tuple[HeadSet, ...] = ()


Trials = Mapping[str, Mapping[str, Trial]]
"""Task -> category of the heads -> trial."""


def trials(
    selections: Mapping[str, Mapping[str, Selection]],
    n_heads: Mapping[int, int],
    *,
    n: int,
    seed: int,
    exclusive: bool = False,
) -> Trials:
    """The tested heads, and up to `n` controls and relabellings, of every category on every task.

    `exclusive` tests only heads that are in no other category. Task -> category in `selections`, without the task.
    """
    designed: dict[str, dict[str, Trial]] = {task: {} for task in selections}
    for category in dict.fromkeys(name for by_category in selections.values() for name in by_category):
        row = {task: _trial(selection[category], n_heads, exclusive) for task, selection in selections.items()}
        sets = [trial.heads for trial in row.values()]
        controls = coupled_controls(sets, n_heads, n=n, seed=seed)
        images = relabellings(sets, n_heads, n=n, seed=seed)
        for task, trial in row.items():
            if key := tuple(sorted(trial.heads)):
                trial = replace(trial, controls=controls[key], relabelled=images[key])
            designed[task][category] = trial
    return designed


def sets_of(designed: Trials, task: str) -> set[HeadSet]:
    """Every set of heads that the trials of a task need."""
    trials_of_task = designed[task].values()
    sets = (tuple(sorted(trial.heads)) for trial in trials_of_task)
    return set().union(sets, *((*trial.controls.sets, *trial.relabelled) for trial in trials_of_task)) - {()}


def _trial(selection: Selection, n_heads: Mapping[int, int], exclusive: bool) -> Trial:
    """The heads alone, before controls are drawn."""
    heads = most_specific(selection.exclusive if exclusive else selection.members, n_heads)
    reason = selection.reason
    if exclusive and selection.members and selection.unknown:
        heads, reason = (), f"heads of {' and '.join(selection.unknown)} are unknown without the tested task"
    elif exclusive and not heads and selection.members:
        reason = "each of its heads is in another category too"
    shared = sum(head not in selection.exclusive for head in heads)
    return Trial(heads, Controls(), reason, shared)
