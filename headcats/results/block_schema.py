"""What a block must hold to be used: one of a task for effects (docs/schema.md, "Raw block"), a joint one its names."""

import json

import numpy as np
import xarray as xr

_DIMS: dict[str, list[tuple[str, ...]]] = {
    "patched": [("metric", "prompt", "layer", "head"), ("metric", "prompt", "position", "layer", "head")],
    "clean": [("metric", "prompt")],
    "corrupted": [("metric", "prompt")],
}
_TEXTS = {"metric": ("metric",), "item": ("prompt",), "distractor_task": ("prompt",)}
_NUMBERS = {"layer": ("layer",), "head": ("head",)}
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
