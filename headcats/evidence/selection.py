"""Which heads of a category are put to the test: its most category-specific ones, chosen without the tested task."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.categories import categorize, numbered_tasks
from headcats.errors import DataError, StatisticsWarning
from headcats.formatting import pluralize
from headcats.models import Head
from headcats.rules import Rule

TESTED_HEADS = 4


@dataclass(frozen=True)
class Selection:
    """The heads of one category, the most category-specific ones first.

    Attributes:
        members: Heads that the rule calls `in`.
        exclusive: Those of them that are in no other category.
        why: Why there is no member, as a clause, or "".
        relaxed: The min_tasks that the heads were chosen by, where leaving out a task leaves fewer tasks than
            `min_tasks` asks for; else 0.
        unknown: Other categories that lose their only task with the tested one: whether they share these heads is not
            known, so `exclusive` says nothing of them.
    """

    members: tuple[Head, ...] = ()
    exclusive: tuple[Head, ...] = ()
    why: str = ""
    relaxed: int = 0
    unknown: tuple[str, ...] = ()


def select(
    scores: xr.Dataset, *, rule: Rule | None, min_tasks: int | str, without: str | None = None
) -> dict[str, Selection]:
    """The members of every category in the order of their category-specific effect, nothing known of one task.

    Memberships and effects are those of `hc.categorize` on the scores without the task. A category that has no member
    then says why; no rule and no lack of data makes this fail. Where a category has just as many tasks as `min_tasks`
    asks for, none could be left out: all of those left are then asked for instead.

    Args:
        scores: What `hc.score` returns, of the query items that heads may be chosen by.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        without: Task to leave out; None leaves out none, and passes on what `hc.categorize` warns of.

    Returns:
        Category -> selection, for every category of the scores.
    """
    kept = _without(scores, without)
    tasks, all_tasks = (numbered_tasks(given, rule=rule) for given in (kept, scores))
    relaxed = {
        name: len(own) if not isinstance(min_tasks, str) and 0 < len(own) < min_tasks <= len(all_tasks[name]) else 0
        for name, own in tasks.items()
    }
    short = {
        name: f"it cannot be tested apart from its own task {without}"
        if all_tasks[name] == [without]
        else _too_few(own, relaxed[name] or min_tasks, without)
        for name, own in tasks.items()
    }
    usable = [name for name in tasks if not short[name]]
    strict = [name for name in usable if not relaxed[name]]
    try:
        if not usable:
            raise DataError("no category has enough tasks with numbers")
        with warnings.catch_warnings():
            if without is not None:
                warnings.simplefilter("ignore", StatisticsWarning)
            table = _table(kept, strict or usable, rule, min_tasks if strict else max(relaxed.values()))
            for name in usable:
                if strict and relaxed[name]:
                    own = _table(kept, usable, rule, relaxed[name])
                    for values in ("member", "effect"):
                        table[values].loc[{"category": name}] = own[values].sel(category=name)
    except DataError as error:
        return {name: Selection(why=short[name] or str(error).rstrip(".")) for name in tasks}
    grid = ("category", "layer", "head")
    inside = (table["member"].transpose(*grid) == 1).values
    specific = category_specific_effect(kept).transpose(*grid).values
    layers, heads = table["layer"].values, table["head"].values
    found = {}
    for row, name in enumerate(table["category"].values.tolist()):
        places = sorted(zip(*np.nonzero(inside[row]), strict=True), key=lambda at: (-specific[row][at], at))
        alone = [at for at in places if inside[:, *at].sum() == 1]
        undecided = int(((table["member"].values[row] == 0) & table["effect"].notnull().values[row]).sum())
        found[name] = Selection(
            _named(places, layers, heads),
            _named(alone, layers, heads),
            "" if places else short[name] or f"the rule calls no head of it ({undecided} undecided)",
            relaxed[name],
            tuple(other for other, own in all_tasks.items() if other != name and own == [without]),
        )
    return found


def most_specific(ordered: Sequence[Head], n_heads: Mapping[int, int], *, most: int = TESTED_HEADS) -> tuple[Head, ...]:
    """The first `most` heads, at most half of any layer, so that as many others are left there to compare with.

    A layer with a single head may give it.

    Args:
        ordered: Heads, the most category-specific one first.
        n_heads: Layer -> number of heads.
        most: How many heads at most.
    """
    chosen: list[Head] = []
    for head in ordered:
        if sum(one.layer == head.layer for one in chosen) < max(1, n_heads[head.layer] // 2):
            chosen.append(head)
    return tuple(chosen[:most])


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
    means = np.stack([_mean(effect.values[index.get_indexer(own)]) for own in tasks.values()])
    result = []
    for row in range(len(means)):
        others = _mean(np.delete(means, row, axis=0))
        result.append(means[row] - np.nan_to_num(others, nan=0.0))
    return xr.DataArray(
        np.where(np.isnan(result), -np.inf, result),
        dims=("category", "layer", "head"),
        coords={"category": list(tasks), "layer": scores["layer"].values, "head": scores["head"].values},
    )


def _table(scores: xr.Dataset, categories: list[str], rule: Rule | None, min_tasks: int | str) -> xr.Dataset:
    """`hc.categorize` on the tasks of some categories alone; the others stay in it, empty."""
    tasks = {task for name, own in numbered_tasks(scores, rule=rule).items() if name in categories for task in own}
    return categorize(
        scores.sel(task=[task for task in scores["task"].values if task in tasks]), rule=rule, min_tasks=min_tasks
    )


def _without(scores: xr.Dataset, task: str | None) -> xr.Dataset:
    # Bootstrap draws and sign flips of every head serve other questions, and would be sorted again for every task.
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


def _named(places: list[Any], layers: np.ndarray, heads: np.ndarray) -> tuple[Head, ...]:
    return tuple(Head(int(layers[layer]), int(heads[head])) for layer, head in places)


def _mean(values: Float[np.ndarray, "row layer head"]) -> Float[np.ndarray, "layer head"]:
    """Mean over rows of what is known; NaN where nothing is (numpy would warn)."""
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
