"""What two results differ in, block by block: to the bit, within rounding, or truly."""

import os
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError
from headcats.results.loading import read_results
from headcats.results.manifest import SUITE
from headcats.results.place import find_place
from headcats.results.run_results import RunResults

SAME, ROUNDING, DIFFERENT = "same bits", "within rounding", "different"
MISSING = "damaged or missing"
ONLY_FIRST, ONLY_SECOND, OTHER_PROMPTS, OTHER_SHAPE = "only in the first", "only in the second", "prompts", "shape"
_ROUNDINGS = 32  # as in the checks of a model
_EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def diff(first: xr.DataTree | str | os.PathLike[str], second: xr.DataTree | str | os.PathLike[str]) -> xr.Dataset:
    """Compare the numbers of two results, block by block.

    The same plan on the same machine with the same number of threads gives the same bits, in any order of tasks. Other
    memory limits, other paths of a sweep, threads or machines add in another order; what that may change is `rounding`:
    32 eps of the model's number type times the largest value of the variable (at least 1), as in the checks of a run.

    Args:
        first: What `hc.run` or `hc.load` returns, or what `hc.load` takes.
        second: The same, to compare with it.

    Returns:
        One row per block, along `block`, with the coordinates `task` ("_suite" for a joint method) and `method`:
        `state` ("same bits", "within rounding", "different", "only in the first", "only in the second", "damaged or
        missing": one lacks what its manifest names, "prompts": made from other prompts, "shape": other variables, dims
        or labels), `largest` difference of any number, in its own unit, and `rounding`, of the variable that comes
        nearest to it or exceeds it most; NaN where nothing was compared.

    Raises:
        DataError: Something else than whole results.
        StorageError: A folder that cannot be read.

    Example:
        >>> import headcats as hc
        >>> same = hc.diff("results/mini-icl", "results/mini-icl")
        >>> set(same.state.values), float(same.largest.max())
        ({'same bits'}, 0.0)

    References:
        headcats' own; the factor 32 is that of `hc.sweep`'s checks.
    """
    runs = [_run(results) for results in (first, second)]
    blocks = [_blocks(run) for run in runs]
    eps = max(_EPS.get(run.manifest.model.dtype, _EPS["float32"]) for run in runs)
    lacking = {key for run, there in zip(runs, blocks, strict=True) for key in run.manifest.finished() - there.keys()}
    keys = list(dict.fromkeys([*blocks[0], *blocks[1], *sorted(lacking)]))
    rows = [
        (MISSING, np.nan, np.nan) if key in lacking else _compared(blocks[0].get(key), blocks[1].get(key), eps=eps)
        for key in keys
    ]
    columns: tuple[Any, ...] = tuple(zip(*rows, strict=True)) if rows else ((), (), ())
    return xr.Dataset(
        {
            "state": ("block", np.array(columns[0], dtype=object)),
            "largest": ("block", np.array(columns[1], dtype=float), {"units": "that of the variable"}),
            "rounding": ("block", np.array(columns[2], dtype=float), {"units": "that of the variable"}),
        },
        coords={
            "task": ("block", np.array([task for task, _ in keys], dtype=object)),
            "method": ("block", np.array([label for _, label in keys], dtype=object)),
        },
    )


def _run(results: Any) -> RunResults:
    if isinstance(results, str | os.PathLike):
        return RunResults(read_results(find_place(results)))
    if not isinstance(results, xr.DataTree) or "manifest" not in results.attrs:
        raise DataError(
            f"hc.diff compares whole results, as hc.run and hc.load return them, or their folders; got a "
            f"{type(results).__name__}."
        )
    return RunResults(results)


def _blocks(run: RunResults) -> dict[tuple[str, str], xr.Dataset]:
    of_tasks = {(task, label): run.block(task, label) for task, labels in run.tasks.items() for label in labels}
    return of_tasks | {(SUITE, label): block for label, block in run.joint_blocks.items()}


def _compared(first: xr.Dataset | None, second: xr.Dataset | None, *, eps: float) -> tuple[str, float, float]:
    if first is None or second is None:
        return ONLY_SECOND if first is None else ONLY_FIRST, np.nan, np.nan
    if first.attrs.get("fingerprint") != second.attrs.get("fingerprint"):
        return OTHER_PROMPTS, np.nan, np.nan
    if not first.coords.to_dataset().equals(second.coords.to_dataset()) or not _alike(first, second):
        return OTHER_SHAPE, np.nan, np.nan
    if all(_bits(first[name]) == _bits(second[name]) for name in first.data_vars):
        return SAME, 0.0, np.nan
    apart = [_apart(first[name].values, second[name].values, eps=eps) for name in first.data_vars]
    largest, rounding = max(apart, key=lambda entry: entry[0] / entry[1])
    return ROUNDING if largest <= rounding else DIFFERENT, largest, rounding


def _alike(first: xr.Dataset, second: xr.Dataset) -> bool:
    shapes = [{name: (table[name].dims, table[name].dtype) for name in table.data_vars} for table in (first, second)]
    return shapes[0] == shapes[1]


def _bits(values: xr.DataArray) -> Any:
    return values.values.tolist() if values.dtype == object else values.values.tobytes()


def _apart(first: np.ndarray, second: np.ndarray, *, eps: float) -> tuple[float, float]:
    """The largest difference, infinite for values that are no numbers or are missing on one side; and the rounding."""
    if not np.issubdtype(first.dtype, np.number):
        return 0.0 if first.tolist() == second.tolist() else np.inf, 1.0
    first, second = first.astype(float), second.astype(float)
    finite = np.isfinite(first)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True) or not np.isfinite(second[finite]).all():
        return np.inf, 1.0
    first, second = first[finite], second[finite]
    size = max(1.0, float(np.max(np.abs(first), initial=0.0)), float(np.max(np.abs(second), initial=0.0)))
    return float(np.max(np.abs(first - second), initial=0.0)), _ROUNDINGS * eps * size
