"""One block as plain arrays: the effects of a method on the prompts of a task."""

from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, UnknownNameError
from headcats.base.registry import names, unknown_name_message
from headcats.statistics.task import PromptEffects

Grid = dict[str, Any]
"""The coordinates over heads."""


def prompt_effects(block: xr.Dataset, *, task: str, metric: str) -> tuple[PromptEffects, Grid]:
    """Differences `[prompt, layer x head]` and gaps of one block, and its heads."""
    lacking = sorted({"patched", "clean", "corrupted", "item", "metric"} - set(block.variables))
    if lacking or block.attrs.get("base") not in ("clean", "corrupted"):
        raise DataError(
            f"The block of task {task!r} is not one of a causal method: expected patched, clean, corrupted, the "
            f"coordinates metric and item, and base 'clean' or 'corrupted'; it lacks "
            f"{', '.join(lacking) or 'a valid base'}."
        )
    metrics = block["metric"].values.tolist()
    if metric not in metrics:
        message = unknown_name_message("metric of these results", metric, metrics)
        if metric in names("metric") and block.attrs.get("method") != "given":
            metrics = [*metrics, metric]
            run = f"headcats run --metrics {','.join(metrics)}, or hc.run(..., metrics={metrics})"
            message += f" To measure it, run into a new folder: {run}."
        raise UnknownNameError(message)
    block = block.sel(metric=metric)
    patched = block["patched"].transpose("prompt", "layer", "head")
    with np.errstate(invalid="ignore"), xr.set_options(arithmetic_join="exact"):
        difference = patched - block["corrupted"] if block.attrs["base"] == "corrupted" else block["clean"] - patched
        gap = (block["clean"] - block["corrupted"]).values.astype(np.float64)
    effect = difference.transpose("prompt", "layer", "head").values.astype(np.float64).reshape(len(gap), -1)
    distractor = block["distractor_task"].values if "distractor_task" in block else np.full(len(gap), "")
    grid = {axis: np.asarray(block.coords.get(axis, np.arange(block.sizes[axis]))) for axis in ("layer", "head")}
    return PromptEffects(effect, gap, block["item"].values.astype(str), distractor.astype(str)), grid


def same_grid(grids: dict[str, Grid]) -> Grid:
    """The heads that all tasks have."""
    first, expected = next(iter(grids.items()))
    for task, grid in grids.items():
        for axis in expected:
            if not np.array_equal(grid[axis], expected[axis]):
                raise DataError(
                    f"Tasks of one table need the same heads: task {task!r} has {axis} {grid[axis].tolist()}, "
                    f"task {first!r} has {expected[axis].tolist()}."
                )
    return expected
