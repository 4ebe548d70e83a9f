"""Decompose a denoising effect by donors of a second corruption and of another query item.

A clean donor adds the right task and removes the wrong one. A donor from a second, independent corruption of the same
query removes the wrong task too, but adds another wrong one: its effect is no evidence for the task.
"""

import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.results.declaration import controls_of, registered_declarations
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.scores.blocks import prompt_effects
from headcats.statistics.task import Estimate, PromptEffects, estimate, intervals


class Control(NamedTuple):
    """A control method of a method, and its blocks at the same positions."""

    name: str
    of: str
    blocks: dict[str, xr.Dataset]
    """Task -> block, where there is one."""


def control_blocks(run: RunResults, tasks: list[str], *, method: str, positions: str) -> dict[str, Control]:
    """Controls of a method that a run holds, by what each holds fixed ("task", "item")."""
    controls: dict[str, Control] = {}
    scored = Label.parse(method)
    for label, about in run.declarations.items():
        control = Label.parse(label)
        is_same = control.unit == scored.unit and control.positions == positions
        if about.control_of == scored.name and is_same:
            blocks = {task: run.block(task, label) for task in tasks if label in run.tasks[task]}
            controls[about.control] = Control(control.method, method, blocks)
    return {kind: controls[kind] for kind in ("task", "item") if kind in controls}


def task_specific(
    blocks: dict[str, xr.Dataset], control: Control | None, *, method: str, metric: str
) -> dict[str, PromptEffects]:
    """Task -> clean-donor minus second-corruption effect of every prompt that has both; not of tasks without any."""
    if not control and not (missing := controls_of(method).get("task")):
        able = {about.control_of for about in registered_declarations().values() if about.control == "task"}
        raise OptionError(
            "effect='task_specific' compares donors of a second corruption with clean ones, so it belongs to "
            f"{', '.join(sorted(able))}; {method} has no donor of that kind. Use effect='total'."
        )
    if not control or not control.blocks:
        name = control.name if control else missing
        raise DataError(
            f"These results hold no {name}, whose effect is taken from that of {method}. Add it to them: the same "
            f"run again with the methods {method} and {name}."
        )
    paired = {task: beside(blocks[task], null, task=task, metric=metric) for task, null in control.blocks.items()}
    specific = {task: both[0] for task, both in paired.items() if both is not None}
    if not specific:
        raise DataError(
            f"The {control.name} of {', '.join(control.blocks)} shares no prompt with their {method}; run both methods "
            "in one study."
        )
    return specific


def beside(
    block: xr.Dataset, control: xr.Dataset, *, task: str, metric: str
) -> tuple[PromptEffects, Float[np.ndarray, "prompt head"]] | None:
    """A block minus its control, prompt by prompt, and the control's own differences; None if they share no prompt."""
    for dim in ("layer", "head"):
        if not np.array_equal(block[dim].values, control[dim].values):
            raise DataError(
                f"On task {task!r} the control has {_range(control[dim].values)} as `{dim}`, and "
                f"{block.attrs.get('method', 'the method')} has {_range(block[dim].values)}: they are of different "
                "models. Score both in one run."
            )
    same = _same_prompts(block, control)
    if same is None:
        return None
    (patch, _), (null, _) = (prompt_effects(dataset, task=task, metric=metric) for dataset in same)
    nulls = _finite_heads(null.effect)
    return PromptEffects(_finite_heads(patch.effect) - nulls, patch.gap, patch.item), nulls


def control_table(
    blocks: dict[str, xr.Dataset], controls: dict[str, Control], table: xr.Dataset, *, metric: str, seed: int
) -> dict[str, xr.DataArray]:
    """The variables that controls add to a table of total effects; nothing for controls that were not run."""
    dims, shape = ("task", "layer", "head"), tuple(table.sizes[dim] for dim in ("layer", "head"))
    tasks = [str(task) for task in table["task"].values]
    names = ("specific_effect", "specific_low", "specific_high")
    effects = {name: np.full((len(tasks), *shape), np.nan) for name in names}
    shares = {name: np.full(len(tasks), np.nan) for name in ("task_share", "item_share")}
    apart: dict[str, list[str]] = {kind: [] for kind in controls}
    estimates: dict[str, Estimate] = {}
    for row, task in enumerate(tasks):
        if not float(table["gap_low"].values[row]) > 0:
            continue
        effect = table["effect"].values[row].ravel()
        for kind, control in controls.items():
            if task not in control.blocks:
                continue
            both = beside(blocks[task], control.blocks[task], task=task, metric=metric)
            if both is None:
                apart[kind].append(task)
                continue
            specific, null_effects = both
            # The shared prompts can be few, and their gap not above 0.
            gap = specific.gap.mean()
            nulls = null_effects.mean(axis=0) / (gap if gap > 0 else np.nan)
            shares[f"{kind}_share"][row] = 1 - _slope(nulls, effect)
            if kind == "task":
                estimates[task] = estimate(specific, task=task, seed=seed)
    for task, (low, high) in intervals(estimates, seed=seed).items():
        row = tasks.index(task)
        for name, values in (("effect", estimates[task].effect), ("low", low), ("high", high)):
            effects[f"specific_{name}"][row] = values.reshape(shape)
    for kind, control in controls.items():
        missing = [task for task in tasks if task not in control.blocks]
        _warn_of_unknown(control, missing, apart[kind], of=tasks)
    added: dict[str, xr.DataArray] = {}
    if "task" in controls and controls["task"].blocks:
        added |= {name: xr.DataArray(values, dims=dims) for name, values in effects.items()}
        added["task_share"] = xr.DataArray(shares["task_share"], dims="task")
    if "item" in controls and controls["item"].blocks:
        added["item_share"] = xr.DataArray(shares["item_share"], dims="task")
    return added


def _range(places: np.ndarray) -> str:
    return f"{places.min()} to {places.max()}" if len(places) else "nothing"


def _slope(values: Float[np.ndarray, " head"], effect: Float[np.ndarray, " head"]) -> float:
    """Least-squares slope through the origin over heads."""
    finite = np.isfinite(values) & np.isfinite(effect)
    size = float((effect[finite] ** 2).sum())
    return float((values[finite] * effect[finite]).sum()) / size if size > 0 else float("nan")


def _finite_heads(effects: Float[np.ndarray, "prompt head"]) -> Float[np.ndarray, "prompt head"]:
    return np.where(np.isfinite(effects).all(axis=0), effects, np.nan)


def _warn_of_unknown(control: Control, missing: list[str], apart: list[str], *, of: list[str]) -> None:
    if len(missing) == len(of):
        return  # a study without this control
    reasons = [f"not run on {', '.join(missing)}"] if missing else []
    reasons += [f"no prompt shared with {control.of} on {', '.join(apart)}"] if apart else []
    if reasons:
        warnings.warn(
            f"The comparison with {control.name} is unknown (NaN) for {len(missing) + len(apart)} of {len(of)} "
            f"tasks: {'; '.join(reasons)}.",
            StatisticsWarning,
            stacklevel=4,
        )


def _same_prompts(block: xr.Dataset, control: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset] | None:
    if "key" in block.coords and "key" in control.coords:
        keys = block["key"].values.tolist()
        places = {key: place for place, key in enumerate(control["key"].values.tolist())}
        common = [place for place, key in enumerate(keys) if key in places]
        if common:
            return block.isel(prompt=common), control.isel(prompt=[places[keys[place]] for place in common])
    elif block.sizes["prompt"] == control.sizes["prompt"]:
        return block, control
    return None
