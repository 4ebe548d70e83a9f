"""A model's weights: are they numbers, a hash for the manifest, and what was done to them before they got here."""

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from headcats.base.errors import ModelError
from headcats.models.placement import in_place, parameters_in_place, plain_parts, state_in_place

WeightProcessing = Literal["none", "processed", "unknown"]
_HASH_BYTES = 16
# Centring leaves a mean of rounding size; that of untouched weights is about std / sqrt(d_vocab), 1000 times larger.
_CENTRED = 1e-5


def check_finite(model: nn.Module, *, name: str) -> None:
    """Refuse a model with NaN or infinity, or without values, in a weight that it uses."""
    alibi = getattr(getattr(model, "cfg", None), "positional_embedding_type", None) == "alibi"
    # Under ALiBi, HookedTransformer has positions, never fills them and never reads them.
    unused = "pos_embed.W_pos" if alibi else None
    for weight_name, weight in parameters_in_place(model):
        if weight.is_meta:
            raise ModelError(
                f"Weight {readable(weight_name)!r} of model {name!r} has no values (it is on the meta device): load "
                f"the model with its weights."
            )
        # A quantised weight holds whole numbers, whatever dtype it shows.
        is_looked_at = weight_name != unused and not is_traceable_wrapper_subclass(weight)
        if is_looked_at and weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            values = "NaN" if bool(torch.isnan(weight).any()) else "infinite values"
            raise ModelError(
                f"Weight {readable(weight_name)!r} of model {name!r} holds {values}: load the model again."
            )


@contextlib.contextmanager
def reading_weights(*modules: Any, model: str) -> Iterator[None]:
    """Weights of these modules can be read inside, offloaded ones too; a ModelError for quantised ones."""
    try:
        with in_place(*modules):
            yield
    except NotImplementedError:  # TransformerLens' own check
        raise ModelError(
            f"The weights of model {model!r} are quantised, and this method reads them: load it without quantisation, "
            f"or use a causal method, which only runs it."
        ) from None


def readable(name: str) -> str:
    """The name of a weight or module as transformers has it: the bridge wraps every module in one of its own."""
    return name.replace("_original_component.", "").removesuffix("._original_component")


def weights_hash(model: nn.Module) -> str:
    """blake2b over the names, dtypes, shapes and bytes of the state dict, in name order: 32 hexadecimal digits.

    The same weights give the same hash in every run and wherever they are, offloaded or not; another dtype or model
    class gives another.
    """
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for name, value in state_in_place(model):
        for part_name, part in plain_parts(name, value):
            digest.update(f"{part_name}|{part.dtype}|{tuple(part.shape)}|".encode())
            # numpy knows no bfloat16, hence the bytes; reshape first because a 0-d tensor has no byte view.
            digest.update(part.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def weight_processing(model: Any) -> WeightProcessing:
    """Record of what was folded into the weights: LayerNorm, means, value biases.

    Folding leaves the logits (up to a constant) but not zero ablation: a folded value bias no longer belongs to the
    head's output. Signs looked for: a `...Pre` normalisation, the flag that the bridge sets, an unembedding centred
    over the vocabulary, value biases that are all zero where key and query biases are not.

    Returns:
        "processed" if a sign is there, "none" if not, "unknown" if the weights cannot be read.
    """
    cfg = model.cfg
    if str(getattr(cfg, "normalization_type", "")).endswith("Pre") or getattr(cfg, "layer_norm_folding", False):
        return "processed"
    try:
        with in_place(model.unembed):
            unembedding = model.W_U.detach().float()
        attentions = [block.attn for block in model.blocks if hasattr(block, "attn")]
        biases = {name: [_has_bias(attention, name) for attention in attentions] for name in ("b_Q", "b_K", "b_V")}
    except (AttributeError, RuntimeError, NotImplementedError, ValueError):
        return "unknown"
    if unembedding.mean(dim=-1).abs().max() < _CENTRED * unembedding.std():
        return "processed"
    has_bias = {name: any(biases[name]) for name in biases}
    exists = None not in biases["b_V"]
    is_folded = exists and not has_bias["b_V"] and (has_bias["b_Q"] or has_bias["b_K"])
    return "processed" if is_folded else "none"


def _has_bias(attention: nn.Module, name: str) -> bool | None:
    """True if a bias is other than zero; None for a projection without one."""
    # Where there is none, the bridge raises or gives None.
    try:
        with in_place(attention):
            value = getattr(attention, name)
            return bool(value.any()) if isinstance(value, Tensor) else None
    except (AttributeError, ValueError, RuntimeError):
        return None
