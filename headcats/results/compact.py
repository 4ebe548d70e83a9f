"""Blocks in half precision: what every head changes, in 16 bits, with the loss measured and kept in the block.

Of a compact block, `patched_mean` is the mean over prompts of the difference between `patched` and the run that was
edited, and `patched_difference` what each prompt differs from that, as float16 times a power of two for each metric.
netCDF has no such type: its bits stand as 16-bit integers, compressed. What is read is a block as always.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import UnknownNameError, pluralize, unknown_name_message
from headcats.results.options import Store

WHOLE, COMPACT = get_args(Store)
BOUND = 0.01
"""Largest loss of an effect that a compact block may have, in standard errors of the effect."""
ROUNDED = "rounded"
"""Attribute of blocks that are, were or were to be compact: JSON of `Loss`."""
_PATCHED, _DIFFERENCE, _MEAN, _SCALE = "patched", "patched_difference", "patched_mean", "patched_scale"
# Far below the largest number of float16, 65504: the smallest that keeps all its digits is 2^28 times smaller.
_LARGEST = 2.0**14
_FILTERS = {"zlib": True, "complevel": 4, "shuffle": True, "_FillValue": None}


@dataclass(frozen=True)
class Loss:
    """Change of a head's mean difference by rounding, in standard errors of that mean over query items.

    Attributes:
        largest: Of any head and metric; infinite where a head without any scatter changes.
        mean: Over heads and metrics.
        bound: Largest that is allowed.
        store: How the block is stored. "whole" if the loss is beyond the bound, and of one that was compact before.
    """

    largest: float
    mean: float
    bound: float
    store: Store


def check_store(store: Any) -> Store:
    """Return the store; an UnknownNameError for anything but "whole" or "compact"."""
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
    largest, mean_loss = _losses(difference, restored(compact)[_PATCHED] - block[block.attrs["base"]])
    before = loss_of(block)
    if before is not None and before.largest > before.bound:
        before = None  # it was never compact
    if before is not None:
        largest, mean_loss = largest + before.largest, mean_loss + before.mean
    if largest <= BOUND:
        return _with_loss(compact, Loss(largest, mean_loss, BOUND, COMPACT))
    return _with_loss(block, Loss(largest, mean_loss, BOUND, WHOLE)) if before is None else as_whole(block)


def as_whole(block: xr.Dataset) -> xr.Dataset:
    """A block for a whole store: one that was compact still says what it has lost."""
    loss = loss_of(block)
    return block if loss is None else _with_loss(block, replace(loss, store=WHOLE))


def _with_loss(block: xr.Dataset, loss: Loss) -> xr.Dataset:
    # JSON has no infinity.
    numbers = {name: value if not isinstance(value, float) or np.isfinite(value) else None
               for name, value in asdict(loss).items()}  # fmt: skip
    return block.assign_attrs({ROUNDED: json.dumps(numbers)})


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
    """Loss of a block, or what it would be where that is beyond the bound; None of one never to be compact."""
    text = block.attrs.get(ROUNDED)
    if text is None:
        return None
    loss = Loss(**json.loads(text))
    return replace(loss, largest=np.inf, mean=np.inf) if loss.largest is None else loss


def losses_text(losses: Sequence[Loss]) -> str:
    """Sentences on the blocks that are compact and what they lose at most, and on those that are whole, and why."""
    compact = [loss.largest for loss in losses if loss.store == COMPACT]
    before = [loss.largest for loss in losses if loss.store == WHOLE and loss.largest <= loss.bound]
    sentences = []
    if len(before) < len(losses):
        text = f"Stored compactly: {len(compact)} of {pluralize(len(losses), 'block')}"
        if compact:
            text += f", which lose at most {max(compact):.1g} of the standard error of an effect"
        if beyond := len(losses) - len(compact) - len(before):
            text += f"; {beyond} would lose more than {BOUND:g} and {'is' if beyond == 1 else 'are'} whole"
        sentences.append(f"{text}.")
    if before:
        sentences.append(
            f"Stored whole: {pluralize(len(before), 'block')} that {'was' if len(before) == 1 else 'were'} compact "
            f"before, and lost at most {max(before):.1g} of the standard error of an effect then."
        )
    return " ".join(sentences)


def _losses(before: xr.DataArray, after: xr.DataArray) -> tuple[float, float]:
    """The largest and the mean loss of the heads."""
    error = abs((after - before).mean("prompt")).values
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / _standard_error(before))
    # Heads that a layer lacks are NaN before and after.
    ratio = np.where(before.isnull().all("prompt").values, 0.0, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf))
    return float(ratio.max(initial=0.0)), float(ratio.mean())


def _standard_error(difference: xr.DataArray) -> Float[np.ndarray, "metric layer head"]:
    """Standard error of the mean over prompts, by the scatter of query items; of prompts if they share one item."""
    deviations = difference - difference.mean("prompt")
    values = deviations.transpose("prompt", ...).values
    _, item = np.unique(difference["item"].values, return_inverse=True)
    if item.max(initial=0) > 0:
        values = (np.arange(item.max() + 1)[:, None] == item).astype(float) @ values.reshape(len(item), -1)
    n_items = len(values)
    shape = deviations.isel(prompt=0).shape
    if n_items < 2:
        return np.zeros(shape)
    return (np.sqrt((values**2).sum(axis=0) * n_items / (n_items - 1)) / len(item)).reshape(shape)
