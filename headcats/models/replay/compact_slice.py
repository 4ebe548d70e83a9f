"""Slices of tensors that do not keep the rest in memory."""

from torch import Tensor


def compact_slice(value: Tensor, positions: slice, axis: int) -> Tensor:
    """Some positions of a tensor, detached; a copy if a view would keep much more memory alive."""
    part = value.detach()[(slice(None),) * axis + (positions,)]
    return part.clone() if 4 * part.numel() * part.itemsize < 3 * part.untyped_storage().nbytes() else part
