"""Every head and category as rows, members or not."""

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.outcome import outcomes
from headcats.results.head_axes import cell_name, unit_of

_NUMBERS = {"effect": "effect", "low": "low", "high": "high", "q": "q_value", "probability": "probability"}


def every_head(overlap: xr.Dataset) -> pd.DataFrame:
    """Overlap as a table with one row per category and head.

    Returns:
        Columns `head`, `category`, `outcome` ("in", "undecided", "out", or "not judged" where there is no number) by
        the sign of the table, `effect, low, high` in shares of the gap, `q`, where there are resamples `probability`,
        and `tasks`, in which the head passes. In the order of the categories, layers and heads.
    """
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
