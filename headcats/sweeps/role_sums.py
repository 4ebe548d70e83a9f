"""Sums of head outputs over prompts, token role by token role."""

from collections import Counter

import torch
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.prompts.packing import Labels

ROWS = 64
"""Prompts that are run at a time."""

RoleSource = tuple[Tensor, tuple[Labels, ...]]
"""Tokens and their roles."""


def role_sums(
    model: HookedModel, runs: list[RoleSource]
) -> tuple[dict[int, dict[str, Tensor]], Counter[str], Counter[str]]:
    """Layer -> role -> sum of z over tokens; numbers of tokens, and of prompts."""
    counts: Counter[str] = Counter()
    prompts: Counter[str] = Counter()
    sums: dict[int, dict[str, Tensor]] = {layer: {} for layer in model.layers}
    for tokens, roles in runs:
        for start in range(0, len(tokens), ROWS):
            rows = slice(start, start + ROWS)
            _, z = model.capture(tokens[rows])
            labels = [label for prompt_labels in roles[rows] for label in prompt_labels]
            names = list(dict.fromkeys(labels))
            index = torch.tensor([names.index(label) for label in labels])
            counts.update(labels)
            prompts.update(label for prompt_labels in roles[rows] for label in set(prompt_labels))
            for layer, value in z.items():
                flat = value.flatten(0, 1).float()
                total = flat.new_zeros(len(names), *flat.shape[1:]).index_add_(0, index.to(flat.device), flat)
                for label, part in zip(names, total, strict=True):
                    sums[layer][label] = sums[layer][label] + part if label in sums[layer] else part
    return sums, counts, prompts
