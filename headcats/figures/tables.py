"""Checks of the tables that figures read, the order of their panels, and one row per head."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.figures.colours import listed_colours
from headcats.results.categories import FUNCTIONS
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
    _check_dataset(data, figure=figure, expected=expected, table=table)
    for name, dims in variables.items():
        if name not in data or set(data[name].dims) != set(dims):
            received = _received(data, [name] if name in data else data.data_vars)
            raise DataError(f"{figure} expects `{name}` over ({', '.join(dims)}); got {received}. Pass {table}.")
    if counted:
        _check_counted(data, ("layer", "head"), figure=figure)


def pick_variable(
    data: Any, names: Sequence[str], *, grid: tuple[str, str], rows: Sequence[str], figure: str, table: str
) -> tuple[str, str | None]:
    """Name of the first of these variables over the grid, and its dimension that gives panels (None: one panel).

    Both dimensions of `grid` are needed; one of `rows` may come besides, and `seed`. Errors are those of `require`.
    """
    variable = f"one of {', '.join(names)}" if len(names) > 1 else f"`{names[0]}`"
    expected = f"{variable} over ({', '.join(grid)}) and at most one of {', '.join(rows)} (with or without seed)"
    _check_dataset(data, figure=figure, expected=expected, table=table)
    for name in names:
        dims = [str(dim) for dim in data[name].dims] if name in data.data_vars else []
        panels = [dim for dim in dims if dim not in (*grid, "seed")]
        if set(grid) <= set(dims) and len(panels) <= 1 and set(panels) <= set(rows):
            _check_counted(data, {"layer", "head"} & set(grid), figure=figure)
            return name, panels[0] if panels else None
    raise DataError(f"{figure} expects {expected}; got {_received(data, data.data_vars)}. Pass {table}.")


def panel_names(data: xr.Dataset, row: str, *, figure: str) -> list[str]:
    """Labels along `row` in the order of their panels; a DataError if there is none, or one comes twice.

    The eight functions stand in the order of their scheme; other names in that of the attribute `categories`, with
    those that it does not list after them as they come.
    """
    labels = [str(label) for label in data[row].values] if row in data.coords else []
    if not labels or len(set(labels)) < len(labels):
        received = ", ".join(labels) or f"{data.sizes[row]} without labels"
        raise DataError(f"{figure} expects distinct labels along `{row}`, one per panel; got {received}.")
    order = list(FUNCTIONS)
    if not set(labels) <= set(FUNCTIONS):
        order = []
        with contextlib.suppress(DataError):
            order = list(listed_colours(data))
    return [name for name in order if name in labels] + [name for name in labels if name not in order]


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


def _check_dataset(data: Any, *, figure: str, expected: str, table: str) -> None:
    refuse_results(data, by=figure, expected=expected, table=table)
    if not isinstance(data, xr.Dataset):
        raise DataError(f"{figure} expects an xarray.Dataset, as {table} gives it; got a {type(data).__name__}.")


def _received(data: xr.Dataset, names: Iterable[Any]) -> str:
    """List the first of these variables with their dimensions."""
    variables = [f"{name} ({', '.join(map(str, data[name].dims))})" for name in names]
    more = f" and {len(variables) - _NAMED} more" if len(variables) > _NAMED else ""
    return f"{', '.join(variables[:_NAMED]) or 'no variable'}{more}"


def _check_counted(data: xr.Dataset, dims: Iterable[str], *, figure: str) -> None:
    for dim in dims:
        labels = np.asarray(data[dim])
        counted = labels.size > 0 and np.issubdtype(labels.dtype, np.integer) and labels.min() >= 0
        if not counted or len(np.unique(labels)) != labels.size:
            raise DataError(
                f"{figure} expects at least one {dim}, numbered by distinct whole numbers from 0 in its coordinate; "
                f"got {labels.tolist()!r:.80}."
            )
