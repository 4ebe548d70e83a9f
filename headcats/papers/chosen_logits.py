"""Logits at chosen positions of texts."""

from collections.abc import Mapping

from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit


def logits_at(
    model: HookedModel,
    tokens: Int[Tensor, "prompt pos"],
    positions: Bool[Tensor, "prompt pos"],
    *,
    hooks: Mapping[str, Edit],
) -> Float[Tensor, "chosen d_vocab"]:
    """Logits in fp32, in the caller's gradient mode: rows in the order of `positions.nonzero()`."""
    if not bool(positions.any()):
        raise DataError(f"Logits are read at one position of {tuple(positions.shape)} at least; all are False.")
    last = tokens.shape[1] - int(positions.any(0).nonzero()[0])
    output = model.last_logits(tokens, last, hooks=hooks)
    return output[positions[:, -last:].to(output.device)].float()
