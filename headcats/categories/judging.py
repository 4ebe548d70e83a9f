"""Categories judged by a rule: their tasks reduced to one number per head, and an outcome for each."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Int, Int8, Shaped

from headcats.base.errors import DataError, StatisticsWarning
from headcats.categories.reduction import Reduction
from headcats.categories.task_tests import TaskTests
from headcats.results.head_axes import head_coords
from headcats.rules.rule import Rule
from headcats.statistics.multiplicity import benjamini_hochberg

ROWS = ("category", "layer", "head")
"""Dims of what is judged."""


@dataclass(frozen=True)
class Judged:
    """Heads of categories, judged by a rule.

    Attributes:
        reductions: One per category.
        table: `effect`, `low`, `high` (shares of the gap), `p_value` and the like `(category, layer, head)`, with
            `q_value`, `smallest_p` and `n_items`.
        outcome: 1, 0 or -1; heads without a number in one of the tasks are not out.
    """

    reductions: list[Reduction]
    table: xr.Dataset
    outcome: Int8[np.ndarray, "category layer head"]


def judge(
    tests: TaskTests, rows: Mapping[str, Int[np.ndarray, " task"]], needed: Mapping[str, int], *, rule: Rule
) -> Judged:
    """Reduce the tasks of every category, and judge its heads by the rule.

    Args:
        tests: Of the effect that the rule tests.
        rows: Category -> places of its tasks.
        needed: Category -> number of them in which a head has to matter.
        rule: The rule.
    """
    scores = tests.scores
    reductions = [Reduction(tests, places, needed[category]) for category, places in rows.items()]
    reduced = [reduction.of_scores() for reduction in reductions]
    grids = {name: np.stack([grids[name] for grids in reduced]) for name in reduced[0]}
    grids["q_value"] = benjamini_hochberg(grids["p_value"])
    table = xr.Dataset(
        {name: (ROWS, values) for name, values in grids.items()}
        | {
            "smallest_p": ("category", [reduction.smallest_p() for reduction in reductions]),
            "n_items": ("category", [tests.n_items[places].min() for places in rows.values()]),
        },
        coords={"category": list(rows), **head_coords(scores)},
        attrs={name: scores.attrs[name] for name in ("method", "effect") if name in scores.attrs},
    )
    outcome = rule(table).values
    incomplete = np.stack([np.isnan(tests.grids["effect"][places]).any(axis=0) for places in rows.values()])
    return Judged(reductions, table, np.where(incomplete & (outcome == -1), 0, outcome).astype(np.int8))


def tasks_needed(tasks: dict[str, list[str]], min_tasks: int | str) -> dict[str, int]:
    """Category -> r, of the categories with enough tasks."""
    counts = {category: len(members) for category, members in tasks.items()}
    needed = {category: half_of(n) if isinstance(min_tasks, str) else min_tasks for category, n in counts.items()}
    enough = {category: r for category, r in needed.items() if 0 < counts[category] >= r}
    if not enough:
        have = ", ".join(f"{category}: {n}" for category, n in counts.items())
        raise DataError(
            f"min_tasks={min_tasks!r} needs at least {min_tasks} tasks with numbers, and no category has as many "
            f"({have}). Lower min_tasks or score more tasks."
        )
    return enough


def half_of(n: int) -> int:
    """Half of a category's tasks, rounded up; both of two."""
    return min(n, max(2, math.ceil(n / 2)))


def joined_names(
    inside: Bool[np.ndarray, "task layer head"], names: Shaped[np.ndarray, " task"]
) -> Shaped[np.ndarray, "layer head"]:
    """The names of the tasks of every head as one text, with a comma between them."""
    texts = np.full(inside.shape[1:], "", dtype=object)
    for heads, name in zip(inside, names, strict=True):
        texts[heads] = [f"{text},{name}".lstrip(",") for text in texts[heads]]
    return texts.astype(str)


def warn_of(problems: dict[str, list[str]], *, above: int = 1) -> None:
    """Warn once per problem that has names; the warning points at the caller's caller, or further `above`."""
    for problem, names in problems.items():
        if names:
            warnings.warn(f"{problem}: {', '.join(names)}.", StatisticsWarning, stacklevel=above + 2)
