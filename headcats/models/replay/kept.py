"""Parts of tensors, kept without the rest."""

from torch import Tensor


def kept(value: Tensor, positions: slice, axis: int) -> Tensor:
    """Some positions of a tensor; a copy where a view would keep much more than that alive."""
    part = value.detach()[(slice(None),) * axis + (positions,)]
    return part.clone() if 4 * part.numel() * part.itemsize < 3 * part.untyped_storage().nbytes() else part
