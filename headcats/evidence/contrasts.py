"""Categories against each other on the same input words, where both are shown: what vocabulary cannot explain.

The tasks of a category share words that other categories' tasks do not have, so a head that answers to kinds of words
looks specific. But a prompt of `country -> capital` whose corrupted version shows `country -> French name` asks about
words that both tasks know; so does its mirror image. Between these the words are the same and the task is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from headcats.evidence.damage import TaskDamage
from headcats.evidence.specificity import p_value
from headcats.evidence.trials import Trials


@dataclass(frozen=True)
class _Side:
    """Damage by one category's heads on one side of a pair."""

    damage: float
    controls: Float[np.ndarray, " control"]
    prompts: int
    tasks: tuple[str, ...]


def contrasts(
    designed: Trials,
    measured: Mapping[str, TaskDamage],
    *,
    categories: Sequence[str],
    category_of: Mapping[str, str],
) -> xr.Dataset:
    """Damage by a category's heads on its own prompts, minus that on another category's, both on shared words.

    Own side: prompts of the category's tasks whose corrupted version shows a task of the other category. Other side:
    prompts of the other category's tasks whose corrupted version shows a task of this one. Each side is the mean over
    its tasks of the mean drop on these prompts, as a share of the task's mean gap. Controls are the disjoint ones of
    `specificity`, all from one small pool of heads, so p is too small: it describes and decides nothing.

    Args:
        designed: See `headcats.evidence.trials.trials`.
        measured: Task -> damages.
        categories: Categories in the order of the result.
        category_of: Task -> category, for every task that a corrupted prompt may show.

    Returns:
        `(category, other)`: `difference, own, elsewhere` (shares of the gap), `control_mean, control_low,
        control_high` of the difference, `p`, `n_controls`, `own_prompts, other_prompts`, `own_tasks, other_tasks`
        (names, comma-separated), and `note`: why a pair has no number, or "". `interaction` adds the differences of
        both categories' heads: fragile tasks make one difference large and the other as small, so it is 0 where the
        same heads serve both, and above 0 where each category's heads matter more for their own prompts. Attribute
        `why`: what the corrupted prompts show, as a clause, for where no pair has any prompt.
    """
    grids: dict[str, list[list[object]]] = {}
    for category in categories:
        for other in categories:
            for name, value in _pair(category, other, designed, measured, category_of).items():
                rows = grids.setdefault(name, [])
                if other == categories[0]:
                    rows.append([])
                rows[-1].append(value)
    tested = [name for name in categories if any(found.category == name for found in measured.values())]
    shown = {name for found in measured.values() for name in found.distractor_tasks}
    if len(tested) < 2:
        why = f"all tested tasks are of {' and '.join(tested)}"
    elif shown == {"shuffled_labels"}:
        why = "the labels of corrupted prompts are shuffled, so these show no other task"
    else:
        why = "no corrupted prompt of a tested category shows a task of another one that was tested"
    differences = np.array(grids["difference"], dtype=float).reshape(len(categories), len(categories))
    return xr.Dataset(
        {name: (("category", "other"), np.array(values)) for name, values in grids.items()}
        | {"interaction": (("category", "other"), differences + differences.T)},
        coords={"category": list(categories), "other": list(categories)},
        attrs={"why": why},
    )


def _pair(
    category: str,
    other: str,
    designed: Trials,
    measured: Mapping[str, TaskDamage],
    category_of: Mapping[str, str],
) -> dict[str, object]:
    own = _side(category, category, other, designed, measured, category_of)
    theirs = _side(category, other, category, designed, measured, category_of)
    n = min(len(own.controls), len(theirs.controls))
    controls = own.controls[:n] - theirs.controls[:n]
    difference = own.damage - theirs.damage
    known = not np.isnan(difference) and category != other
    low, high = np.quantile(controls, [0.025, 0.975]) if known and n else (np.nan, np.nan)
    return {
        "difference": difference if known else np.nan,
        "own": own.damage if category != other else np.nan,
        "elsewhere": theirs.damage if category != other else np.nan,
        "control_mean": controls.mean() if known and n else np.nan,
        "control_low": low,
        "control_high": high,
        "p": p_value(difference, controls) if known else np.nan,
        "n_controls": n if known else 0,
        "own_prompts": own.prompts,
        "other_prompts": theirs.prompts,
        "own_tasks": ",".join(own.tasks),
        "other_tasks": ",".join(theirs.tasks),
        "note": _note(category, other, own, theirs),
    }


def _side(
    heads_of: str,
    of: str,
    shown: str,
    designed: Trials,
    measured: Mapping[str, TaskDamage],
    category_of: Mapping[str, str],
) -> _Side:
    """What the heads of `heads_of` do on prompts of the tasks of `of` that are corrupted to tasks of `shown`."""
    damage, controls, tasks, prompts = [], [], [], 0
    for task, found in measured.items():
        chosen: Bool[np.ndarray, " prompt"] = np.array(
            [category_of.get(name) == shown for name in found.distractor_tasks], dtype=bool
        )
        if found.category != of or of == shown or not chosen.any():
            continue
        tasks.append(task)
        prompts += int(chosen.sum())
        trial = designed[task][heads_of]
        if trial.heads:
            damage.append(found.of([trial.heads], prompts=chosen)[0])
            controls.append(found.of(trial.controls.sets, prompts=chosen))
    n = min((len(values) for values in controls), default=0)
    mean = np.mean([values[:n] for values in controls], axis=0) if n else np.empty(0)
    return _Side(float(np.mean(damage)) if damage else float("nan"), mean, prompts, tuple(tasks))


def _note(category: str, other: str, own: _Side, theirs: _Side) -> str:
    if category == other:
        return ""
    lacking = [
        f"no held-out prompt of {of} shows a task of {shown} on the same words"
        for of, shown, side in ((category, other, own), (other, category, theirs))
        if not side.prompts
    ]
    if lacking:
        return " and ".join(lacking)
    if np.isnan(own.damage) or np.isnan(theirs.damage):
        return f"{category} has no heads to test on these tasks"
    return ""
