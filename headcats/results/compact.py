"""Blocks in half precision: what every head changes, in 16 bits, with the loss measured and kept in the block.

Of a compact block, `patched_mean` is the mean over prompts of the difference between `patched` and the run that was
edited, and `patched_difference` what each prompt differs from that, as float16 times a power of two for each metric.
netCDF has no such type: its bits stand as 16-bit integers, compressed. What is read is a block as always.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr

from headcats.errors import UnknownNameError, pluralize
from headcats.registry import unknown_name_message

Store = Literal["whole", "compact"]
WHOLE, COMPACT = get_args(Store)
BOUND = 0.01
"""Largest loss of an effect that a compact block may have, in standard errors of the effect."""
ROUNDED = "rounded"
"""Attribute of blocks that were to be compact: JSON of `Loss`."""
_PATCHED, _DIFFERENCE, _MEAN, _SCALE = "patched", "patched_difference", "patched_mean", "patched_scale"
# Far below the largest number of float16, 65504: the smallest that keeps all its digits is 2^28 times smaller.
_LARGEST = 2.0**14
_FILTERS = {"zlib": True, "complevel": 4, "shuffle": True, "_FillValue": None}


@dataclass(frozen=True)
class Loss:
    """What rounding changes in the effects of a block, in standard errors over prompts of the effect of a head.

    Attributes:
        largest: Of any head and metric; infinite where a head without any scatter changes.
        mean: Over heads and metrics.
        bound: Largest that is allowed.
        store: "compact", or "whole" of a block whose loss is beyond the bound.
    """

    largest: float
    mean: float
    bound: float
    store: Store


def check_store(store: Any) -> Store:
    """The store; an UnknownNameError for anything but "whole" or "compact"."""
    if store not in get_args(Store):
        raise UnknownNameError(unknown_name_message("store", str(store), get_args(Store)))
    known: Store = store
    return known


def compacted(block: xr.Dataset) -> xr.Dataset:
    """A block as a compact store keeps it; whole where it patches nothing, or would lose more than `BOUND`.

    The attribute `rounded` says what is lost, also of a block that stays whole for it.
    """
    if _PATCHED not in block or block.attrs.get("base") not in block:
        return block
    values = block[_PATCHED]
    others = tuple(dim for dim in values.dims if dim != "metric")
    difference = values.astype(np.float64) - block[block.attrs["base"]]
    difference = difference.transpose(*values.dims)
    # In 16 bits a large effect that hardly varies would lose more than it varies.
    mean = difference.mean("prompt").astype(np.float32)
    varied = difference - mean
    largest = abs(varied).max(others).fillna(0.0)
    with np.errstate(divide="ignore"):
        exponents = np.ceil(np.log2(np.where(largest > 0, largest / _LARGEST, 1.0)))
    scale = xr.DataArray(2.0**exponents, dims="metric")
    half = (varied / scale).transpose(*values.dims).astype(np.float16)
    bits = xr.Variable(values.dims, half.values.view(np.int16), encoding=dict(_FILTERS))
    compact = block.drop_vars(_PATCHED).assign({_DIFFERENCE: bits, _MEAN: mean, _SCALE: scale})
    loss = _loss(difference, restored(compact)[_PATCHED] - block[block.attrs["base"]])
    if (before := loss_of(block)) is not None and before.store == COMPACT:
        # What it had lost already.
        loss = replace(loss, largest=max(loss.largest, before.largest), mean=max(loss.mean, before.mean))
    kept = compact if loss.store == COMPACT else block
    # JSON has no infinity.
    numbers = {name: value if not isinstance(value, float) or np.isfinite(value) else None
               for name, value in asdict(loss).items()}  # fmt: skip
    return kept.assign_attrs({ROUNDED: json.dumps(numbers)})


def restored(table: xr.Dataset) -> xr.Dataset:
    """A block with `patched` in float32, whichever way it is stored; any other table as it is."""
    if _DIFFERENCE not in table:
        return table
    bits = table[_DIFFERENCE]
    difference = bits.copy(data=bits.values.view(np.float16).astype(np.float64)) * table[_SCALE]
    patched = (difference + table[_MEAN] + table[table.attrs["base"]]).transpose(*bits.dims).astype(np.float32)
    patched.attrs = dict(bits.attrs)
    rest = table.drop_vars([_DIFFERENCE, _MEAN, _SCALE])
    return rest.assign({_PATCHED: patched})[[_PATCHED, *rest.data_vars]]


def loss_of(block: xr.Dataset) -> Loss | None:
    """What a block has lost; None of one that was never to be compact."""
    text = block.attrs.get(ROUNDED)
    if text is None:
        return None
    loss = Loss(**json.loads(text))
    return replace(loss, largest=np.inf, mean=np.inf) if loss.largest is None else loss


def losses_text(losses: Sequence[Loss]) -> str:
    """How many blocks are compact, what they lose at most, and how many are whole."""
    compact = [loss for loss in losses if loss.store == COMPACT]
    largest = max((loss.largest for loss in compact), default=0.0)
    whole = len(losses) - len(compact)
    more = f"; {whole} would lose more than {BOUND:g} and {'is' if whole == 1 else 'are'} whole" if whole else ""
    return (
        f"Stored compactly: {len(compact)} of {pluralize(len(losses), 'block')}, which lose at most {largest:.1g} of "
        f"the standard error of an effect{more}."
    )


def _loss(before: xr.DataArray, after: xr.DataArray) -> Loss:
    n = before.sizes["prompt"]
    error = abs((after - before).mean("prompt")).values
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = before.std("prompt", ddof=1).values / np.sqrt(n) if n > 1 else np.zeros_like(error)
        ratio = np.where(error == 0, 0.0, error / scatter)
    # Heads that a layer lacks are NaN before and after.
    ratio = np.where(before.isnull().all("prompt").values, 0.0, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf))
    largest = float(ratio.max(initial=0.0))
    return Loss(largest, float(ratio.mean()), BOUND, COMPACT if largest <= BOUND else WHOLE)
