"""A model that TransformerLens built must give the numbers of the transformers model it was built from.

TransformerLens' conversions can be wrong without an error: the bridge of 3.9 misses the logits of Cohere by 0.07, and
a configuration that a converter misreads gives another model. One short forward pass before and after finds out.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.supported import other_ways, version

# Largest difference in log-probability that counts as the same model; for 16-bit weights it is their rounding.
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_TOLERANCE_16_BIT = 0.5
_LENGTH = 16
# A prime, so that the probe is spread over the vocabulary in no order that a model could be indifferent to.
_STRIDE = 7919


class Reference(NamedTuple):
    """Log-probabilities of the transformers model on a short probe, taken before a bridge rewires it."""

    architecture: str
    config: Any
    tokens: Int[Tensor, "1 pos"]
    log_probs: Float[Tensor, "1 pos d_vocab"]


@torch.no_grad()
def take_reference(hf_model: Any) -> Reference:
    """Run `hf_model` on the probe."""
    config = hf_model.config.get_text_config()
    length = min(_LENGTH, getattr(config, "max_position_embeddings", None) or _LENGTH)
    tokens = (torch.arange(length) * _STRIDE % config.vocab_size)[None].to(hf_model.device)
    return Reference(type(hf_model).__name__, hf_model.config, tokens, _log_probs(hf_model(tokens).logits))


@torch.no_grad()
def check_reproduces(model: Any, reference: Reference) -> None:
    """Refuse a model whose log-probabilities differ from the reference by more than rounding (ModelError)."""
    mask = torch.ones_like(reference.tokens)  # HookedTransformer would take the pad id, if it occurs, for padding
    actual = _log_probs(model(reference.tokens, attention_mask=mask, return_type="logits"))
    difference = float((actual - reference.log_probs).abs().max())
    dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
    if not difference <= _TOLERANCE.get(dtype, _TOLERANCE_16_BIT):
        built = type(model).__name__
        raise ModelError(
            f"The {built} that transformer-lens {version()} makes of {reference.architecture} differs from the "
            f"original by {difference:.2g} in log-probability, so its numbers would be wrong. The fault is in this "
            f"conversion, not in headcats or the model: {other_ways(reference.config, built=built)}."
        )


def _log_probs(logits: Tensor) -> Float[Tensor, "1 pos d_vocab"]:
    return logits.float().log_softmax(-1)
