"""The numbers of every head over tasks and methods, packed so that a page can hold them for 80 x 64 heads."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int16, Shaped

EFFECT_FIELDS = ("effect", "low", "high", "q_value")
# An effect is kept to the fourth digit; larger ones than 3.2 to 1/32000 of the largest.
_STEP, _LARGEST, _MISSING = 1e-4, 32000, -32768
# q as thousandths of its decimal logarithm: to a quarter of a percent, down to 1e-32.
_PER_DECADE = 1000


@dataclass(frozen=True)
class Rows:
    """One number or four of every head in a row: a task, a category or a function.

    Attributes:
        label: What gave the numbers, such as "denoising_patch@last".
        dim: What one row is: "task", "category", "function".
        unit: What the numbers are, in words.
        names: Of the rows.
        groups: Category of every row.
        values: Name of a number -> `(row, layer, head)`; "effect", "low", "high" and "q_value", or "score" alone.
    """

    label: str
    dim: str
    unit: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    values: Mapping[str, Float[np.ndarray, "row layer head"]]


@dataclass
class Packed:
    """What the page's script unpacks: a description, and the numbers it describes in one run of bytes."""

    about: list[dict[str, Any]] = field(default_factory=list)
    data: bytes = b""
    left_out: list[str] = field(default_factory=list)
    """Labels of the rows for which there was no room."""


def effect_rows(scores: xr.Dataset, *, dim: str, label: str, grid: tuple[int, int]) -> Rows:
    """Effects with interval and q as rows of a page.

    Args:
        scores: `effect, low, high, q_value` over (task or category, layer, head).
        dim: The row dimension, "task" or "category".
        label: What gave the numbers.
        grid: Layers and heads, counted from 0.
    """
    names = tuple(str(name) for name in scores[dim].values)
    groups = names if dim == "category" else tuple(str(name) for name in scores["category"].values)
    values = {name: on_grid(scores[name].astype(float), grid) for name in EFFECT_FIELDS}
    return Rows(label, dim, "effect, in shares of the clean-corrupted gap", names, groups, values)


def on_grid(
    values: xr.DataArray, grid: tuple[int, int], *, fill: Any = np.nan
) -> Shaped[np.ndarray, "*row layer head"]:
    """Values with every layer and head from 0 on; `fill` where one is absent."""
    bare = values.reset_coords(drop=True).transpose(..., "layer", "head")
    return bare.reindex(layer=range(grid[0]), head=range(grid[1]), fill_value=fill).to_numpy()


def pack(blocks: Sequence[Rows], *, room: int) -> Packed:
    """Rows in turn, as long as the compressed bytes fit.

    Args:
        blocks: The most important first; the first is taken whatever its size.
        room: Characters that the packed bytes may take on the page.
    """
    packed, raw = Packed(), b""
    for rows in blocks:
        about, data = _encoded(rows, start=len(raw))
        if packed.about and len(deflated(raw + data)) > room:
            packed.left_out.append(rows.label)
            continue
        packed.about.append(about)
        raw += data
    packed.data = raw
    return packed


def deflated(data: bytes) -> str:
    """Compressed, as text that may stand in a page."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def deflated_json(content: Any) -> str:
    """JSON, compressed likewise."""
    return deflated(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8"))


def _encoded(rows: Rows, *, start: int) -> tuple[dict[str, Any], bytes]:
    """Description and bytes; `low` and `high` are kept as distances from the effect, which compress better."""
    sizes = {name: array for name, array in rows.values.items() if name != "q_value"}
    largest = max(np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in sizes.values())
    # Twice, as the distance of an end from its effect has to fit too.
    step = max(_STEP if "effect" in sizes else 0.0, 2 * float(largest) / _LARGEST) or _STEP
    steps = {name: _counts(array, step) for name, array in sizes.items()}
    data, fields = b"", []
    for name, array in rows.values.items():
        if name == "q_value":
            with np.errstate(divide="ignore"):
                counts = _counts(np.log10(np.maximum(array, 1e-32)), 1 / _PER_DECADE)
        elif name in ("low", "high"):
            distance = (1 if name == "high" else -1) * (steps[name].astype(int) - steps["effect"])
            missing = (steps[name] == _MISSING) | (steps["effect"] == _MISSING)
            counts = np.where(missing, _MISSING, distance).astype(np.int16)
        else:
            counts = steps[name]
        fields.append(name)
        # All low bytes, then all high bytes: the latter hardly differ, and take next to no room.
        data += counts.astype("<i2").view(np.uint8).reshape(-1, 2).T.tobytes()
    shape = next(iter(rows.values.values())).shape
    about = {
        "label": rows.label, "what": rows.dim, "unit": rows.unit, "names": list(rows.names),
        "groups": list(rows.groups), "fields": fields, "step": step, "start": start, "shape": list(shape),
    }  # fmt: skip
    return about, data


def _counts(values: Float[np.ndarray, "*shape"], step: float) -> Int16[np.ndarray, "*shape"]:
    finite = np.isfinite(values)
    return np.where(finite, np.rint(np.where(finite, values, 0) / step), _MISSING).astype(np.int16)
