"""Sums of head outputs by token role, over reference prompts."""

from collections import Counter

import torch
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.prompts.packing import Labels

LAST = "\0last"
"""Role of the last token of a prompt, whatever its own; a character that names of roles have not."""
ROWS = 64

RoleSource = tuple[Tensor, tuple[Labels, ...], int]
"""Tokens, their roles, and the place of the last token of the prompts."""


def role_sums(
    model: HookedModel, runs: list[RoleSource]
) -> tuple[dict[int, dict[str, Tensor]], Counter[str], Counter[str]]:
    """Per layer and role, the sum of z over all tokens of that role; the number of these, and of prompts with any.

    The last token of every prompt is counted once more, as the role `LAST`.
    """
    counts: Counter[str] = Counter()
    prompts: Counter[str] = Counter()
    sums: dict[int, dict[str, Tensor]] = {layer: {} for layer in model.layers}
    for tokens, roles, last in runs:
        for start in range(0, len(tokens), ROWS):
            rows = slice(start, start + ROWS)
            _, z = model.capture(tokens[rows])
            labels = [label for prompt_labels in roles[rows] for label in prompt_labels] + [LAST] * len(roles[rows])
            names = list(dict.fromkeys(labels))
            index = torch.tensor([names.index(label) for label in labels])
            counts.update(labels)
            prompts.update(label for prompt_labels in roles[rows] for label in {*prompt_labels, LAST})
            for layer, value in z.items():
                flat = torch.cat([value.flatten(0, 1), value[:, last]]).float()
                total = flat.new_zeros(len(names), *flat.shape[1:]).index_add_(0, index.to(flat.device), flat)
                for label, part in zip(names, total, strict=True):
                    sums[layer][label] = sums[layer][label] + part if label in sums[layer] else part
    return sums, counts, prompts
