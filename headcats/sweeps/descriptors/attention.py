"""Where heads look on random sequences that repeat once: nothing but position and repetition to attend to."""

import functools
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.patterns import attention_patterns
from headcats.prompts.tokens import bos_of
from headcats.statistics.random_streams import stream

ATTENTION = ("previous_token", "duplicate_token", "induction", "first_token", "entropy", "distance")
# Rounding of a sum of softmax weights in 16 bits.
_ROUNDING = 0.02

Values = dict[int, Float[Tensor, " head"]]
"""Layer -> a number for each of its heads."""
N_SEQUENCES = 8
_LENGTH = 50
# Of one token, the token after its earlier occurrence is itself.
_SHORTEST = 2


class Repeated(NamedTuple):
    """Sequences `[bos] s_1 .. s_T s_1 .. s_T`: T is `length`, and `n_bos` tokens stand in front."""

    tokens: Int[Tensor, "sequence pos"]
    length: int
    n_bos: int


def repeated_sequences(model: HookedModel, *, seed: int) -> Repeated | str:
    """8 sequences of 50 different ordinary tokens (fewer without room), each twice; or why there are none."""
    bos = [] if model.tokenizer is None else bos_of(model.tokenizer)
    special = set() if model.tokenizer is None else set(getattr(model.tokenizer, "all_special_ids", ()))
    known = np.array([token for token in range(model.d_vocab) if token not in special])
    length = min(_LENGTH, (model.n_ctx - len(bos)) // 2, len(known))
    if length < _SHORTEST:
        return f"a context of {model.n_ctx} and {len(known)} ordinary tokens leave no sequence that could repeat"
    draws = stream(seed, "descriptors", "sequences")
    once = torch.from_numpy(np.stack([draws.choice(known, length, replace=False) for _ in range(N_SEQUENCES)]))
    front = torch.tensor([bos] * N_SEQUENCES, dtype=torch.long)
    return Repeated(torch.cat([front, once, once], 1), length, len(bos))


def describe_attention(model: HookedModel, repeated: Repeated) -> tuple[dict[str, Values], dict[int, str]]:
    """Name of a descriptor -> its values, means over sequences, one run at a time; and layer -> why it has none."""
    parts = dict.fromkeys(model.layers, functools.partial(_described, length=repeated.length))
    try:
        runs = [attention_patterns(model, tokens, parts)[1] for tokens in repeated.tokens.split(1)]
    except (ModelError, RuntimeError) as error:  # the model's own code, of sequences that nobody had run it on
        return {}, dict.fromkeys(model.layers, f"no attention pattern can be read: {error}")
    described = {layer: torch.cat([run[layer] for run in runs]) for layer in model.layers}
    off = {layer: float((values[..., -1] - 1).abs().max()) for layer, values in described.items()}
    reasons = {
        layer: "the attention of a token does not sum to 1 (as with a learned sink, which takes the rest)"
        for layer, size in off.items()
        if not size <= _ROUNDING
    }
    means = {layer: values.mean(0) for layer, values in described.items() if layer not in reasons}
    return {
        name: {layer: values[:, place] for layer, values in means.items()} for place, name in enumerate(ATTENTION)
    }, reasons


def _described(pattern: Float[Tensor, "sequence head from to"], *, length: int) -> Float[Tensor, "sequence head value"]:
    """Values in the order of `ATTENTION`, and last the sum of a row that is farthest from 1."""
    pattern = pattern.float()
    # What the first token does says nothing: it can look at itself alone.
    later = pattern[:, :, 1:]
    n = pattern.shape[-1]
    places = torch.arange(n, device=pattern.device)
    distances = (places[1:, None] - places).clamp(min=0).to(pattern.dtype)
    sums = later.sum(-1)
    farthest = (sums - 1).abs().argmax(-1, keepdim=True)
    values = [
        pattern.diagonal(-1, -2, -1).mean(-1),
        # The second time, the same token is `length` behind, and the one after it a token nearer.
        pattern.diagonal(-length, -2, -1)[..., -length:].mean(-1),
        pattern.diagonal(1 - length, -2, -1)[..., -length:].mean(-1),
        later[..., 0].mean(-1),
        torch.special.entr(later).sum(-1).mean(-1),
        (later * distances).sum(-1).mean(-1),
        sums.gather(-1, farthest)[..., 0],
    ]
    return torch.stack(values, -1)
