"""Attention of many rows of the same prompts, which share the keys and values of earlier positions.

The rows of a prompt are the query axis of one product with the shared keys, which are never copied per row; each row's
own keys and values are further columns of the softmax. Rows do not see each other.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.models.continued import Standing

# Number of scores held at once: on CPUs a few MB that fit into the cache, elsewhere limited by memory.
_SCORES_ON_CPU = 2**20
_SCORES = 2**26


@dataclass(frozen=True)
class AttentionRule:
    """Rule that makes a pattern of scores: `softmax(cap(q k / scale))` over the visible positions and the sink."""

    scale: float  # scores are divided by it
    cap: float | None  # scores are bent to `cap * tanh(score / cap)`; None leaves them
    window: int | None
    """A query sees this many positions, its own included; None: all up to its own."""
    sinks: Float[Tensor, " head"] | None
    """Further score per head, which takes its share of the softmax and gives nothing."""


@dataclass(frozen=True)
class SharedPrefix:
    """Keys (rotated) and values of the unpatched run just before a row's first position, as far as they are seen."""

    keys: Float[Tensor, "prompt kv_head shared d_head"]
    values: Float[Tensor, "prompt kv_head shared d_head"]


def shared_attention(
    queries: Float[Tensor, "prompt row query head d_head"],
    keys: Float[Tensor, "prompt row own kv_head d_head"],
    values: Float[Tensor, "prompt row own kv_head d_head"],
    *,
    prefix: SharedPrefix,
    rule: AttentionRule,
    at: Standing,
    out: Float[Tensor, "prompt row query head d_head"],
) -> None:
    """Head outputs of attention over the shared and a row's own positions, written into `out`."""
    visible = _visible(queries.shape[2], prefix.keys.shape[2], at, rule.window)
    if visible is not None:
        visible = visible.to(queries.device)
    if not prefix.keys.shape[2] and rule.cap is None and rule.sinks is None:
        out.copy_(_plain_attention(queries, keys, values, visible=visible, scale=rule.scale))
        return
    prompts, rows, query, heads = queries.shape[:4]
    limit = _SCORES_ON_CPU if queries.device.type == "cpu" else _SCORES
    per_row = heads * query * (prefix.keys.shape[2] + keys.shape[2])
    some_rows = max(1, min(rows, limit // per_row))
    some_prompts = max(1, limit // (per_row * some_rows)) if some_rows == rows else 1
    for start in range(0, prompts, some_prompts):
        prompt = slice(start, start + some_prompts)
        part = SharedPrefix(prefix.keys[prompt], prefix.values[prompt])
        for begin in range(0, rows, some_rows):
            some = prompt, slice(begin, begin + some_rows)
            out[some] = _shared_attention(queries[some], keys[some], values[some], part, rule, visible)


def _shared_attention(
    queries: Tensor, keys: Tensor, values: Tensor, prefix: SharedPrefix, rule: AttentionRule, visible: Tensor | None
) -> Tensor:
    query, heads, d_head = queries.shape[2:]
    own_width, kv_heads = keys.shape[2:4]
    shared, group = prefix.keys.shape[2], heads // kv_heads
    columns = shared + own_width
    # [prompt, kv_head, row, query, head of the group, ...]: rows next to each other for the shared keys.
    grouped = queries.unflatten(3, (kv_heads, group)).permute(0, 3, 1, 2, 4, 5)
    q = torch.div(grouped, rule.scale, out=queries.new_empty(grouped.shape))
    k, v = (value.permute(0, 3, 1, 2, 4) for value in (keys, values))
    scores = q.new_empty(*q.shape[:-1], columns + (rule.sinks is not None))
    if shared:
        scores[..., :shared] = (q.flatten(2, 4) @ prefix.keys.mT).view(*q.shape[:-1], shared)
    # Products of single vectors are faster by hand than as a batch of tiny matrix products.
    if own_width == 1:
        torch.sum(q * k.unsqueeze(4), -1, out=scores[..., shared])
    else:
        scores[..., shared:columns] = (q.flatten(3, 4) @ k.mT).view(*q.shape[:-1], own_width)
    if rule.cap is not None:
        scores.div_(rule.cap).tanh_().mul_(rule.cap)
    if visible is not None:
        scores[..., :columns].masked_fill_(~visible.unsqueeze(1), -torch.inf)
    if rule.sinks is not None:
        scores[..., columns] = rule.sinks.view(kv_heads, 1, 1, group)
    pattern = scores.softmax(-1)
    to_shared, to_own = pattern[..., :shared], pattern[..., shared:columns]
    z = (to_shared.flatten(2, 4) @ prefix.values).view(q.shape)
    if own_width == 1:
        z.addcmul_(to_own, v.unsqueeze(4))
    else:
        z.view(-1, query * group, d_head).baddbmm_(to_own.flatten(3, 4).flatten(0, 2), v.flatten(0, 2))
    return z.permute(0, 2, 3, 1, 4, 5).flatten(3, 4)


def _plain_attention(
    queries: Tensor, keys: Tensor, values: Tensor, *, visible: Tensor | None, scale: float
) -> Float[Tensor, "prompt row query head d_head"]:
    """Where nothing is shared, the ordinary attention of every row."""
    q, k, v = (value.flatten(0, 1).transpose(1, 2) for value in (queries, keys, values))
    group = q.shape[1] // k.shape[1]
    if group > 1 and q.device.type != "cpu":
        # Grouped heads are fast on CPUs alone; elsewhere they would fall back to the slowest kernel in fp32.
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    z = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, scale=1 / scale, enable_gqa=q.shape[1] != k.shape[1])
    return z.transpose(1, 2).unflatten(0, queries.shape[:2])


def _visible(query: int, shared: int, at: Standing, window: int | None) -> Bool[Tensor, "query column"] | None:
    """Which of the shared and own positions each query sees; None: all of them."""
    sees, places = at.sees[-query:], at.places[-query:]
    if bool(sees.all()) and (window is None or shared + len(at.places) <= window):
        return None
    visible = torch.cat([sees.new_ones(query, shared), sees], 1)
    if window is None:
        return visible
    first = int(at.places[0])
    return visible & (places[:, None] - torch.cat([torch.arange(first - shared, first), at.places]) < window)
