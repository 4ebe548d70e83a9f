"""Checks of the tables that figures read, and one row per head."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.results.head_axes import KV_HEAD, cell_name, unit_of
from headcats.results.run_results import refuse_results

# What figures say of a head, in this order.
NUMBERS = ("effect", "low", "high", "q_value")
POINTED_NUMBERS = "effect %{effect:.3f} [%{low:.3f}, %{high:.3f}], q %{q_value:.2g}"
_NAMED = 4  # of the variables that came


def require(
    data: Any, variables: Mapping[str, tuple[str, ...]], *, figure: str, table: str, counted: bool = True
) -> None:
    """Check that a dataset holds these variables over these dimensions, in any order, and countable layers and heads.

    The DataError says what the `figure` expects, what came, and how to get it (`table`, such as `hc.score(results)`).
    """
    by_dims: dict[tuple[str, ...], list[str]] = {}
    for name, dims in variables.items():
        by_dims.setdefault(dims, []).append(f"`{name}`")
    expected = "; ".join(f"{', '.join(names)} over ({', '.join(dims)})" for dims, names in by_dims.items())
    check_dataset(data, figure=figure, expected=expected, table=table)
    for name, dims in variables.items():
        if name not in data or set(data[name].dims) != set(dims):
            received = variables_of(data, [name] if name in data else data.data_vars)
            raise DataError(f"{figure} expects `{name}` over ({', '.join(dims)}); got {received}. Pass {table}.")
    if counted:
        check_counted(data, ("layer", "head"), figure=figure)


def n_cells(data: xr.Dataset, dim: str) -> int:
    """Cells along `layer` or `head`, from 0 to the last one present: layers without attention heads leave a gap."""
    return int(data[dim].max()) + 1


def head_rows(table: xr.Dataset, columns: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """Rows of a table, one per head: `layer, head, name` and, for each column, the values over layer and head.

    With `kv_head` where the table has that coordinate.
    """
    layers, heads = (grid.ravel() for grid in np.meshgrid(table["layer"], table["head"], indexing="ij"))
    unit = unit_of(table)
    names = [cell_name(layer, head, unit) for layer, head in zip(layers, heads, strict=True)]
    columns = {**columns, **{name: table[name] for name in (KV_HEAD,) if name in table.coords}}
    values = {name: column.transpose("layer", "head").to_numpy().ravel() for name, column in columns.items()}
    return pd.DataFrame({"layer": layers, "head": heads, "name": names} | values)


def check_dataset(data: Any, *, figure: str, expected: str, table: str) -> None:
    """Raise a DataError for anything but a dataset."""
    refuse_results(data, by=figure, expected=expected, table=table)
    if not isinstance(data, xr.Dataset):
        raise DataError(f"{figure} expects an xarray.Dataset, as {table} gives it; got a {type(data).__name__}.")


def variables_of(data: xr.Dataset, names: Iterable[Any]) -> str:
    """List the first of these variables with their dimensions."""
    variables = [f"{name} ({', '.join(map(str, data[name].dims))})" for name in names]
    more = f" and {len(variables) - _NAMED} more" if len(variables) > _NAMED else ""
    return f"{', '.join(variables[:_NAMED]) or 'no variable'}{more}"


def check_counted(data: xr.Dataset, dims: Iterable[str], *, figure: str) -> None:
    """Raise a DataError unless these dimensions are counted from 0."""
    for dim in dims:
        labels = np.asarray(data[dim])
        counted = labels.size > 0 and np.issubdtype(labels.dtype, np.integer) and labels.min() >= 0
        if not counted or len(np.unique(labels)) != labels.size:
            raise DataError(
                f"{figure} expects at least one {dim}, numbered by distinct whole numbers from 0 in its coordinate; "
                f"got {labels.tolist()!r:.80}."
            )
