"""Categories against each other on shared input words: a difference that vocabulary cannot explain.

Tasks of a category share words that other categories' tasks lack, so a head that responds to kinds of words looks
specific. But a prompt of `country -> capital` whose distractor task is `country -> French name` asks about words of
both tasks, and so does its mirror image: between these two the words are the same and the task differs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from headcats.evidence.controls import middle, p_value
from headcats.evidence.damage import TaskDamage
from headcats.evidence.trials import Trial, Trials


@dataclass(frozen=True)
class _Side:
    damage: float
    controls: Float[np.ndarray, " control"]
    prompts: int
    tasks: tuple[str, ...]


def contrasts(
    designed: Trials, measured: Mapping[str, TaskDamage], *, categories: Sequence[str], category_of: Mapping[str, str]
) -> xr.Dataset:
    """Damage by a category's heads on its own prompts, minus that on another category's, both on shared words.

    Own side: prompts of the category's tasks whose distractor task is of the other category. Other side: prompts of the
    other category's tasks whose distractor task is of this one. Each side is the mean over its tasks of the mean drop
    on these prompts, as a share of the task's mean gap. Controls are the disjoint ones of `specificity`, all from one
    small pool of heads, so p is too small: it is descriptive.

    `interaction` adds the differences of both categories' heads: a fragile task raises one difference and lowers the
    other, so it is 0 where the same heads serve both, and above 0 where each category's heads matter more for their own
    prompts. Attribute `why`: a clause for the case that no pair has any prompt. Variables: docs/schema.md.
    `category_of` knows every task that may be a distractor.
    """
    cells = [_cell(category, rival, designed, measured, category_of) for category in categories for rival in categories]
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
    category: str, other: str, designed: Trials, measured: Mapping[str, TaskDamage], category_of: Mapping[str, str]
) -> dict[str, float | int | str]:
    trials = {task: by_category[category] for task, by_category in designed.items()}
    on_own = _side(trials, category, other, measured, category_of)
    on_other = _side(trials, other, category, measured, category_of)
    difference = on_own.damage - on_other.damage
    n = 0 if np.isnan(difference) else min(len(on_own.controls), len(on_other.controls))
    controls = on_own.controls[:n] - on_other.controls[:n]
    low, high = middle(controls)
    return {
        "difference": difference,
        "own": on_own.damage,
        "elsewhere": on_other.damage,
        "control_mean": controls.mean() if n else np.nan,
        "control_low": low,
        "control_high": high,
        "p": p_value(difference, controls),
        "n_controls": n,
        "own_prompts": on_own.prompts,
        "other_prompts": on_other.prompts,
        "own_tasks": ",".join(on_own.tasks),
        "other_tasks": ",".join(on_other.tasks),
        "note": _note(category, other, on_own, on_other),
    }


def _side(
    trials: Mapping[str, Trial],
    category: str,
    distractor: str,
    measured: Mapping[str, TaskDamage],
    category_of: Mapping[str, str],
) -> _Side:
    """Damage by the trials' heads on prompts of tasks of `category` whose distractor task is of `distractor`."""
    damages, controls, tasks, prompts = [], [], [], 0
    for task, damage in measured.items():
        is_shared: Bool[np.ndarray, " prompt"] = np.array(
            [category_of.get(name) == distractor for name in damage.distractor_tasks], dtype=bool
        )
        if damage.category != category or category == distractor or not is_shared.any():
            continue
        tasks.append(task)
        prompts += int(is_shared.sum())
        if trials[task].heads:
            damages.append(damage.shares([trials[task].heads], prompts=is_shared)[0])
            controls.append(damage.shares(trials[task].controls.sets, prompts=is_shared))
    n = min((len(values) for values in controls), default=0)
    mean = np.mean([values[:n] for values in controls], axis=0) if n else np.empty(0)
    return _Side(float(np.mean(damages)) if damages else float("nan"), mean, prompts, tuple(tasks))


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
