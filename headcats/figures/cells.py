"""From labelled data to the cells of a panel: checks, the full grid of layers and heads, head names."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Shaped

from headcats.errors import DataError
from headcats.results import refuse_results

# What every figure tells of a head, in this order.
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
            came = [f"{key} {_dims(var)}" for key, var in data.data_vars.items() if key == name or name not in data]
            more = f" and {len(came) - _NAMED} more" if len(came) > _NAMED else ""
            raise DataError(
                f"{figure} expects `{name}` over ({', '.join(dims)}), as in what {source} returns: pass that; got "
                f"{', '.join(came[:_NAMED]) or 'no variable'}{more}."
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


def chosen(
    data: Any, names: Sequence[str], *, grid: tuple[str, str], rows: Sequence[str], figure: str, source: str, table: str
) -> tuple[str, str | None]:
    """The variable that a figure shows: the first of a declared list that lies over the grid.

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
    wanted = f"one of {', '.join(names)}" if len(names) > 1 else f"`{names[0]}`"
    over = f"over ({', '.join(grid)}) and at most one of {', '.join(rows)} (with or without seed)"
    refuse_results(data, by=figure, expected=f"{wanted} {over}", table=table)
    _check_type(data, figure=figure, source=source)
    for name in names:
        if name in data.data_vars:
            others = [str(dim) for dim in data[name].dims if dim not in (*grid, "seed")]
            if set(grid) <= set(data[name].dims) and len(others) <= 1 and set(others) <= set(rows):
                for dim in grid:
                    if dim in ("layer", "head"):
                        _check_counted(data, dim, figure=figure)
                return name, others[0] if others else None
    came = [f"{name} {_dims(values)}" for name, values in data.data_vars.items()]
    more = f" and {len(came) - _NAMED} more" if len(came) > _NAMED else ""
    raise DataError(
        f"{figure} expects {wanted} {over}, as in what {source} returns: pass that; got "
        f"{', '.join(came[:_NAMED]) or 'no variable'}{more}."
    )


def n_cells(data: xr.Dataset, dim: str) -> int:
    """Cells along `layer` or `head`, from 0 to the last one present: layers without attention heads leave a gap."""
    return int(data[dim].max()) + 1


def on_grid(values: xr.DataArray, *, fill: Any) -> Shaped[np.ndarray, "head layer *more"]:
    """Values as an array whose first two axes are head 0.. and layer 0.., `fill` where a layer or head is absent.

    A heatmap stretches its cells over missing coordinates; on the full grid every cell is one layer wide.
    """
    more: list[Hashable] = [dim for dim in values.dims if dim not in ("layer", "head")]
    layers, heads = (range(int(values[dim].max()) + 1) for dim in ("layer", "head"))
    # Other labels ride along as coordinates of other types, which reindexing would have to fill as well.
    bare = values.reset_coords(drop=True).transpose("head", "layer", *more)
    return bare.reindex(head=list(heads), layer=list(layers), fill_value=fill).to_numpy()


def of_frame(frame: pd.DataFrame, values: pd.Series, *, fill: Any) -> Shaped[np.ndarray, "layer head"]:
    """Values of a frame with one row per head (columns `layer` and `head`) on the full grid, `fill` where none is."""
    layers, heads = (frame[column].to_numpy() for column in ("layer", "head"))
    # Texts differ in length, which numpy's own would cut.
    kind = object if isinstance(fill, str) else np.asarray(fill).dtype
    grid = np.full((layers.max() + 1, heads.max() + 1), fill, dtype=kind)
    grid[layers, heads] = values
    return grid


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
