"""Scores as a table with one row for every head on every task, and scores without their draws."""

import pandas as pd
import xarray as xr

_DIMS = ("task", "layer", "head")
_ABOUT = ("method", "positions", "metric", "approximation")
_FIRST = (*_ABOUT, "category", "independent_source", *_DIMS, "effect", "low", "high", "p_value", "q_value")
_DRAWS = ("resample", "draw")  # most of what scores and memberships take of the memory


def score_table(scores: xr.Dataset) -> pd.DataFrame:
    """Every number of scores that belongs to a task, a head, or both."""
    names = [str(name) for name, values in scores.variables.items() if values.dims and set(values.dims) <= set(_DIMS)]
    frame = scores[[name for name in names if name not in _DIMS]].to_dataframe(dim_order=list(_DIMS)).reset_index()
    frame = frame.assign(**{name: scores.attrs[name] for name in _ABOUT if name in scores.attrs})
    first = [name for name in _FIRST if name in frame]
    return frame[[*first, *(name for name in names if name not in first)]]


def without_draws(table: xr.Dataset) -> xr.Dataset:
    """Scores, memberships or an overlap without their draws."""
    return table.drop_dims(_DRAWS, errors="ignore")
