"""Random token sequences that repeat once: nothing but position and repetition to attend to."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.prompts.tokens import bos_of
from headcats.statistics.random_streams import stream

N_SEQUENCES = 8
_LENGTH = 50
# Of one token, the token after its earlier occurrence is itself.
_SHORTEST = 2


class Repeated(NamedTuple):
    """Sequences `[bos] s_1 .. s_T s_1 .. s_T`.

    Attributes:
        tokens: In front what stands in front of every text.
        length: T.
        n_bos: How many tokens that is.
    """

    tokens: Int[Tensor, "sequence pos"]
    length: int
    n_bos: int


def repeated_sequences(model: HookedModel, *, seed: int) -> Repeated | str:
    """8 sequences of 50 different tokens each, uniform over the vocabulary without special tokens, and these again.

    Shorter where the context or the vocabulary is; or why there are none.
    """
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
