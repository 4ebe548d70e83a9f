"""Memberships that no scores were judged for: `member (category, layer, head)` as a test says it."""

import numpy as np
import xarray as xr
from simulated import NAMES

GRID = ("category", "layer", "head")


def memberships(
    member: object, *, effect: object = 0.0, names: list[str] | None = None, attrs: dict[str, str] | None = None
) -> xr.Dataset:
    """What `hc.categorize` returns, as far as `hc.overlap` reads it: 1 in, 0 undecided, -1 out."""
    member = np.asarray(member, dtype=np.int8)
    return xr.Dataset(
        {"member": (GRID, member), "effect": (GRID, np.zeros(member.shape) + effect)},
        coords={"category": names or NAMES[: len(member)]}
        | {axis: np.arange(size) for axis, size in zip(GRID[1:], member.shape[1:], strict=True)},
        attrs=attrs or {},
    )
