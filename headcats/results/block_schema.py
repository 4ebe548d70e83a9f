"""Schema of a block (docs/schema.md, "Raw block"), the model that it is of, and blocks of several batches as one."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcats.results.records import ModelRecord

_DIMS: dict[str, list[tuple[str, ...]]] = {
    "patched": [("metric", "prompt", "layer", "head"), ("metric", "prompt", "position", "layer", "head")],
    "clean": [("metric", "prompt")],
    "corrupted": [("metric", "prompt")],
}
_TEXTS = {"metric": ("metric",), "item": ("prompt",), "distractor_task": ("prompt",)}
_NUMBERS = {"layer": ("layer",), "head": ("head",)}
_LEVELS = 2
_JSON = ("categories", "declaration", "provenance", "summary")


def joint_problem(block: xr.Dataset) -> str:
    """Problem of what the block of a joint method says of itself; "" for none."""
    if lacking := [name for name in ("label", "model") if not isinstance(block.attrs.get(name), str)]:
        return f"it does not say its {', '.join(lacking)}"
    return _text_problem(block)


def _text_problem(block: xr.Dataset) -> str:
    for name in _JSON:
        try:
            json.loads(block.attrs.get(name, "{}"))
        except (TypeError, ValueError, RecursionError):
            return f"its attribute `{name}` is no JSON"
    return ""


def block_problem(block: xr.Dataset) -> str:
    """Problem of a block; "" for none. Blocks of methods that patch nothing are not looked into."""
    if "patched" not in block.variables:
        return "" if "score" in block.variables else "it has no `patched`"
    variables = block.variables  # in a tenth of the time that the arrays of a dataset take
    for name, alternatives in _DIMS.items():
        if name not in variables:
            continue
        if variables[name].dims not in alternatives:
            return f"`{name}` has the dimensions {variables[name].dims}, not {alternatives[0]}"
        if not np.issubdtype(variables[name].dtype, np.floating):
            return f"`{name}` holds {variables[name].dtype}, no floating-point numbers"
    if empty := [str(dim) for dim, size in variables["patched"].sizes.items() if size == 0]:
        return f"`patched` is empty along {', '.join(empty)}"
    for name, dims in (_TEXTS | _NUMBERS).items():
        if name in variables and variables[name].dims != dims:
            return f"`{name}` has the dimensions {variables[name].dims}, not {dims}"
    if "metric" not in block.coords:
        return "it has no coordinate `metric`"
    for name in _NUMBERS:
        if name in variables and not np.issubdtype(variables[name].dtype, np.integer):
            return f"`{name}` holds {variables[name].dtype}, no whole numbers"
    return _text_problem(block)


def mark_noise(ds: xr.Dataset, noise: Any) -> xr.Dataset:
    """A sweep with `noise (metric)`, if any, and `below_noise`: |mean over prompts of patched - base| < 2 noise."""
    if noise is None:
        return ds
    limits = xr.DataArray(np.asarray(noise), dims="metric")
    change = (ds.patched - ds[ds.attrs["base"]]).mean("prompt")
    return ds.assign(noise=limits, below_noise=abs(change) < _LEVELS * limits)


def join_batches(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Blocks of one method joined along `prompt`, with the noise, the paths and the worst self-check of all of them."""
    numbers = [part.drop_vars(("noise", "below_noise"), errors="ignore") for part in parts]
    joined = xr.concat(numbers, dim="prompt", data_vars="minimal", coords="different", compat="equals", join="exact")
    attrs = {"path": "; ".join(dict.fromkeys(part.attrs["path"] for part in parts))} if "path" in parts[0].attrs else {}
    if "self_check" in parts[0].attrs:
        attrs["self_check"] = worst_check(part.attrs["self_check"] for part in parts)
    provenance = json.dumps(json.loads(parts[0].attrs["provenance"]) | attrs, ensure_ascii=False)
    # Sweeps of a script drop nothing, and do not count it.
    dropped = {"dropped": sum(part.attrs["dropped"] for part in parts)} if "dropped" in parts[0].attrs else {}
    joined.attrs = parts[0].attrs | dropped | attrs | {"provenance": provenance}
    noises = [part.noise for part in parts if "noise" in part]
    if not noises:
        return joined
    sizes = [part.sizes["prompt"] for part in parts]
    return mark_noise(joined, np.sqrt(np.average(np.square(noises), axis=0, weights=sizes)))


def worst_check(checks: Iterable[str]) -> str:
    """The self-check of several that says most against a path: a failed one, or the largest difference."""

    def badness(check: str) -> tuple[bool, float]:
        differences = [float(number) for number in re.findall(r"largest difference (\S+)", check)]
        return not check.startswith("passed"), max(differences, default=0.0)

    return max(checks, key=badness)


def other_model(table: xr.Dataset, model: ModelRecord) -> str:
    """Difference of the model that a table was made on; "" for none that it says."""
    if table.attrs.get("made_on", model.identity) != model.identity:
        return "another model"
    if "patched" not in table or "layer" not in table.coords or not model.layers:
        return ""  # a joint method may read some layers
    return "" if table.variables["layer"].values.tolist() == list(model.layers) else "other layers"
