"""Blocks of a results tree as plain arrays: the effects of one method on the prompts of each task."""

import warnings

import numpy as np
import xarray as xr

from headcats.errors import DataError, OptionError, StatisticsWarning, UnknownNameError
from headcats.registry import names, unknown_name_message
from headcats.results.declaration import declarations
from headcats.results.label import Label
from headcats.results.tree import scored_labels, task_nodes
from headcats.scores.whole_suite import instead_of_scores
from headcats.statistics.task import PromptEffects

Grid = dict[str, np.ndarray]
"""The coordinates `layer` and `head`."""


def approximation(blocks: dict[str, xr.Dataset]) -> dict[str, str]:
    """`{"approximation": kind}` of blocks that are first-order approximations, {} of exact ones.

    Raises:
        DataError: The blocks differ in this.
    """
    kinds = {task: str(block.attrs.get("approximation", "")) for task, block in blocks.items()}
    (first, expected), *rest = kinds.items()
    for task, kind in rest:
        if kind != expected:
            raise DataError(
                "First-order approximations cannot be mixed with exact numbers or other approximations: task "
                f"{first!r} is {expected or 'exact'}, task {task!r} {kind or 'exact'}."
            )
    return {"approximation": expected} if expected else {}


def find_blocks(results: xr.DataTree, *, method: str, positions: str | None) -> tuple[dict[str, xr.Dataset], str]:
    """Task -> block of one method, and its positions.

    Raises:
        UnknownNameError: No such method, or a joint method.
        OptionError: Ambiguous or missing positions.

    Warns:
        StatisticsWarning: Tasks without such a block.
    """
    tasks = task_nodes(results)
    labels = scored_labels(results)
    methods = list(dict.fromkeys(label.method for label in labels))
    if method not in methods:
        raise UnknownNameError(
            instead_of_scores(results, method)
            or unknown_name_message("method of these results", method, methods) + _how_to_add(method)
        )
    present = [label.positions for label in labels if label.method == method]
    if positions is None and len(present) > 1:
        raise OptionError(f"These results hold {method!r} at {', '.join(present)}: choose one with positions=.")
    if positions is not None and positions not in present:
        raise OptionError(f"These results hold {method!r} at {', '.join(present)}, not at {positions!r}.")
    positions = present[0] if positions is None else positions
    name = str(Label.parse(method).at(positions))
    missing = [task for task, node in tasks.items() if name not in node.children]
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(tasks)} tasks have no {name} block and are left out: {', '.join(missing)}.",
            StatisticsWarning,
            stacklevel=4,
        )
    return {task: node[name].to_dataset() for task, node in tasks.items() if task not in missing}, positions


def prompt_effects(block: xr.Dataset, *, task: str, metric: str) -> tuple[PromptEffects, Grid]:
    """Differences `[prompt, layer x head]` and gaps of one block, and its heads.

    Raises:
        DataError: Not a block of a causal method.
        UnknownNameError: No such metric.
    """
    lacking = sorted({"patched", "clean", "corrupted", "item", "metric"} - set(block.variables))
    if lacking or block.attrs.get("base") not in ("clean", "corrupted"):
        raise DataError(
            f"The block of task {task!r} is not one of a causal method: expected patched, clean, corrupted, the "
            f"coordinates metric and item, and base 'clean' or 'corrupted'; it lacks "
            f"{', '.join(lacking) or 'a valid base'}."
        )
    metrics = block["metric"].values.tolist()
    if metric not in metrics:
        raise UnknownNameError(
            unknown_name_message("metric of these results", metric, metrics) + _how_to_measure(metric, metrics)
        )
    block = block.sel(metric=metric)
    patched = block["patched"].transpose("prompt", "layer", "head")
    with np.errstate(invalid="ignore"), xr.set_options(arithmetic_join="exact"):
        difference = patched - block["corrupted"] if block.attrs["base"] == "corrupted" else block["clean"] - patched
        gap = (block["clean"] - block["corrupted"]).values.astype(np.float64)
    effect = difference.transpose("prompt", "layer", "head").values.astype(np.float64).reshape(len(gap), -1)
    distractor = block["distractor_task"].values if "distractor_task" in block else np.full(len(gap), "")
    grid = {axis: np.asarray(block.coords.get(axis, np.arange(block.sizes[axis]))) for axis in ("layer", "head")}
    return PromptEffects(effect, gap, block["item"].values.astype(str), distractor.astype(str)), grid


def _how_to_add(method: str) -> str:
    """How to add a registered method to results; "" for an unknown one."""
    if method not in names("method"):
        return ""
    return f" To add it, repeat the run that made them with --methods {method} (methods=[{method!r}]), same folder."


def _how_to_measure(metric: str, present: list[str]) -> str:
    """How to measure a registered metric; "" for an unknown one."""
    if metric not in names("metric"):
        return ""
    metrics = [*present, metric]
    return (
        f" To measure it, run into a new folder: headcats run --metrics {','.join(metrics)}, or hc.run(..., "
        f"metrics={metrics})."
    )


def first_exact(results: xr.DataTree) -> Label | None:
    """The default method to map: the first exact one that is no control, else the first exact, else the first.

    None if there is no causal method.
    """
    scored, declared = scored_labels(results), declarations(results)
    exact = [label for label in scored if not approximation_of(results, label)]
    causal = [label for label in exact if not declared[str(label)].control_of]
    return next(iter([*causal, *exact, *scored]), None)


def approximation_of(results: xr.DataTree, label: Label) -> str:
    """How the numbers of a method are approximated, such as "first order"; "" where they are exact."""
    blocks = (task[str(label)] for task in task_nodes(results).values() if str(label) in task.children)
    return next((str(kind) for block in blocks if (kind := block.attrs.get("approximation"))), "")


def same_grid(grids: dict[str, Grid]) -> Grid:
    """The heads that all tasks have.

    Raises:
        DataError: They differ.
    """
    first, expected = next(iter(grids.items()))
    for task, grid in grids.items():
        for axis in expected:
            if not np.array_equal(grid[axis], expected[axis]):
                raise DataError(
                    f"Tasks of one table need the same heads: task {task!r} has {axis} {grid[axis].tolist()}, "
                    f"task {first!r} has {expected[axis].tolist()}."
                )
    return expected
