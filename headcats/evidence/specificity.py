"""Do a category's heads matter more for its own tasks than for others, and more so than random heads do?

Two comparisons stand side by side, and their p answer different questions.

- **Relabellings**: the heads of every layer are permuted, and the tested sets of all tasks along with them. If heads of
  a layer are exchangeable, the tested ones are one family among equals, and their exact p is <= .05 for at most 5 % of
  such categories.
- **Disjoint controls**: random sets of the same layers without the tested heads. All of them come from one small pool
  of heads that the tested ones are not in, so their spread is too narrow and their p too small: with 8 heads per layer
  they call 11 to 17 % of exchangeable sets at .05. They show what heads of the pool do; alone they decide nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.damage import RESAMPLES, TaskDamage
from headcats.evidence.trials import Trial, Trials

# Damages are shares of the gap in single precision: what differs by less is a tie, and counts against the category.
TIE = 1e-6


def p_value(observed: float, controls: Float[np.ndarray, " control"]) -> float:
    """`(1 + controls that reach the observed value) / (1 + controls)`, one-sided; NaN without an observed value."""
    if np.isnan(observed) or np.isnan(controls).any():
        return float("nan")
    return float((1 + (controls >= observed - TIE).sum()) / (1 + len(controls)))


def specificity(
    designed: Trials, measured: Mapping[str, TaskDamage], *, categories: Sequence[str], seed: int
) -> xr.Dataset:
    """Damage by category of heads and category of tasks, beside that of random sets.

    A cell is the mean over its tasks of the damage that the heads do there, `(clean - ablated log-probability) / gap`,
    each task with the heads that were chosen without it. Specificity of a category = its own cell minus the mean of
    the other cells of its row. Where a row tests several sets, its k-th control consists of the k-th control set of
    each, so that there are as many as the least of them has; so do its relabellings. Every p is one-sided,
    `(1 + those that reach the observed value) / (1 + all)`: `exact` among relabellings, else among disjoint controls.

    Args:
        designed: See `headcats.evidence.trials`.
        measured: Task -> its damages; tasks that are missing take no part.
        categories: Categories in the order of the result.
        seed: Seed of the bootstrap.

    Returns:
        `damage, low, high, p, n_controls, control_mean, control_low, control_high, n_tasks (category, target)`: shares
        of the gap; low to high is the 95 % interval by the bootstrap of held-out query items within tasks, the tasks
        fixed (each task on its own: what an item does in all tasks that ask about it is not in the interval);
        control_low to control_high the middle 95 % of the controls. `specificity` with the same names along
        `category`, `control_specificity (category, control)`, NaN beyond `n_controls`. `specificity_exact_p,
        n_relabelled (category)`: the exact test; `n_reaching` of the relabellings are at least as specific, `n_apart`
        ablate on no task a head that was tested there, `n_reaching_apart` are both. `rival (category)`: the other
        category whose heads do the most damage to this one's tasks (those where both have heads), `rival_damage`;
        `advantage, advantage_low, advantage_high`: what its own heads do more, on the same `rival_n_tasks` tasks; no
        part of any verdict. `shared (category, task)`: tested heads that are in other categories too.
        `task_damage (category, task)` and `heads (category, task)`: which heads were tested there. `matched` and
        `why (category)`: how controls were matched, and why nothing could be tested.
    """
    tasks = [task for task in designed if task in measured]
    grid = {
        category: [_cell(_within(designed, measured, category, target), measured, seed=seed) for target in categories]
        for category in categories
    }
    rows = []
    for place, category in enumerate(categories):
        of_row = {task: designed[task][category] for task in tasks}
        row = _row(category, of_row, measured, grid[category], place, categories)
        column = {name: _within(designed, measured, name, category) for name in categories}
        rows.append(row.assign(_advantage(column, measured, category, seed=seed)))
    data = xr.concat(rows, dim="category", join="outer", combine_attrs="drop").assign_coords(category=list(categories))
    target = [measured[task].category for task in tasks]
    return data.assign_coords(task_category=("task", np.array(target, dtype=str)))


@dataclass(frozen=True)
class _Cell:
    observed: float
    resampled: Float[np.ndarray, " draw"]
    controls: Float[np.ndarray, " control"]
    relabelled: Float[np.ndarray, " relabelling"]
    n_tasks: int


_NOTHING = _Cell(float("nan"), np.full(RESAMPLES, np.nan), np.empty(0), np.empty(0), 0)


def _advantage(
    column: Mapping[str, Mapping[str, Trial]], measured: Mapping[str, TaskDamage], category: str, *, seed: int
) -> dict[str, tuple[tuple[()], np.ndarray]]:
    """A category's heads on its own tasks, against those of the category whose heads do the most damage there.

    Each other category on the tasks where both have heads, which need not be all: without some task a category can
    have none.
    """
    found: dict[str, tuple[_Cell, _Cell]] = {}
    for name, trials in column.items():
        both = [task for task in column[category] if task in trials and name != category]
        if both:
            own, other = ({task: one[task] for task in both} for one in (column[category], trials))
            found[name] = _cell(own, measured, seed=seed), _cell(other, measured, seed=seed)
    rival, n_tasks, numbers = "", 0, [float("nan")] * 4
    if found:
        rival = max(found, key=lambda name: found[name][1].observed)
        own_cell, other_cell = found[rival]
        bounds = _middle(own_cell.resampled - other_cell.resampled)
        n_tasks, numbers = own_cell.n_tasks, [other_cell.observed, own_cell.observed - other_cell.observed, *bounds]
    names = ("rival_damage", "advantage", "advantage_low", "advantage_high")
    return {
        "rival": ((), np.array(rival, dtype=str)),
        "rival_n_tasks": ((), np.array(n_tasks)),
        **{name: ((), np.array(number)) for name, number in zip(names, numbers, strict=True)},
    }


def _within(designed: Trials, measured: Mapping[str, TaskDamage], category: str, target: str) -> dict[str, Trial]:
    """Task -> trial of a category's heads, for the tasks of another (or the same) category."""
    return {
        task: found[category]
        for task, found in designed.items()
        if task in measured and measured[task].category == target and found[category].heads
    }


def _row(
    category: str,
    of_row: Mapping[str, Trial],
    measured: Mapping[str, TaskDamage],
    cells: Sequence[_Cell],
    place: int,
    categories: Sequence[str],
) -> xr.Dataset:
    whole = _contrast(cells, place)
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name, values in _numbers(cells).items():
        found[name] = (("target",), values)
    for name, values in _numbers([whole]).items():
        found[f"specificity_{name}".replace("specificity_damage", "specificity")] = ((), values[0])
    found["specificity_exact_p"] = ((), np.array(p_value(whole.observed, whole.relabelled)))
    found["n_relabelled"] = ((), np.array(len(whole.relabelled)))
    reaching = np.flatnonzero(whole.relabelled >= whole.observed - TIE)
    apart = [which for which in range(len(whole.relabelled)) if not _keeps_heads(of_row, which)]
    found["n_apart"], found["n_reaching"] = ((), np.array(len(apart))), ((), np.array(len(reaching)))
    found["n_reaching_apart"] = ((), np.array(len(set(apart) & set(reaching.tolist()))))
    found["control_specificity"] = (("control",), whole.controls)
    found["task_damage"] = (
        ("task",),
        np.array([measured[task].of([trial.heads])[0] if trial.heads else np.nan for task, trial in of_row.items()]),
    )
    found["heads"] = (("task",), np.array([" ".join(map(str, trial.heads)) for trial in of_row.values()], dtype=str))
    found["shared"] = (("task",), np.array([trial.shared for trial in of_row.values()], dtype=np.int64))
    kinds = dict.fromkeys(trial.controls.matched for trial in of_row.values() if trial.heads)
    found["matched"] = ((), np.array("+".join(kinds), dtype=str))
    found["why"] = ((), np.array(_why(category, of_row, measured, cells, place), dtype=str))
    return xr.Dataset(
        found, coords={"target": list(categories), "task": list(of_row), "control": np.arange(len(whole.controls))}
    )


def _keeps_heads(of_row: Mapping[str, Trial], which: int) -> bool:
    """Whether a relabelling of the row ablates one of the tested heads on some task."""
    return any(set(trial.heads) & set(trial.relabelled[which]) for trial in of_row.values() if trial.heads)


def _cell(own: Mapping[str, Trial], measured: Mapping[str, TaskDamage], *, seed: int) -> _Cell:
    """Mean over some tasks; as many controls as the task with the fewest has."""
    if not own:
        return _NOTHING
    n = min(len(trial.controls.sets) for trial in own.values())
    n_relabelled = min(len(trial.relabelled) for trial in own.values())
    observed, resampled, controls, relabelled = [], [], [], []
    for task, trial in own.items():
        observed.append(measured[task].of([trial.heads])[0])
        resampled.append(measured[task].resampled(trial.heads, seed=seed))
        controls.append(measured[task].of(trial.controls.sets[:n]))
        relabelled.append(measured[task].of(trial.relabelled[:n_relabelled]))
    return _Cell(
        float(np.mean(observed)),
        np.mean(resampled, axis=0),
        np.mean(controls, axis=0),
        np.mean(relabelled, axis=0),
        len(own),
    )


def _contrast(cells: Sequence[_Cell], place: int) -> _Cell:
    """A row's own cell minus the mean of its other cells."""
    others = [cell for at, cell in enumerate(cells) if at != place and cell.n_tasks]
    if not cells[place].n_tasks or not others:
        return _NOTHING
    n = min(len(cell.controls) for cell in (cells[place], *others))
    n_relabelled = min(len(cell.relabelled) for cell in (cells[place], *others))
    return _Cell(
        cells[place].observed - float(np.mean([cell.observed for cell in others])),
        cells[place].resampled - np.mean([cell.resampled for cell in others], axis=0),
        cells[place].controls[:n] - np.mean([cell.controls[:n] for cell in others], axis=0),
        cells[place].relabelled[:n_relabelled] - np.mean([cell.relabelled[:n_relabelled] for cell in others], axis=0),
        cells[place].n_tasks + sum(cell.n_tasks for cell in others),
    )


def _numbers(cells: Sequence[_Cell]) -> dict[str, np.ndarray]:
    ranges = [_middle(cell.resampled) for cell in cells]
    controls = [_middle(cell.controls) for cell in cells]
    return {
        "damage": np.array([cell.observed for cell in cells]),
        "low": np.array([low for low, _ in ranges]),
        "high": np.array([high for _, high in ranges]),
        "p": np.array([p_value(cell.observed, cell.controls) for cell in cells]),
        "n_controls": np.array([len(cell.controls) for cell in cells]),
        "control_mean": np.array([cell.controls.mean() if len(cell.controls) else np.nan for cell in cells]),
        "control_low": np.array([low for low, _ in controls]),
        "control_high": np.array([high for _, high in controls]),
        "n_tasks": np.array([cell.n_tasks for cell in cells]),
    }


def _middle(values: Float[np.ndarray, " draw"]) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def _why(
    category: str,
    trials: Mapping[str, Trial],
    measured: Mapping[str, TaskDamage],
    cells: Sequence[_Cell],
    place: int,
) -> str:
    """Why a category has no specificity, as a clause, or ""."""
    own = [trial for task, trial in trials.items() if measured[task].category == category]
    if not own:
        return "it has no task with held-out prompts"
    if not cells[place].n_tasks:
        return next(trial.why for trial in own)
    if any(cell.n_tasks for at, cell in enumerate(cells) if at != place):
        return ""
    elsewhere = [trial.why for task, trial in trials.items() if measured[task].category != category]
    return (
        f"on the tasks of other categories, {elsewhere[0]}"
        if elsewhere
        else "there is no other category to compare with"
    )
