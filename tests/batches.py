"""Batches of prompts for the tests of sweeps and methods, and a model whose head outputs are known beforehand."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from toys import D_VOCAB, random_tokens, tiny_model

from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z
from headcats.prompts.batch import PromptBatch

ROLES = ("bos", "x1", "y1", "between1", "x_query", "last")


def random_batch(n_prompts: int = 4, n_pos: int = 7, *, seed: int = 0) -> PromptBatch:
    """Unrelated random clean and corrupted tokens without roles; answers and distractors are random too."""
    draws = torch.Generator().manual_seed(seed + 1000)
    ids = torch.stack([torch.randperm(D_VOCAB, generator=draws)[:2] for _ in range(n_prompts)])
    return PromptBatch.from_tokens(
        random_tokens(n_prompts, n_pos, seed=seed), random_tokens(n_prompts, n_pos, seed=seed + 1), ids[:, 0], ids[:, 1]
    )


def role_batch(
    clean: Sequence[Sequence[int]],
    labels: Sequence[Sequence[str]],
    *,
    corrupted: Sequence[Sequence[int]] | None = None,
    corrupted_labels: Sequence[Sequence[str]] | None = None,
    task: str = "",
) -> PromptBatch:
    """A batch with token roles; answers are 1, distractors 2."""
    n = len(clean)
    keys = tuple(f"{task} {number}" for number in range(n))
    return PromptBatch(
        clean=torch.tensor(clean),
        corrupted=torch.tensor(clean if corrupted is None else corrupted),
        answer=torch.ones(n, dtype=torch.long),
        distractor=torch.full((n,), 2),
        keys=keys,
        items=keys,
        distractor_tasks=("other",) * n,
        labels=tuple(map(tuple, labels)),
        corrupted_labels=tuple(map(tuple, labels if corrupted_labels is None else corrupted_labels)),
        task=task,
    )


def random_role_batch(n_prompts: int = 4, *, seed: int = 0, task: str = "") -> PromptBatch:
    """Random tokens with the roles `ROLES`."""
    clean, corrupted = (random_tokens(n_prompts, len(ROLES), seed=seed + 7 * i).tolist() for i in range(2))
    return role_batch(clean, [ROLES] * n_prompts, corrupted=corrupted, task=task)


def misaligned(batch: PromptBatch) -> list[str]:
    """Keys of the prompts whose clean and corrupted tokens do not have the same roles at the same places."""
    pairs = zip(batch.keys, batch.roles_of("clean"), batch.roles_of("corrupted"), strict=True)
    return [key for key, clean, corrupted in pairs if clean != corrupted]


def with_second(batch: PromptBatch, *, seed: int = 0, lacking: Sequence[int] = ()) -> PromptBatch:
    """The batch with random second corruptions; the prompts `lacking` have none."""
    second = random_tokens(*batch.clean.shape, seed=seed + 2000)
    second[list(lacking)] = batch.corrupted[list(lacking)]
    shown = tuple("" if prompt in lacking else f"wrong {prompt % 2}" for prompt in range(len(batch)))
    return replace(batch, second=second, second_tasks=shown)


def numbers(logits: torch.Tensor, batch: PromptBatch) -> np.ndarray:
    """[metric, prompt]: logit difference and log-probability of the answer, written once more."""
    log_probs, rows = logits.log_softmax(-1), torch.arange(len(batch))
    answer, distractor = log_probs[rows, batch.answer], log_probs[rows, batch.distractor]
    return torch.stack([answer - distractor, answer]).numpy()


@functools.cache
def _bridge() -> Any:
    return tiny_model("gpt2", n_layers=2).model


class TokenModel(HookedModel):
    """A model whose z is known beforehand: `z[prompt, pos, head] = token * 10**layer + head / 2`, both numbers of it.

    Token ids below 10 stay apart by layer. It counts the prompts that it runs.
    """

    def __init__(self) -> None:
        super().__init__(_bridge())
        self.prompts_run = 0

    n_heads = {0: 2, 1: 2}  # noqa: RUF012 - replaces a property
    d_head = {0: 2, 1: 2}  # noqa: RUF012

    def capture(self, tokens: torch.Tensor, *, layers: Any = None, first: int = 0, **options: Any) -> Any:
        self.prompts_run += len(tokens)
        tokens = tokens[:, first:]
        heads = torch.arange(2.0)[:, None].expand(2, 2) / 2
        z = {layer: tokens[..., None, None] * 10.0**layer + heads for layer in layers or self.layers}
        return torch.zeros(len(tokens), self.d_vocab), z

    def forward_last(self, tokens: torch.Tensor, last: int, *, hooks: Any) -> Any:
        logits, z = self.capture(tokens)
        for layer, value in z.items():
            hooks[hook_z(layer)](value)
        return logits[:, None].expand(-1, last, -1)
