"""What figures ask of the tables that they read, and one row per head from them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import DataError
from headcats.results.tree import refuse_results

# What figures say of a head, in this order.
NUMBERS = ("effect", "low", "high", "q_value")
# Of the variables that came, so many are named.
_NAMED = 4


def require(
    data: Any,
    variables: Mapping[str, tuple[str, ...]],
    *,
    figure: str,
    source: str,
    table: str,
    counted: tuple[str, ...] = ("layer", "head"),
) -> None:
    """Check that a dataset holds these variables over these dimensions, in any order, and countable layers and heads.

    Args:
        data: What the user passed.
        variables: Name -> dimensions.
        figure: Name of the figure, for the message.
        source: What makes such a dataset, for the message, e.g. `"hc.overlap(members)"`.
        table: How to get it from `results` of a run, for the message, e.g. `hc.score(results)`.
        counted: Dimensions numbered from 0.

    Raises:
        DataError: with what was expected and what came.
    """
    expected = "; ".join(f"`{name}` over ({', '.join(dims)})" for name, dims in _by_dims(variables).items())
    refuse_results(data, by=figure, expected=expected, table=table)
    _check_type(data, figure=figure, source=source)
    for name, dims in variables.items():
        if name not in data or set(data[name].dims) != set(dims):
            received = [f"{key} {_dims(var)}" for key, var in data.data_vars.items() if key == name or name not in data]
            more = f" and {len(received) - _NAMED} more" if len(received) > _NAMED else ""
            raise DataError(
                f"{figure} expects `{name}` over ({', '.join(dims)}), as in what {source} returns: pass that; got "
                f"{', '.join(received[:_NAMED]) or 'no variable'}{more}."
            )
    for dim in counted:
        _check_counted(data, dim, figure=figure)


def _by_dims(variables: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Names of variables over the same dimensions, joined -> dimensions."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, dims in variables.items():
        names.setdefault(dims, []).append(name)
    return {"`, `".join(those): dims for dims, those in names.items()}


def _dims(values: xr.DataArray) -> str:
    return f"({', '.join(map(str, values.dims))})"


def pick_variable(
    data: Any, names: Sequence[str], *, grid: tuple[str, str], rows: Sequence[str], figure: str, source: str, table: str
) -> tuple[str, str | None]:
    """The variable to draw: the first of a list that lies over the grid.

    Args:
        data: What the user passed.
        names: Names of variables, the first present one is taken.
        grid: Dimensions of one panel, both needed.
        rows: Names of dimensions, of which one may come besides (one panel each); `seed` may, too.
        figure: Name of the figure, for the message.
        source: What makes such a dataset, for the message.
        table: How to get it from `results` of a run, for the message.

    Returns:
        Its name, and the dimension that gives panels, None where there is none.

    Raises:
        DataError: none of the variables is there over such dimensions.
    """
    expected_variable = f"one of {', '.join(names)}" if len(names) > 1 else f"`{names[0]}`"
    over = f"over ({', '.join(grid)}) and at most one of {', '.join(rows)} (with or without seed)"
    refuse_results(data, by=figure, expected=f"{expected_variable} {over}", table=table)
    _check_type(data, figure=figure, source=source)
    for name in names:
        if name in data.data_vars:
            extra_dims = [str(dim) for dim in data[name].dims if dim not in (*grid, "seed")]
            if set(grid) <= set(data[name].dims) and len(extra_dims) <= 1 and set(extra_dims) <= set(rows):
                for dim in grid:
                    if dim in ("layer", "head"):
                        _check_counted(data, dim, figure=figure)
                return name, extra_dims[0] if extra_dims else None
    received = [f"{name} {_dims(values)}" for name, values in data.data_vars.items()]
    more = f" and {len(received) - _NAMED} more" if len(received) > _NAMED else ""
    raise DataError(
        f"{figure} expects {expected_variable} {over}, as in what {source} returns: pass that; got "
        f"{', '.join(received[:_NAMED]) or 'no variable'}{more}."
    )


def n_cells(data: xr.Dataset, dim: str) -> int:
    """Cells along `layer` or `head`, from 0 to the last one present: layers without attention heads leave a gap."""
    return int(data[dim].max()) + 1


def head_rows(table: xr.Dataset, columns: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """One row per head of a table: `layer, head, name` and, for each column, the values over layer and head."""
    layers, heads = (grid.ravel() for grid in np.meshgrid(table["layer"], table["head"], indexing="ij"))
    names = [head_name(int(layer), int(head)) for layer, head in zip(layers, heads, strict=True)]
    values = {name: column.transpose("layer", "head").to_numpy().ravel() for name, column in columns.items()}
    return pd.DataFrame({"layer": layers, "head": heads, "name": names} | values)


def head_name(layer: int, head: int) -> str:
    """The name of a head, e.g. `L9H6`."""
    return f"L{layer}H{head}"


def _check_type(data: Any, *, figure: str, source: str) -> None:
    if not isinstance(data, xr.Dataset):
        raise DataError(f"{figure} expects an xarray.Dataset as {source} returns it; got a {type(data).__name__}.")


def _check_counted(data: xr.Dataset, dim: str, *, figure: str) -> None:
    labels = np.asarray(data[dim])
    counted = labels.size > 0 and np.issubdtype(labels.dtype, np.integer) and labels.min() >= 0
    if not counted or len(np.unique(labels)) != labels.size:
        raise DataError(
            f"{figure} expects at least one {dim}, numbered by distinct whole numbers from 0 in its coordinate; "
            f"got {labels.tolist()!r:.80}."
        )
