"""Layer x token role: where the last token of a prompt looks."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.patterns import attention_patterns
from headcats.papers.token_probe.role_patching import by_layer_and_role, listed_batches, shared_roles, tasks_of
from headcats.prompts.batch import PromptBatch


def attention_by_role(
    model: Any, batches: PromptBatch | Sequence[PromptBatch], *, roles: Sequence[str] | None = None
) -> xr.Dataset:
    """Attention of the last token to each role: the pattern's last row, mean over heads and prompts.

    The clean prompts are run. A role has the sum over its tokens, so that all roles of the prompts, including those
    left out, sum to 1. Attention says where a head looks, not what that does.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        batches: Prompts with named roles, as `hc.task_prompts` returns them, whose lengths may differ between batches.
        roles: Roles such as "y1" or "last"; None takes those that every prompt has.

    Returns:
        `attention (layer, role)` and `attention_by_head (layer, head, role)` in [0, 1], NaN where a layer has fewer
        heads, and `n` prompts. Attribute `left_out`: roles that some prompts lack, one per line.

    Raises:
        DataError: No prompt, no role of all prompts, or roles that do not align.
        ModelError: A model that computes no attention pattern.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> two = ["country_capital", "country_language"]
        >>> batches = hc.task_prompts(model, "country_capital", suite=two, n_prompts=4)
        >>> looks = hc.papers.token_probe.attention_by_role(model, batches)
        >>> looks.attention.dims, looks.attention_by_head.dims
        (('layer', 'role'), ('layer', 'head', 'role'))
        >>> bool((abs(looks.attention.sum("role") - 1) < 1e-4).all())  # every token has a role here
        True

    References:
        Roles beside layers as in Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707; the measure is
        headcats' own.
    """
    batches = listed_batches(batches)
    adapted = adapt(model)
    check_model(adapted)
    roles, left_out = shared_roles(batches, roles)
    attrs = {"method": "attention", "left_out": "\n".join(left_out), **tasks_of(batches)}
    parts = (
        (part.clean, torch.stack([part.positions(role)[:, : part.length] for role in roles]))
        for batch in batches
        for part in batch.in_parts()
    )
    return by_layer_and_role(adapted, roles, _mean_attention(adapted, parts, n_roles=len(roles)), attrs)


def _mean_attention(
    model: HookedModel,
    parts: Iterable[tuple[Int[Tensor, "_prompt _pos"], Bool[Tensor, "_role _prompt _pos"]]],
    *,
    n_roles: int,
) -> dict[str, Any]:
    """The variables of the result: sums over the tokens of a role, means over prompts and heads."""
    total, n = np.full((len(model.layers), model.max_heads, n_roles), np.nan), 0
    for row, layer in enumerate(model.layers):
        total[row, : model.n_heads[layer]] = 0
    for tokens, masks in parts:
        last_rows = _last_rows(model, tokens)
        for row, layer in enumerate(model.layers):
            by_role = torch.einsum("phk,rpk->hr", last_rows[layer], masks.double())
            total[row, : len(by_role)] += by_role.numpy()
        n += len(tokens)
    by_head = total / n
    return {
        "attention": (("layer", "role"), np.nanmean(by_head, axis=1)),
        "attention_by_head": (("layer", "head", "role"), by_head),
        "n": n,
    }


def _last_rows(model: HookedModel, tokens: Int[Tensor, "prompt pos"]) -> dict[int, Float[Tensor, "prompt _head pos"]]:
    """Layer -> attention of the last token of every prompt."""
    return attention_patterns(model, tokens, dict.fromkeys(model.layers, lambda pattern: pattern[:, :, -1]))[1]
