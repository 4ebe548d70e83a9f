"""A model's weights: are they numbers, a hash for the manifest, and what was done to them before they got here."""

import hashlib
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headcats.errors import ModelError

WeightProcessing = Literal["none", "processed", "unknown"]
_HASH_BYTES = 16
# Centring leaves a mean of rounding size; that of untouched weights is about std / sqrt(d_vocab), 1000 times larger.
_CENTRED = 1e-5


def check_finite(model: nn.Module, *, name: str) -> None:
    """Refuse a model with NaN or infinity in a weight that it uses."""
    alibi = getattr(getattr(model, "cfg", None), "positional_embedding_type", None) == "alibi"
    # Under ALiBi, HookedTransformer has positions, never fills them and never reads them.
    unused = "pos_embed.W_pos" if alibi else None
    for weight_name, weight in model.named_parameters():
        if weight_name != unused and weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            values = "NaN" if bool(torch.isnan(weight).any()) else "infinite values"
            raise ModelError(
                f"Weight {readable(weight_name)!r} of model {name!r} holds {values}: load the model again."
            )


def readable(name: str) -> str:
    """The name of a weight or module as transformers has it: the bridge wraps every module in one of its own."""
    return name.replace("_original_component.", "").removesuffix("._original_component")


def weights_hash(model: nn.Module) -> str:
    """blake2b over the names, dtypes, shapes and bytes of the state dict, in name order: 32 hexadecimal digits.

    The same weights give the same hash in every run and on every device; another dtype or model class gives another.
    """
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for name, value in sorted(model.state_dict().items()):
        if not isinstance(value, Tensor):
            continue
        digest.update(f"{name}|{value.dtype}|{tuple(value.shape)}|".encode())
        # numpy knows no bfloat16, hence the bytes; reshape first because a 0-d tensor has no byte view.
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def weight_processing(model: Any) -> WeightProcessing:
    """Whether LayerNorm, means or value biases were folded into the weights.

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
        unembedding = model.W_U.detach().float()
        attentions = [block.attn for block in model.blocks if hasattr(block, "attn")]
        biases = {name: [_bias(attention, name) for attention in attentions] for name in ("b_Q", "b_K", "b_V")}
    except (AttributeError, RuntimeError, NotImplementedError, ValueError):
        return "unknown"
    if unembedding.mean(dim=-1).abs().max() < _CENTRED * unembedding.std():
        return "processed"
    has_bias = {name: any(bias is not None and bool(bias.any()) for bias in biases[name]) for name in biases}
    exists = all(bias is not None for bias in biases["b_V"])
    is_folded = exists and not has_bias["b_V"] and (has_bias["b_Q"] or has_bias["b_K"])
    return "processed" if is_folded else "none"


def _bias(attention: nn.Module, name: str) -> Tensor | None:
    # The bridge raises, or gives None, for a projection without bias.
    try:
        value = getattr(attention, name)
    except (AttributeError, ValueError, RuntimeError):
        return None
    return value.detach() if isinstance(value, Tensor) else None
