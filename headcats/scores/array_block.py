"""Numbers of a notebook, with their axes named: a raw block as `hc.sweep` returns it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError

GRID = ("layer", "head")
_DIMS = {2: ("prompt", "layer"), 3: ("prompt", *GRID), 4: ("prompt", "position", *GRID)}
# Axes of TransformerLens' PatchingResult.
_AXES = {"layer": "layer", "head": "head", "head_index": "head", "pos": "position", "dest_pos": "position"}
_GROUPED = ("k", "v")


def as_block(
    values: Any,
    *,
    clean: Any,
    corrupted: Any = None,
    base: str = "corrupted",
    items: Sequence[str] | None = None,
    task: str = "",
) -> xr.Dataset:
    """Numbers for every prompt, layer and head, from anywhere, as `hc.sweep` returns them.

    The numbers are those of a metric on patched (or ablated) prompts, higher for a better answer, not differences:
    `hc.score` takes effects as shares of the mean clean-corrupted gap. A number for each layer alone, as of an MLP, is
    a layer with one head, 0.

    Args:
        values: Array or tensor `[prompt, layer, head]`, `[prompt, layer]` or `[prompt, position, layer, head]`; an
            xarray.DataArray with such dims in any order; or a PatchingResult of TransformerLens, whose function was
            called with `reduce="none", baseline=True`.
        clean: The metric of every unpatched clean prompt, `[prompt]`; of several metrics `[metric, prompt]`.
        corrupted: The same of the corrupted prompts; None takes the `baseline` of a PatchingResult.
        base: The run that was patched: "corrupted", or "clean" for noising and ablation.
        items: Query of each prompt, the unit of all statistics; default: every prompt is its own item.
        task: Name of the task.

    Returns:
        `patched (metric, prompt, layer, head)`, `clean` and `corrupted (metric, prompt)`, in the unit of the metric;
        with `position` or `patch_type` before the layer where the values have them. Heads that TransformerLens fills
        up with zeros (of keys and values that query heads share, in its functions for every kind of patch) are NaN.

    Raises:
        DataError: Shapes that do not match, values without prompts (`reduce="mean"`), no corrupted numbers, or some
            that are not finite: NaN stands for a head that a layer lacks, in every prompt.
        OptionError: Another base.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> draws = np.random.default_rng(0)
        >>> patched = draws.normal(size=(16, 6, 8))  # prompt, layer, head
        >>> block = hc.as_block(patched, clean=draws.normal(3, size=16), corrupted=np.zeros(16), task="mine")
        >>> block.patched.dims
        ('metric', 'prompt', 'layer', 'head')
        >>> dict(hc.score(block).effect.sizes)
        {'task': 1, 'layer': 6, 'head': 8}

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, for the effect.
    """
    if base not in ("clean", "corrupted"):
        raise OptionError(f"base must be 'clean' or 'corrupted', the run that was patched; got {base!r}.")
    patched, metrics, baseline = _patched(values)
    given = {"clean": clean, "corrupted": corrupted}
    if baseline is not None and given[base] is None:
        given[base] = baseline
    unpatched = {name: _numbers(name, value, metrics) for name, value in given.items()}
    n = patched.sizes["prompt"]
    for name, numbers in unpatched.items():
        if numbers.shape != (len(metrics), n):
            raise DataError(
                f"{name} must hold a number for each of the {n} prompts of values {_shape(patched)}; got shape "
                f"{numbers.shape[1:] if len(metrics) == 1 else numbers.shape}. The first axis of an array is that of "
                "prompts."
            )
        if not np.isfinite(numbers).all():
            raise DataError(f"{name} holds NaN or infinite numbers: leave such prompts out of all arrays.")
    _check_values(patched)
    keys = [f"prompt {number}" for number in range(n)]
    own = patched["item"].values.tolist() if "item" in patched.coords else keys
    names = list(map(str, own if items is None else items))
    if len(names) != n:
        raise DataError(f"items must name the query of each of the {n} prompts; got {len(names)}.")
    return xr.Dataset(
        {"patched": patched, **{name: (("metric", "prompt"), numbers) for name, numbers in unpatched.items()}},
        coords={
            **{dim: np.arange(size) for dim, size in patched.sizes.items() if dim in (*GRID, "position")},
            **patched.coords,
            "metric": metrics,
            "key": ("prompt", keys),
            "item": ("prompt", names),
        },
        attrs={"method": "given", "base": base, "positions": "", "sign": "positive effect = the head helps the task"}
        | ({"task": task} if task else {}),
    )


def _check_values(patched: xr.DataArray) -> None:
    """A head that is NaN in some prompts alone would have no score, and nobody would know why."""
    lacking = patched.isnull()
    broken = (abs(patched) == np.inf) | (lacking & ~lacking.all("prompt"))
    of_heads = broken.any([dim for dim in patched.dims if dim not in GRID]).transpose(*GRID)
    if of_heads.any():
        places = np.argwhere(of_heads.values).tolist()
        raise DataError(
            f"values hold infinite numbers, or NaN in some prompts alone, at {len(places)} of {of_heads.size} places "
            f"(layer, head), {tuple(places[0])} first: leave such prompts out of all arrays."
        )


def _patched(values: Any) -> tuple[xr.DataArray, list[str], Any]:
    """Values over (metric, prompt, ..., layer, head), the names of metrics, and a baseline where there is one."""
    baseline, metrics = None, ["metric"]
    if hasattr(values, "axis_names") and hasattr(values, "reduced"):
        array, metrics, baseline = _of_patching_result(values), list(values.metric_names), values.baseline
    elif isinstance(values, xr.DataArray):
        array = values.astype(float)
        metrics = [str(name) for name in array["metric"].values] if "metric" in array.coords else metrics
    else:
        plain = _plain(values)
        if plain.ndim not in _DIMS:
            raise DataError(
                f"values must be [prompt, layer, head], [prompt, layer] or [prompt, position, layer, head]; got shape "
                f"{plain.shape}. Name other axes: xarray.DataArray(values, dims=[...])."
            )
        array = xr.DataArray(plain, dims=_DIMS[plain.ndim])
    if lacking := {"prompt", "layer"} - set(array.dims):
        raise DataError(
            f"values must have the axes prompt and layer; these have {', '.join(map(str, array.dims))}, and lack "
            f"{' and '.join(sorted(lacking))}."
        )
    for dim in ("metric", "head"):
        array = array if dim in array.dims else array.expand_dims(dim)
    return array.transpose("metric", "prompt", ..., *GRID), metrics, baseline


def _of_patching_result(result: Any) -> xr.DataArray:
    if result.reduced:
        raise DataError(
            "This PatchingResult holds means over prompts, which have no intervals: call the function of "
            "transformer_lens.patching with reduce='none', baseline=True, and a metric that gives a number per prompt."
        )
    axes, values = [str(axis) for axis in result.axis_names], _plain(result.values)
    if not axes:
        # One flat axis of cells, in the order of the table that says which they are.
        index = result.index_df.rename(columns=_AXES)
        axes = [str(axis) for axis in index.columns]
        sizes = [int(index[axis].max()) + 1 for axis in axes]
        cells = np.moveaxis(values, -2, 0)
        values = np.full((*sizes, *cells.shape[1:]), np.nan)
        values[tuple(index[axis].to_numpy() for axis in axes)] = cells
        values = np.moveaxis(values, -2, 0) if result.has_metric_axis else values
    if unknown := [axis for axis in axes if axis not in (*_AXES, "position", "patch_type")]:
        raise DataError(f"A block has no axis {unknown[0]!r}: select one of its values first, or take their mean.")
    dims = ["metric"] * result.has_metric_axis + [_AXES.get(axis, axis) for axis in axes] + ["prompt"]
    array = xr.DataArray(values, dims=dims)
    if "patch_type" in dims and result.patch_type_names is not None:
        array = _without_filling(array.assign_coords(patch_type=[str(name) for name in result.patch_type_names]))
    return array


def _without_filling(array: xr.DataArray) -> xr.DataArray:
    """NaN for the heads of keys and values that are there to fill up: zero everywhere, behind all that are not."""
    if "head" not in array.dims:
        return array
    used = (array != 0).any([dim for dim in array.dims if dim not in ("patch_type", "head")])
    behind = used.cumsum("head") == used.sum("head")
    return array.where(used | ~behind | ~used.any("head") | ~array["patch_type"].isin(_GROUPED))


def _numbers(name: str, value: Any, metrics: Sequence[str]) -> np.ndarray:
    if value is None:
        raise DataError(
            f"The metric of the unpatched {name} prompts is missing: pass {name}=, a number per prompt (a "
            "PatchingResult has that of the patched run if baseline=True)."
        )
    numbers = _plain(value)
    return numbers[None] if numbers.ndim == 1 and len(metrics) == 1 else numbers


def _plain(value: Any) -> np.ndarray:
    """An array or tensor on any device as an array of numbers."""
    value = value.detach().cpu().double() if hasattr(value, "detach") else value
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Expected an array of numbers; got a {type(value).__name__}.") from None


def _shape(array: xr.DataArray) -> str:
    return f"({', '.join(f'{dim} {size}' for dim, size in array.sizes.items() if dim != 'metric')})"
