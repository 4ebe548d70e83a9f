"""Categories against each other on shared input words: a difference that vocabulary cannot explain.

Prompts of `country -> capital` whose distractor task is `country -> French name` ask about words of both tasks, and so
do their mirror images: between the two the words are the same and the task differs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.evidence.damage import TaskDamage
from headcats.sweeps.tree import HeadSet


@dataclass(frozen=True)
class _Side:
    damage: float
    prompts: int
    tasks: tuple[str, ...]


def contrasts(
    heads: Mapping[str, Mapping[str, HeadSet]],
    measured: Mapping[str, TaskDamage],
    *,
    categories: Sequence[str],
    category_of: Mapping[str, str],
) -> xr.Dataset:
    """Damage by a category's heads on its own prompts, minus that on another category's, both on shared words.

    Own side: prompts of the category's tasks whose distractor task is of the other category; other side: the mirror
    image. Each is the mean over tasks of the mean drop, as a share of the task's mean gap. Descriptive. `interaction`
    adds the differences of both categories' heads: 0 where the same heads serve both, whatever task is fragile.
    Attribute `why`: a clause for the case that no pair has any prompt. Variables: docs/schema.md.
    """
    cells = [_cell(category, rival, heads, measured, category_of) for category in categories for rival in categories]
    grids = {
        name: np.array([cell[name] for cell in cells]).reshape(len(categories), len(categories)) for name in cells[0]
    }
    grids["interaction"] = grids["difference"] + grids["difference"].T
    return xr.Dataset(
        {name: (("category", "other"), values) for name, values in grids.items()},
        coords={"category": list(categories), "other": list(categories)},
        attrs={"why": _why_no_prompts(categories, measured)},
    )


def _why_no_prompts(categories: Sequence[str], measured: Mapping[str, TaskDamage]) -> str:
    tested = [name for name in categories if any(damage.category == name for damage in measured.values())]
    if len(tested) < 2:
        return f"all tested tasks are of {' and '.join(tested)}"
    if {name for damage in measured.values() for name in damage.distractor_tasks} == {"shuffled_labels"}:
        return "the labels of corrupted prompts are shuffled, so these show no other task"
    return "no corrupted prompt of a tested category shows a task of another one that was tested"


def _cell(
    category: str,
    other: str,
    heads: Mapping[str, Mapping[str, HeadSet]],
    measured: Mapping[str, TaskDamage],
    category_of: Mapping[str, str],
) -> dict[str, float | int | str]:
    sets = {task: by_category[category] for task, by_category in heads.items()}
    on_own = _side(sets, category, other, measured, category_of)
    on_other = _side(sets, other, category, measured, category_of)
    return {
        "difference": on_own.damage - on_other.damage,
        "own": on_own.damage,
        "elsewhere": on_other.damage,
        "own_prompts": on_own.prompts,
        "other_prompts": on_other.prompts,
        "own_tasks": ",".join(on_own.tasks),
        "other_tasks": ",".join(on_other.tasks),
        "note": _note(category, other, on_own, on_other),
    }


def _side(
    sets: Mapping[str, HeadSet],
    category: str,
    distractor: str,
    measured: Mapping[str, TaskDamage],
    category_of: Mapping[str, str],
) -> _Side:
    """Damage by some heads on prompts of tasks of `category` whose distractor task is of `distractor`."""
    damages, tasks, prompts = [], [], 0
    for task, damage in measured.items():
        is_shared: Bool[np.ndarray, " prompt"] = np.array(
            [category_of.get(name) == distractor for name in damage.distractor_tasks], dtype=bool
        )
        if damage.category != category or category == distractor or not is_shared.any():
            continue
        tasks.append(task)
        prompts += int(is_shared.sum())
        if sets[task]:
            damages.append(damage.shares([sets[task]], prompts=is_shared)[0])
    return _Side(float(np.mean(damages)) if damages else float("nan"), prompts, tuple(tasks))


def _note(category: str, other: str, on_own: _Side, on_other: _Side) -> str:
    if category == other:
        return ""
    missing = [
        f"no held-out prompt of {target} shows a task of {distractor} on the same words"
        for target, distractor, side in ((category, other, on_own), (other, category, on_other))
        if not side.prompts
    ]
    if missing:
        return " and ".join(missing)
    if np.isnan(on_own.damage) or np.isnan(on_other.damage):
        return f"{category} has no heads to test on these tasks"
    return ""
