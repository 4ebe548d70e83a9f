"""Batches whose clean and corrupted prompts begin alike, as those of a task with shared demonstrations do."""

from dataclasses import replace

import torch
from batches import random_batch, with_second

from headcats.prompts.batch import PromptBatch


def prefixed_batch(n_prompts: int = 3, n_pos: int = 10, n_shared: int = 4, *, seed: int = 0) -> PromptBatch:
    """Random prompts; the corrupted ones have the clean ones' first `n_shared` tokens, and so have their second
    corruptions. Token i has the role `t{i}`.

    The token after them differs in every prompt, so that `n_shared` is where the two runs part.
    """
    batch = random_batch(n_prompts, n_pos, seed=seed)
    corrupted = torch.cat([batch.clean[:, :n_shared], batch.corrupted[:, n_shared:]], 1)
    if n_shared < n_pos:
        same = corrupted[:, n_shared] == batch.clean[:, n_shared]
        # Ids 3 and 4 are ordinary words (`toys.WORDS`).
        corrupted[same, n_shared] = torch.where(batch.clean[same, n_shared] == 3, 4, 3)
    second = torch.cat([batch.clean[:, :n_shared], with_second(batch).second[:, n_shared:]], 1)
    labels = (tuple(f"t{place}" for place in range(n_pos)),) * n_prompts
    return replace(
        batch, corrupted=corrupted, labels=labels, corrupted_labels=labels, second=second,
        second_tasks=("second",) * n_prompts,
    )  # fmt: skip
