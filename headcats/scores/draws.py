"""Bootstrap and null draws, most of what scores and memberships take of the memory."""

import xarray as xr

DRAWS = ("resample", "draw")
"""Their dims."""


def without_draws(table: xr.Dataset) -> xr.Dataset:
    """Scores, memberships or an overlap without their draws."""
    return table.drop_dims(DRAWS, errors="ignore")
