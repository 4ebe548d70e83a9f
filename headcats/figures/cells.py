"""From labelled data to the cells of a panel: checks, the full grid of layers and heads, head names."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Shaped

from headcats.errors import DataError

# What every figure tells of a head, in this order.
NUMBERS = ("effect", "low", "high", "q_value")
# Of the variables that came, so many are named.
_NAMED = 4


def require(data: Any, variables: Mapping[str, tuple[str, ...]], *, figure: str, source: str) -> None:
    """Check that a dataset holds these variables over these dimensions, in any order, and countable layers and heads.

    Args:
        data: What the user passed.
        variables: Name -> dimensions.
        figure: Name of the figure, for the message.
        source: What makes such a dataset, for the message, e.g. `"hc.overlap(members)"`.

    Raises:
        DataError: with what was expected and what came.
    """
    if not isinstance(data, xr.Dataset):
        raise DataError(f"{figure} expects an xarray.Dataset as {source} returns it; got a {type(data).__name__}.")
    for name, dims in variables.items():
        if name not in data or set(data[name].dims) != set(dims):
            came = [f"{key} {_dims(var)}" for key, var in data.data_vars.items() if key == name or name not in data]
            more = f" and {len(came) - _NAMED} more" if len(came) > _NAMED else ""
            raise DataError(
                f"{figure} expects `{name}` over ({', '.join(dims)}), as in what {source} returns: pass that; got "
                f"{', '.join(came[:_NAMED]) or 'no variable'}{more}."
            )
    for dim in ("layer", "head"):
        _check_counted(data, dim, figure=figure)


def _dims(values: xr.DataArray) -> str:
    return f"({', '.join(map(str, values.dims))})"


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


def head_name(layer: int, head: int) -> str:
    """The name of a head, e.g. `L9H6`."""
    return f"L{layer}H{head}"


def _check_counted(data: xr.Dataset, dim: str, *, figure: str) -> None:
    labels = np.asarray(data[dim])
    counted = labels.size > 0 and np.issubdtype(labels.dtype, np.integer) and labels.min() >= 0
    if not counted or len(np.unique(labels)) != labels.size:
        raise DataError(
            f"{figure} expects at least one {dim}, numbered by distinct whole numbers from 0 in its coordinate; "
            f"got {labels.tolist()!r:.80}."
        )
