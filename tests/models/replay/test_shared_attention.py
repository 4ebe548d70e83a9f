"""Attention of rows that share the keys before them, against a softmax written out, score by score."""

from typing import Any

import pytest
import torch
from covering import pairwise

from headcats.models.continued import in_order
from headcats.models.replay import shared_attention as module
from headcats.models.replay.shared_attention import AttentionRule, SharedPrefix, shared_attention

PROMPTS, ROWS, HEADS, KV_HEADS, D_HEAD = 2, 3, 4, 2, 8
SCALE = 1.7


def by_hand(q: Any, keys: Any, values: Any, rule: AttentionRule, head: int, place: int) -> torch.Tensor:
    """Output of a query at a place: `keys` and `values` are those of all places, of its own key-value head."""
    first = 0 if rule.window is None else max(0, place - rule.window + 1)
    scores = keys[first : place + 1] @ q / SCALE
    if rule.cap is not None:
        scores = rule.cap * torch.tanh(scores / rule.cap)
    weights = scores.exp()
    sink = 0 if rule.sinks is None else rule.sinks[head].exp()
    return (weights / (weights.sum() + sink)) @ values[first : place + 1]


@pytest.mark.parametrize(
    ("shared", "own", "query", "cap", "window", "sinks", "limit"),
    pairwise([0, 5], [1, 4], [1, 4], [None, 0.8], [None, 3, 6], [False, True], [1, 100, 2**20]),
)
def test_it_is_the_softmax_written_out(
    shared: int, own: int, query: int, cap: Any, window: Any, sinks: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SCORES_ON_CPU", limit)
    rule = AttentionRule(SCALE, cap, window, torch.randn(HEADS) if sinks else None)
    n_queries = min(query, own)  # the last ones
    queries = torch.randn(PROMPTS, ROWS, n_queries, HEADS, D_HEAD)
    keys, values = torch.randn(2, PROMPTS, ROWS, own, KV_HEADS, D_HEAD)
    before = SharedPrefix(*torch.randn(2, PROMPTS, KV_HEADS, shared, D_HEAD))
    out = torch.empty_like(queries)
    at = in_order(shared + own).at(slice(shared, None))
    shared_attention(queries, keys, values, prefix=before, rule=rule, at=at, out=out)
    for prompt in range(PROMPTS):
        for row in range(ROWS):
            for head in range(HEADS):
                kv = head // (HEADS // KV_HEADS)
                all_keys = torch.cat([before.keys[prompt, kv], keys[prompt, row, :, kv]])
                all_values = torch.cat([before.values[prompt, kv], values[prompt, row, :, kv]])
                for query in range(n_queries):
                    q = queries[prompt, row, query, head]
                    expected = by_hand(q, all_keys, all_values, rule, head, shared + own - n_queries + query)
                    torch.testing.assert_close(out[prompt, row, query, head], expected, atol=1e-5, rtol=1e-4)
