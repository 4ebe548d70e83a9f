"""Blocks that a script hands in, one or several, as the results of a run: then they are scored in the same way."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, OptionError
from headcats.results.categories import coloured
from headcats.results.label import Label

_EXPECTED = (
    "hc.score takes what hc.run or hc.load returns; a block, as hc.sweep or hc.as_block returns it; or several: a list "
    "of blocks, {task: block} or {category: {task: block}}"
)
_VARIABLES, _ATTRIBUTES = ("patched", "clean", "corrupted"), ("method", "positions")
_OUTSIDE = ("metric", "prompt", "layer", "head")


def is_blocks(given: Any) -> bool:
    """True if something is a raw block, or holds some; what is inside is looked at when it is scored."""
    if isinstance(given, xr.Dataset):
        return "patched" in given
    if isinstance(given, xr.DataTree):
        return False
    inside = (
        list(given.values()) if isinstance(given, Mapping) else list(given) if isinstance(given, list | tuple) else []
    )
    return bool(inside) and all(map(is_blocks, inside))


def results_of(given: Any) -> xr.DataTree:
    """The blocks of tasks as a labelled tree, each task in the category that is named or one of its own name.

    A task may have several blocks, of batches of prompts, which are joined. A DataError says what came instead, and
    what to do with blocks that have a number per position.
    """
    tasks = _tasks(given)
    blocks = {task: _joined(task, block) for task, (_, block) in tasks.items()}
    labels = {
        task: Label(str(block.attrs["method"])).at(str(block.attrs["positions"])) for task, block in blocks.items()
    }
    if len(set(map(str, labels.values()))) > 1:
        listed = ", ".join(f"{task}: {label}" for task, label in labels.items())
        raise DataError(f"A table of scores holds one method at one place; got {listed}. Score each on its own.")
    # Names of standard categories are known in any case.
    categories = {each.name.casefold(): each for each in coloured([category for category, _ in tasks.values()])}
    nodes: dict[str, xr.Dataset] = {}
    for task, block in blocks.items():
        nodes[f"/{task}"] = xr.Dataset(attrs={"category": categories[tasks[task][0].casefold()].name})
        nodes[f"/{task}/{labels[task]}"] = block
    tree = xr.DataTree.from_dict(nodes)
    entries = [{"name": category.name, "colour": category.colour} for category in categories.values()]
    tree.attrs["categories"] = json.dumps(entries, ensure_ascii=False)
    return tree


def only_method(methods: Sequence[str]) -> str:
    """The method of results that hold one; an OptionError if they hold several."""
    if len(methods) != 1:
        raise OptionError(f"These results hold the methods {', '.join(methods) or 'none'}: choose one with method=.")
    return methods[0]


def usual_metric(blocks: Mapping[str, xr.Dataset]) -> str:
    """The metric of blocks that hold one, or logit_diff; an OptionError if they hold others."""
    measured = [str(name) for name in next(iter(blocks.values())).coords.get("metric", xr.DataArray([])).values]
    if len(measured) == 1:
        return measured[0]
    if "logit_diff" in measured or not measured:
        return "logit_diff"
    raise OptionError(f"These results hold the metrics {', '.join(measured)}: choose one with metric=.")


def _tasks(given: Any) -> dict[str, tuple[str, Any]]:
    """Task -> its category and its block or blocks."""
    if isinstance(given, xr.Dataset):
        given = [given]
    if isinstance(given, list | tuple) and given:
        several = len(given) > 1
        names = [
            str(_attrs(block).get("task") or (f"sweep {number}" if several else "sweep"))
            for number, block in enumerate(given, start=1)
        ]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise DataError(
                f"Two blocks are of task {twice!r}: name them, {{'first': ..., 'second': ...}}, or give those of one "
                f"task together, {{{twice!r}: [...]}}."
            )
        given = dict(zip(names, given, strict=True))
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"{_EXPECTED}; got {_described(given)}.{_advice(given)}")
    nested = [name for name, value in given.items() if isinstance(value, Mapping) and not isinstance(value, xr.Dataset)]
    if nested and len(nested) < len(given):
        raise DataError(f"{_EXPECTED}; got both in one: {nested[0]!r} holds tasks, and others are blocks.")
    groups = given.items() if nested else [("", given)]
    tasks: dict[str, tuple[str, Any]] = {}
    for category, members in groups:
        for name, block in members.items():
            task = str(name)
            if not task or "/" in task or task.startswith(("_", ".")):
                raise DataError(f"Name a task by a text without '/' that does not begin with '_' or '.'; got {name!r}.")
            if task in tasks:
                raise DataError(f"Task {task!r} is in two categories: name it differently in one.")
            tasks[task] = str(category) or str(_attrs(block).get("category") or task), block
    return tasks


def _joined(task: str, given: Any) -> xr.Dataset:
    blocks = list(given) if isinstance(given, list | tuple) else [given]
    for block in blocks:
        if not isinstance(block, xr.Dataset):
            raise DataError(f"{_EXPECTED}; task {task!r} is {_described(block)}.{_advice(block)}")
        if not (set(_VARIABLES) <= set(block.data_vars) and set(_ATTRIBUTES) <= set(block.attrs)):
            held = ", ".join(map(str, block.data_vars)) or "nothing"
            raise DataError(f"{_EXPECTED}; task {task!r} is a table of {held}, with no method of an hc.sweep.")
        if more := [str(dim) for dim in block["patched"].dims if dim not in _OUTSIDE]:
            raise DataError(_axis_problem(task, more[0]))
    if not blocks:
        raise DataError(f"Task {task!r} has no block.")
    if len(blocks) == 1:
        return blocks[0]
    # Whoever has swept has loaded torch.
    from headcats.results.block_schema import join_batches

    return join_batches(blocks)


def _axis_problem(task: str, dim: str) -> str:
    advice = (
        f"Choose one, block.sel({dim}=...), or score each as a task: "
        f"hc.score({{f'{dim} {{value}}': block.sel({dim}=value) for value in block[{dim!r}].values}})."
    )
    if dim == "position":
        advice += " hc.figures.position_head(block) draws them all."
    if dim == "set":
        advice = "Sets of heads, as of hc.evidence.joint_sweep, have no place on a map of heads."
    return f"Task {task!r} has a number for each {dim}, and a score is of one head. {advice}"


def _attrs(block: Any) -> Mapping[str, Any]:
    first = block[0] if isinstance(block, list | tuple) and block else block
    return first.attrs if isinstance(first, xr.Dataset) else {}


def _described(given: Any) -> str:
    if shape := getattr(given, "shape", None):
        return f"a {type(given).__name__} of shape {tuple(shape)}"
    empty = isinstance(given, Mapping | list | tuple) and not given
    return f"{'an empty' if empty else 'a'} {type(given).__name__}"


def _advice(given: Any) -> str:
    if hasattr(given, "axis_names") or hasattr(given, "shape"):
        return " Name its axes and give it the unpatched numbers first: hc.as_block(values, clean=..., corrupted=...)."
    return ""
