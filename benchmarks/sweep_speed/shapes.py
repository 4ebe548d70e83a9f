"""Model shapes with the batches that are measured on them, and random prompts."""

from dataclasses import dataclass

import torch
from random_weights import is_gpt2

from headcats.prompts.batch import PromptBatch
from headcats.scale.shape import ModelShape


@dataclass(frozen=True)
class Shape(ModelShape):
    """Sizes of a model and of its usual batch."""

    prompts: int = 16  # prompts of a batch
    length: int = 48  # tokens of a prompt, unless the work says otherwise

    @property
    def layout(self) -> str:
        """Learned positions and a plain MLP ("gpt2"), or rotary ones and a gated MLP ("llama")."""
        return "gpt2" if is_gpt2(self) else "llama"

    @property
    def heads(self) -> list[tuple[int, int]]:
        """(layer, head) of every head, layer by layer."""
        return [(layer, head) for layer in range(self.n_layers) for head in range(self.n_heads)]


# GPT-2's unembedding is its embedding.
SHAPES = {
    "gpt2-small": Shape(12, 12, 12, 768, 64, 3072, 50257, tied=True),
    "24x16": Shape(24, 16, 16, 1024, 64, 4096, 50257, tied=True),
    "llama-gqa": Shape(8, 16, 4, 1024, 64, 2816, 32000, 3),
    "tiny": Shape(3, 4, 4, 32, 8, 128, 60, tied=True, prompts=4, length=12),
    "tiny-gqa": Shape(3, 4, 2, 32, 16, 64, 60, 3, prompts=4, length=12),
}
TINY = {"gpt2": "tiny", "llama": "tiny-gqa"}
"""For tests and rehearsals: nothing about speed can be learned from them."""


def random_batch(shape: Shape, *, length: int, shared: float, answer: int = 1, seed: int = 0) -> PromptBatch:
    """Random prompts; the first `shared` of their tokens, and the last one, are the same in clean and corrupted.

    Answers and distractors are random too, of `answer` tokens each.
    """
    draws = torch.Generator().manual_seed(seed)
    clean, corrupted = (torch.randint(1, shape.d_vocab, (shape.prompts, length), generator=draws) for _ in range(2))
    same = round(shared * length)
    corrupted[:, :same] = clean[:, :same]
    corrupted[:, -1] = clean[:, -1]
    # Otherwise a prompt may by chance share one token more than it was asked to.
    corrupted[:, same] = 1 + clean[:, same] % (shape.d_vocab - 1)
    answers = torch.randint(1, shape.d_vocab, (shape.prompts, answer), generator=draws)
    distractors = 1 + (answers + shape.d_vocab // 2) % (shape.d_vocab - 1)
    return PromptBatch.from_tokens(clean, corrupted, answers, distractors)
