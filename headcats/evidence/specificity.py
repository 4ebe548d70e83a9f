"""Do a category's heads matter more for its own tasks than for others, and more so than random heads do?

Two comparisons answer different questions.

- **Relabellings** permute the heads within every layer, for the tested sets of all tasks alike. If heads of a layer are
  exchangeable, the exact p is <= .05 for at most 5 % of categories.
- **Disjoint controls** are random sets of the same layers without the tested heads. All come from one small pool, so
  their spread is too narrow and their p too small (see `verdicts`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.controls import TIE, middle, p_value
from headcats.evidence.damage import RESAMPLES, TaskDamage
from headcats.evidence.trials import Trial, Trials


def specificity(
    designed: Trials, measured: Mapping[str, TaskDamage], *, categories: Sequence[str], seed: int
) -> xr.Dataset:
    """Damage by category of heads and category of tasks, beside that of random sets.

    A cell is the mean over its tasks of the damage by the heads that were chosen without the task, `(clean - ablated
    log-probability) / gap`. Specificity of a category = its own cell minus the mean of the other cells of its row. The
    k-th control (relabelling) of a row consists of the k-th control set (image) of every tested set, so a row has as
    many as its set with the fewest. Every p is one-sided, `(1 + those that reach the observed value) / (1 + all)`:
    `exact` among relabellings, else among disjoint controls.

    Each interval is the 95 % bootstrap of held-out query items within tasks, the tasks fixed (each task is resampled
    alone, so it leaves out what an item does in several tasks); `control_low` to `control_high` are the middle 95 % of
    the controls. `advantage` compares the same tasks, those on which both categories have heads. Variables:
    docs/schema.md, "Evidence nodes".
    """
    tasks = [task for task in designed if task in measured]
    grid = {
        category: [_cell(_tested_on(designed, measured, category, target), measured, seed) for target in categories]
        for category in categories
    }
    rows = []
    for place, category in enumerate(categories):
        row = _row({task: designed[task][category] for task in tasks}, measured, grid[category], place, categories)
        column = {name: _tested_on(designed, measured, name, category) for name in categories}
        rows.append(row.assign(_advantage(column, measured, category, seed)))
    table = xr.concat(rows, dim="category", join="outer", combine_attrs="drop").assign_coords(category=list(categories))
    damages = [measured[task] for task in tasks]
    table = table.assign_coords(task_category=("task", np.array([damage.category for damage in damages], dtype=str)))
    return table.assign(
        gap=("task", np.array([damage.gap.mean() for damage in damages])),
        n_prompts=("task", np.array([len(damage.gap) for damage in damages])),
        n_items=("task", np.array([len(set(damage.items)) for damage in damages])),
    )


@dataclass(frozen=True)
class _Cell:
    damage: float
    resampled: Float[np.ndarray, " draw"]
    controls: Float[np.ndarray, " control"]
    relabelled: Float[np.ndarray, " relabelling"]
    n_tasks: int


_ALONE = "there is no other category to compare with"
_EMPTY = _Cell(float("nan"), np.full(RESAMPLES, np.nan), np.empty(0), np.empty(0), 0)


def _tested_on(designed: Trials, measured: Mapping[str, TaskDamage], category: str, target: str) -> dict[str, Trial]:
    """Task -> trial of a category's heads, for the tasks of another (or the same) category."""
    return {
        task: trials[category]
        for task, trials in designed.items()
        if task in measured and measured[task].category == target and trials[category].heads
    }


def _cell(trials: Mapping[str, Trial], measured: Mapping[str, TaskDamage], seed: int) -> _Cell:
    """Mean over some tasks; as many controls as the task with the fewest has."""
    if not trials:
        return _EMPTY
    n = min(len(trial.controls.sets) for trial in trials.values())
    n_relabelled = min(len(trial.relabelled) for trial in trials.values())
    by_task = [(measured[task], trial) for task, trial in trials.items()]
    return _Cell(
        float(np.mean([task.shares([trial.heads])[0] for task, trial in by_task])),
        np.mean([task.resampled(trial.heads, seed=seed) for task, trial in by_task], axis=0),
        np.mean([task.shares(trial.controls.sets[:n]) for task, trial in by_task], axis=0),
        np.mean([task.shares(trial.relabelled[:n_relabelled]) for task, trial in by_task], axis=0),
        len(trials),
    )


def _contrast(cells: Sequence[_Cell], place: int) -> _Cell:
    """A row's own cell minus the mean of its other cells."""
    focus, others = cells[place], [cell for at, cell in enumerate(cells) if at != place and cell.n_tasks]
    if not focus.n_tasks or not others:
        return _EMPTY
    n = min(len(cell.controls) for cell in (focus, *others))
    n_relabelled = min(len(cell.relabelled) for cell in (focus, *others))
    return _Cell(
        focus.damage - float(np.mean([cell.damage for cell in others])),
        focus.resampled - np.mean([cell.resampled for cell in others], axis=0),
        focus.controls[:n] - np.mean([cell.controls[:n] for cell in others], axis=0),
        focus.relabelled[:n_relabelled] - np.mean([cell.relabelled[:n_relabelled] for cell in others], axis=0),
        focus.n_tasks + sum(cell.n_tasks for cell in others),
    )


def _row(
    trials: Mapping[str, Trial],
    measured: Mapping[str, TaskDamage],
    cells: Sequence[_Cell],
    place: int,
    categories: Sequence[str],
) -> xr.Dataset:
    contrast = _contrast(cells, place)
    summary = {f"specificity_{name}": value for name, value in _numbers(contrast).items()}
    reaching = set(np.flatnonzero(contrast.relabelled >= contrast.damage - TIE).tolist())
    tested = [(set(trial.heads), trial.relabelled) for trial in trials.values() if trial.heads]
    apart = {k for k in range(len(contrast.relabelled)) if not any(heads & set(images[k]) for heads, images in tested)}
    numbers = [_numbers(cell) for cell in cells]
    scalars = {
        "specificity": summary.pop("specificity_damage"),
        **summary,
        "specificity_exact_p": p_value(contrast.damage, contrast.relabelled),
        "n_relabelled": len(contrast.relabelled),
        "n_apart": len(apart),
        "n_reaching": len(reaching),
        "n_reaching_apart": len(apart & reaching),
        "matched": "+".join(dict.fromkeys(trial.controls.matched for trial in trials.values() if trial.heads)),
        "why": _why_untested(trials, measured, cells, place, categories[place]),
    }
    damages = [measured[task].shares([trial.heads])[0] if trial.heads else np.nan for task, trial in trials.items()]
    return xr.Dataset(
        {
            **{name: ("target", [cell[name] for cell in numbers]) for name in numbers[0]},
            **scalars,
            "control_specificity": ("control", contrast.controls),
            "task_damage": ("task", np.array(damages)),
            "heads": ("task", np.array([" ".join(map(str, trial.heads)) for trial in trials.values()], dtype=str)),
            "shared": ("task", np.array([trial.shared for trial in trials.values()], dtype=np.int64)),
        },
        coords={"target": list(categories), "task": list(trials), "control": np.arange(len(contrast.controls))},
    )


def _advantage(
    column: Mapping[str, Mapping[str, Trial]], measured: Mapping[str, TaskDamage], category: str, seed: int
) -> dict[str, float | int | str]:
    """A category's heads on its own tasks, against those of the category whose heads do the most damage there.

    Each other category on the tasks where both have heads, which need not be all: a category may have none without
    some task.
    """
    cells: dict[str, tuple[_Cell, _Cell]] = {}
    for name, trials in column.items():
        both = [task for task in column[category] if task in trials and name != category]
        if both:
            sides = [{task: by_task[task] for task in both} for by_task in (column[category], trials)]
            cells[name] = _cell(sides[0], measured, seed), _cell(sides[1], measured, seed)
    if not cells:
        missing = dict.fromkeys(("rival_damage", "advantage", "advantage_low", "advantage_high"), float("nan"))
        return {"rival": "", "rival_n_tasks": 0, **missing}
    rival = max(cells, key=lambda name: cells[name][1].damage)
    focus, strongest = cells[rival]
    low, high = middle(focus.resampled - strongest.resampled)
    return {
        "rival": rival,
        "rival_n_tasks": focus.n_tasks,
        "rival_damage": strongest.damage,
        "advantage": focus.damage - strongest.damage,
        "advantage_low": low,
        "advantage_high": high,
    }


def _numbers(cell: _Cell) -> dict[str, float]:
    (low, high), (control_low, control_high) = middle(cell.resampled), middle(cell.controls)
    return {
        "damage": cell.damage,
        "low": low,
        "high": high,
        "p": p_value(cell.damage, cell.controls),
        "n_controls": len(cell.controls),
        "control_mean": cell.controls.mean() if len(cell.controls) else np.nan,
        "control_low": control_low,
        "control_high": control_high,
        "n_tasks": cell.n_tasks,
    }


def _why_untested(
    trials: Mapping[str, Trial], measured: Mapping[str, TaskDamage], cells: Sequence[_Cell], place: int, category: str
) -> str:
    """Why a category has no specificity, as a clause, or ""."""
    reasons = [trial.reason for task, trial in trials.items() if measured[task].category == category]
    if not reasons:
        return "it has no task with held-out prompts"
    if not cells[place].n_tasks:
        return reasons[0]
    if any(cell.n_tasks for at, cell in enumerate(cells) if at != place):
        return ""
    elsewhere = [trial.reason for task, trial in trials.items() if measured[task].category != category]
    return f"on the tasks of other categories, {elsewhere[0]}" if elsewhere else _ALONE
