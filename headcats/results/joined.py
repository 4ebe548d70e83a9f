"""Blocks of one method on several tasks as one table, and taken apart again.

Along `prompt` stand the prompts of all tasks, with `task` and `category` beside the coordinates that the blocks have.
A metric that a task lacks is NaN there. What differs between tasks and has no prompts is stacked along `of_task`. The
attributes that all share are those of the table; the others, and how many prompts and which metrics a task has, are
JSON in the attribute `of_tasks`, task by task in the order of the prompts.

Blocks that differ in more than that, as those of somebody else's method may, do not fit into one table.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from h5py import h5a, h5f, h5g, h5p

from headcats.results.untrusted import PADDED

OF_TASKS = "of_tasks"
"""Attribute of a table of several blocks."""
_PROMPT, _METRIC, _STACKED = "prompt", "metric", "of_task"
_ADDED = {"task", "category", _STACKED}
_SCALARS = (str, int, float, np.int64)

Block = xr.Dataset


def join_blocks(
    blocks: Mapping[str, Block], *, checksums: Mapping[str, str], categories: Mapping[str, str]
) -> tuple[list[str], Block]:
    """The blocks of those tasks that fit together, of as many as can be, as one table; checksums as in `write_joined`.

    Returns the tasks, in alphabetical order, and the table; no task and an empty table where nothing fits.
    """
    forms = {task: _form(blocks[task]) for task in sorted(blocks)}
    common = Counter(form for form in forms.values() if form).most_common(1)
    tasks = [task for task, form in forms.items() if common and form == common[0][0]]
    chosen = [blocks[task] for task in tasks]
    if not chosen or _padded_bytes(chosen) > PADDED:
        return [], xr.Dataset()
    metrics = list(dict.fromkeys(name for block in chosen for name in _metrics(block)))
    variables = {name: _joined(name, chosen, metrics) for name in chosen[0].variables}
    n_prompts = [block.sizes.get(_PROMPT, 0) for block in chosen]
    if _PROMPT in chosen[0].dims:
        names = {"task": tasks, "category": [categories[task] for task in tasks]}
        variables |= {name: xr.Variable(_PROMPT, np.repeat(values, n_prompts)) for name, values in names.items()}
    shared = {
        name: value
        for name, value in sorted(chosen[0].attrs.items())
        if all(name in block.attrs and _text(block.attrs[name]) == _text(value) for block in chosen)
    }
    entries = {
        task: {
            "checksum": checksums[task],
            "prompts": n,
            **({} if _metrics(block) == metrics else {"metrics": [metrics.index(name) for name in _metrics(block)]}),
            "attrs": {name: _plain(value) for name, value in sorted(block.attrs.items()) if name not in shared},
        }
        for task, block, n in zip(tasks, chosen, n_prompts, strict=True)
    }
    coords = {*chosen[0].coords, "task", "category"}
    return tasks, xr.Dataset(
        {name: values for name, values in variables.items() if name not in coords},
        coords={name: values for name, values in variables.items() if name in coords},
        attrs=shared | {OF_TASKS: json.dumps(entries, ensure_ascii=False)},
    )


def split_blocks(table: Block) -> dict[str, Block]:
    """Task -> its block, as it was before `join_blocks`; LookupError, TypeError or ValueError for another table."""
    entries = json.loads(table.attrs[OF_TASKS])
    attrs = {name: value for name, value in table.attrs.items() if name != OF_TASKS}
    rest, blocks, end = table.drop_vars(["task", "category"], errors="ignore").drop_attrs(deep=False), {}, 0
    own = [name for name, of in rest.variables.items() if _PROMPT not in of.dims and name not in rest.xindexes]
    for place, (task, entry) in enumerate(entries.items()):
        begin, end = end, end + int(entry["prompts"])
        index: dict[str, Any] = {_PROMPT: slice(begin, end), _STACKED: place}
        if "metrics" in entry:
            index[_METRIC] = [int(number) for number in entry["metrics"]]
        block = rest.isel({dim: at for dim, at in index.items() if dim in rest.dims})
        # What all tasks share is written once, and no task may change that of another.
        block = block.assign({name: block.variables[name].copy() for name in own}) if own else block
        block.attrs = attrs | {name: _of_netcdf(value) for name, value in entry["attrs"].items()}
        blocks[task] = block
    if end != table.sizes.get(_PROMPT, 0):
        raise ValueError(f"{end} prompts of {table.sizes[_PROMPT]} belong to a task")
    return blocks


def checksums_in(checked: bytes) -> dict[str, str] | None:
    """Task -> checksum of its block, of a file of several blocks, with nothing else read; None of any other file."""
    return _checksums(h5g.open(h5f.open_file_image(checked), b"/"))


def checksums_of(path: os.PathLike[str]) -> dict[str, str] | None:
    """`checksums_in` of a file that is not read whole."""
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_file_locking(False, True)  # some disks have no locks, and files appear whole
    file = h5f.open(os.fsencode(path), h5f.ACC_RDONLY, fapl=access)
    try:
        return _checksums(h5g.open(file, b"/"))
    finally:
        file.close()


def _checksums(root: h5g.GroupID) -> dict[str, str] | None:
    name = OF_TASKS.encode()
    if not h5a.exists(root, name) or (attribute := h5a.open(root, name)).shape:
        return None
    value = np.empty((), attribute.dtype)
    attribute.read(value)
    return {str(task): str(entry["checksum"]) for task, entry in json.loads(value.item()).items()}


def is_plain(block: Block) -> bool:
    """True if the block is the same before it is written and after it is read."""
    return all(of.dtype.kind in "biufU" for of in block.variables.values()) and all(
        _is_scalar(value)
        for attrs in (block.attrs, *(of.attrs for of in block.variables.values()))
        for value in attrs.values()
    )


def _form(block: Block) -> str:
    """All that blocks of one table have in common, as text; "" of one that fits into none."""
    if _ADDED & {*block.variables, *block.dims} or OF_TASKS in block.attrs:
        return ""
    free = {_PROMPT, _METRIC} if _has_free_metrics(block) else {_PROMPT}
    parts: list[Any] = [{name: _text(value) for name, value in block.attrs.items() if not _is_scalar(value)}]
    for name, of in block.variables.items():
        sizes = [(dim, None if dim in free else size) for dim, size in of.sizes.items()]
        values = of.values.tolist() if of.dims == (name,) and name not in free else None
        kind = "U" if of.dtype.kind == "U" else of.dtype.str
        attrs = {key: _text(value) for key, value in of.attrs.items()}
        parts.append((name, name in block.coords, sizes, kind, attrs, values))
    return repr(parts) if all(of.dtype.kind in "biufU" for of in block.variables.values()) else ""


def _has_free_metrics(block: Block) -> bool:
    """True if a metric that the block lacks can be NaN in it."""
    names = _metrics(block)
    along = [of for name, of in block.variables.items() if _METRIC in of.dims and name != _METRIC]
    return bool(names) and len({*names}) == len(names) and all(of.dtype.kind == "f" for of in along)


def _metrics(block: Block) -> list[str]:
    is_index = _METRIC in block.variables and block.variables[_METRIC].dims == (_METRIC,)
    return list(block[_METRIC].values.tolist()) if is_index else []


def _joined(name: Any, blocks: Sequence[Block], metrics: list[str]) -> xr.Variable:
    """A variable of all blocks."""
    first = blocks[0].variables[name]
    if name == _METRIC and first.dims == (_METRIC,):
        kind = None if first.dtype.kind == "U" else first.dtype
        return xr.Variable(_METRIC, np.array(metrics, kind), first.attrs)
    values = list(_aligned(name, blocks, metrics))
    if _PROMPT in first.dims:
        joined = np.concatenate(values, axis=first.dims.index(_PROMPT))
        return xr.Variable(first.dims, joined, first.attrs)
    if all(_bits(of_block) == _bits(values[0]) for of_block in values):
        return xr.Variable(first.dims, values[0], first.attrs)
    return xr.Variable((_STACKED, *first.dims), np.stack(values), first.attrs)


def _aligned(name: Any, blocks: Sequence[Block], metrics: list[str]) -> Iterator[np.ndarray]:
    """Values of a variable, block by block, with NaN where one lacks a metric."""
    for block in blocks:
        of, own = block.variables[name], _metrics(block)
        values = np.asarray(of.values)
        if _METRIC in of.dims and own != metrics:
            axis = of.dims.index(_METRIC)
            whole = np.full((*of.shape[:axis], len(metrics), *of.shape[axis + 1 :]), np.nan, values.dtype)
            whole[(slice(None),) * axis + ([metrics.index(each) for each in own],)] = values
            values = whole
        yield values


def _bits(values: np.ndarray) -> Any:
    return values.tolist() if values.dtype.kind == "U" else values.tobytes()


def _padded_bytes(blocks: Sequence[Block]) -> int:
    """Bytes of the texts of all blocks in one table, each as long as the longest of its variable."""
    return sum(
        max(block.variables[name].dtype.itemsize for block in blocks)
        * sum(math.prod(block.variables[name].shape) for block in blocks)
        for name, of in blocks[0].variables.items()
        if of.dtype.kind == "U"
    )


def _is_scalar(value: Any) -> bool:
    """True of what JSON gives back as netCDF does."""
    return isinstance(value, _SCALARS) and not isinstance(value, bool | np.str_)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _text(value: Any) -> str:
    """A value of an attribute with its type, alike before and after it is written."""
    kind = "" if _is_scalar(value) else getattr(value, "dtype", "")
    return f"{type(_plain(value)).__name__} {kind} {_plain(value)!r}"


def _of_netcdf(value: Any) -> Any:
    """A value of JSON as netCDF gives it."""
    kinds = {int: np.int64, float: np.float64}
    return kinds.get(type(value), str)(value)
