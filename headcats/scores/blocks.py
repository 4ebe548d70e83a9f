"""Blocks of a results tree: of some query items alone, and as arrays of the effects on the prompts of each task."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError, StatisticsWarning, UnknownNameError, unknown_name_message
from headcats.base.registry import names
from headcats.results.declaration import registered
from headcats.results.label import Label
from headcats.results.run_results import RunResults, tables_of
from headcats.statistics.random_streams import stream
from headcats.statistics.task import PromptEffects

Grid = dict[str, Any]
"""The coordinates over heads."""


def approximation(blocks: dict[str, xr.Dataset]) -> dict[str, str]:
    """`{"approximation": kind}` of blocks that are first-order approximations, {} of exact ones."""
    kinds = {task: str(block.attrs.get("approximation", "")) for task, block in blocks.items()}
    first, expected = next(iter(kinds.items()))
    for task, kind in kinds.items():
        if kind != expected:
            raise DataError(
                "First-order approximations cannot be mixed with exact numbers or other approximations: task "
                f"{first!r} is {expected or 'exact'}, task {task!r} {kind or 'exact'}."
            )
    return {"approximation": expected} if expected else {}


def find_blocks(run: RunResults, *, method: str, positions: str | None) -> tuple[dict[str, xr.Dataset], str]:
    """Task -> block of one method, and its positions."""
    tasks, labels = run.tasks, run.scored
    methods = list(dict.fromkeys(label.method for label in labels))
    if method not in methods:
        if advice := instead_of_scores(run, method):
            raise UnknownNameError(advice)
        message = unknown_name_message("method of these results", method, methods)
        if method in names("method"):
            command = f"--methods {method} (methods=[{method!r}])"
            message += f" To add it, repeat the run that made them with {command}, same folder."
        raise UnknownNameError(message)
    present = [label.positions for label in labels if label.method == method]
    if positions is None and len(present) > 1:
        raise OptionError(f"These results hold {method!r} at {', '.join(present)}: choose one with positions=.")
    if positions is not None and positions not in present:
        raise OptionError(f"These results hold {method!r} at {', '.join(present)}, not at {positions!r}.")
    positions = positions or present[0]
    name = str(Label.parse(method).at(positions))
    missing = [task for task, of_task in tasks.items() if name not in of_task]
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(tasks)} tasks have no {name} block and are left out: {', '.join(missing)}.",
            StatisticsWarning,
            stacklevel=4,
        )
    return run.blocks_of(name), positions


def instead_of_scores(run: RunResults, method: str) -> str:
    """Advice where scores of single tasks are asked of a method that has none; "" for any other method."""
    name = Label.parse(method).name
    tables = tables_of(name, run.joint_blocks)
    by_name = {Label.parse(label).name: about for label, about in reversed(run.declarations.items())}
    about = by_name.get(name) or registered(name)
    if about.kind != "joint":
        return ""
    advice = f'It was not run: hc.run(model, methods=["{method}"], out=...) adds it to a results folder.'
    if tables:
        calls = [f"{about.reader}({table})" if about.reader else table for table in tables]
        advice = f"Read {' or '.join(calls)}."
    return f"{name!r} is a joint method, so there are no scores of single tasks. {advice}"


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
    grid = {axis: np.asarray(block.coords.get(axis, np.arange(block.sizes[axis]))) for axis in ("layer", "head")}
    return PromptEffects(effect, gap, block["item"].values.astype(str)), grid


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


def first_half(item: str, *, seed: int) -> bool:
    """True if a query item is in the first of two random halves, by its text and the seed: the same for every task."""
    return bool(stream(seed, item, "item half").random() < 0.5)


def of_items(results: xr.DataTree, keep: Callable[[str], bool]) -> xr.DataTree:
    """Results of the query items for which `keep` is true, without tasks that have none left."""
    nodes: dict[str, xr.Dataset] = {"/": results.to_dataset()}
    run = RunResults(results)
    for task, labels in run.tasks.items():
        for label in labels:
            block = run.block(task, label)
            if "item" not in block.coords:
                continue
            places = [place for place, item in enumerate(block["item"].values) if keep(str(item))]
            if places:
                nodes.setdefault(f"/{task}", results[task].to_dataset())
                nodes[f"/{task}/{label}"] = block.isel(prompt=places)
    if len(nodes) == 1:
        raise DataError("No prompt is left: none of the query items is kept.")
    return xr.DataTree.from_dict(nodes)
