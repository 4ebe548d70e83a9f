"""What a denoising effect is made of: donors of a second corruption, and of another query item, beside it.

A clean donor brings the right task and takes the wrong one away. A donor from a second, independent corruption of the
same query takes the wrong task away as well, but brings another wrong one: what it does is no evidence for the task.
"""

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.errors import DataError, OptionError
from headcats.estimates import PromptEffects, estimate
from headcats.scores.blocks import OTHER_ITEM, PATCH, WRONG_TASK, prompt_effects


def control_blocks(results: xr.DataTree, tasks: list[str], *, control: str, positions: str) -> dict[str, xr.Dataset]:
    """Task -> block of a control method at the same positions, where there is one."""
    label = f"{control}@{positions}"
    return {task: results[task][label].to_dataset() for task in tasks if label in results[task].children}


def task_specific(
    blocks: dict[str, xr.Dataset], controls: dict[str, xr.Dataset], *, method: str, metric: str
) -> dict[str, PromptEffects]:
    """Task -> clean-donor minus second-corruption effect of every prompt that has both, with its gap.

    Raises:
        OptionError: The method is not denoising_patch.
        DataError: No task has donors of a second corruption.
    """
    if method != PATCH:
        raise OptionError(
            f"effect='task_specific' compares donors of a second corruption with clean ones, so it belongs to {PATCH}; "
            f"{method} has no donor of that kind. Use effect='total'."
        )
    if not controls:
        raise DataError(
            f"These results hold no {WRONG_TASK}, whose effect is taken from that of {PATCH}. Add it to them: the same "
            f"run again with the methods {PATCH} and {WRONG_TASK}."
        )
    return {task: beside(blocks[task], controls[task], task=task, metric=metric)[0] for task in controls}


def beside(
    block: xr.Dataset, control: xr.Dataset, *, task: str, metric: str
) -> tuple[PromptEffects, Float[np.ndarray, "prompt head"]]:
    """A block minus its control, prompt by prompt, and the control's own differences on these prompts.

    Raises:
        DataError: The two share no prompt, or cannot be told to.
    """
    block, control = _same_prompts(block, control, task=task)
    whole, _ = prompt_effects(block, task=task, metric=metric)
    other, _ = prompt_effects(control, task=task, metric=metric)
    specific = PromptEffects(whole.effect - other.effect, whole.gap, whole.item, whole.distractor)
    return specific, other.effect


def control_table(
    blocks: dict[str, xr.Dataset],
    controls: dict[str, dict[str, xr.Dataset]],
    table: xr.Dataset,
    *,
    metric: str,
    seed: int,
) -> dict[str, xr.DataArray]:
    """The variables that controls add to a table of total effects; nothing for controls that were not run."""
    dims, shape = ("task", "layer", "head"), tuple(table.sizes[dim] for dim in ("layer", "head"))
    tasks = [str(task) for task in table["task"].values]
    names = ("specific_effect", "specific_low", "specific_high", "null_effect")
    found = {name: np.full((len(tasks), *shape), np.nan) for name in names}
    shares = {name: np.full(len(tasks), np.nan) for name in ("task_share", "item_share")}
    for row, task in enumerate(tasks):
        if not float(table["gap_low"].values[row]) > 0:
            continue
        effect = table["effect"].values[row].ravel()
        for control, share in ((WRONG_TASK, "task_share"), (OTHER_ITEM, "item_share")):
            if task not in controls[control]:
                continue
            specific, others = beside(blocks[task], controls[control][task], task=task, metric=metric)
            nulls = others.mean(axis=0) / specific.gap.mean()
            shares[share][row] = 1 - _slope(nulls, effect)
            if control == WRONG_TASK:
                estimated = estimate(specific, task=task, seed=seed, draws=None)
                bounds = (estimated.effect, estimated.low, estimated.high, nulls)
                for name, values in zip(names, bounds, strict=True):
                    found[name][row] = values.reshape(shape)
    added: dict[str, xr.DataArray] = {}
    if controls[WRONG_TASK]:
        added |= {name: xr.DataArray(values, dims=dims) for name, values in found.items()}
        added["task_share"] = xr.DataArray(shares["task_share"], dims="task")
    if controls[OTHER_ITEM]:
        added["item_share"] = xr.DataArray(shares["item_share"], dims="task")
    return added


def _slope(values: Float[np.ndarray, " head"], effect: Float[np.ndarray, " head"]) -> float:
    """Least-squares slope through the origin over heads."""
    known = np.isfinite(values) & np.isfinite(effect)
    size = float((effect[known] ** 2).sum())
    return float((values[known] * effect[known]).sum()) / size if size > 0 else float("nan")


def _same_prompts(block: xr.Dataset, control: xr.Dataset, *, task: str) -> tuple[xr.Dataset, xr.Dataset]:
    if "key" in block.coords and "key" in control.coords:
        here, there = block["key"].values.tolist(), control["key"].values.tolist()
        places = {key: place for place, key in enumerate(there)}
        kept = [place for place, key in enumerate(here) if key in places]
        if kept:
            return block.isel(prompt=kept), control.isel(prompt=[places[here[place]] for place in kept])
    elif block.sizes["prompt"] == control.sizes["prompt"]:
        return block, control
    raise DataError(f"The blocks of task {task!r} and of its control share no prompt; run both methods in one study.")
