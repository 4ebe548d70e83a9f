"""What became of every head in every category, in words."""

import numpy as np
import pandas as pd
import xarray as xr

from headcats.results.head_axes import cell_name, unit_of

IN, UNDECIDED, OUT, NOT_JUDGED = "in", "undecided", "out", "not judged"
_NUMBERS = {"effect": "effect", "low": "low", "high": "high", "q": "q_value", "probability": "probability"}


def outcomes(table: xr.Dataset) -> xr.DataArray:
    """Outcome of each head in a table of memberships, in words: its `member`, where there is an `effect`."""
    member = table["member"]
    judged = table["effect"].transpose(*member.dims).notnull()
    words = np.select([~judged, member == 1, member == 0], [NOT_JUDGED, IN, UNDECIDED], OUT)
    return member.copy(data=words)


def every_head(overlap: xr.Dataset) -> pd.DataFrame:
    """Overlap as a table with one row per category and head, in the order of the categories, layers and heads."""
    axes = ("category", "layer", "head")
    table = overlap.transpose(*axes, ...)
    shape = tuple(overlap.sizes[axis] for axis in axes)
    category, layer, head = (
        overlap[axis].to_numpy()[places].ravel() for axis, places in zip(axes, np.indices(shape), strict=True)
    )
    unit = unit_of(overlap)
    columns = {
        "head": [cell_name(int(i), int(j), unit) for i, j in zip(layer, head, strict=True)],
        "category": category,
        "outcome": outcomes(table).to_numpy().ravel(),
    }
    numbers = {column: table[name].to_numpy().ravel() for column, name in _NUMBERS.items() if name in table}
    return pd.DataFrame(columns | numbers | {"tasks": table["tasks"].to_numpy().ravel()})
