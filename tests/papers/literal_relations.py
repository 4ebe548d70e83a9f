"""Relation scores as the definition reads: head by head, pair by pair, with loops and sorting. Slow on purpose.

The weights come from the plain transformers twin, so nothing of TransformerLens or headcats is asked for them.
"""

from typing import Any, NamedTuple

import numpy as np
import torch


class Weights(NamedTuple):
    """Of a plain transformers model: `W_V[l][g] [d_model, d_head]` per group, `W_O[l][h] [d_head, d_model]`."""

    W_E: torch.Tensor
    W_U: torch.Tensor
    W_V: list[list[torch.Tensor]]
    W_O: list[list[torch.Tensor]]
    first_mlp: Any
    d_head: int


def plain_weights(hf: Any) -> Weights:
    """Read from the state dict of a GPT-2 or a Llama."""
    config = hf.config
    if config.model_type == "gpt2":
        n_heads, d_model = config.n_head, config.n_embd
        d_head, blocks = d_model // n_heads, hf.transformer.h
        values = [block.attn.c_attn.weight[:, 2 * d_model :] for block in blocks]
        outputs = [block.attn.c_proj.weight for block in blocks]
        first = blocks[0]

        def first_mlp(row):
            return first.mlp(first.ln_2(row))
    else:
        n_heads, d_head, blocks = config.num_attention_heads, config.head_dim, hf.model.layers
        values = [block.self_attn.v_proj.weight.T for block in blocks]
        outputs = [block.self_attn.o_proj.weight.T for block in blocks]
        first = blocks[0]

        def first_mlp(row):
            return first.mlp(first.post_attention_layernorm(row))

    return Weights(
        hf.get_input_embeddings().weight.detach(),
        hf.lm_head.weight.T.detach(),
        [list(value.detach().split(d_head, dim=1)) for value in values],
        [list(output.detach().split(d_head, dim=0)) for output in outputs],
        first_mlp,
        d_head,
    )


@torch.no_grad()
def projection(weights: Weights, layer: int, head: int, source: int, *, first_mlp: bool) -> list[float]:
    """What a head writes for a source, one number per token."""
    row = weights.W_E[source]
    if layer > 0 and first_mlp:
        row = weights.first_mlp(row[None])[0]
    heads, groups = len(weights.W_O[layer]), len(weights.W_V[layer])
    group = head // (heads // groups)
    return (row @ weights.W_V[layer][group] @ weights.W_O[layer][head] @ weights.W_U).tolist()


def is_top(values: list[float], target: int, k: int) -> bool:
    """Whether fewer than k tokens have a larger value; nothing is, where all have the same."""
    ordered = sorted(values, reverse=True)
    return ordered[0] > ordered[-1] and ordered.index(values[target]) < k


def literal_scores(
    hf: Any, pairs: list[tuple[int, int]], *, k: int, first_mlp: bool = True, sign: int = 1
) -> np.ndarray:
    """`[layer, head]`: share of pairs whose target is among the top k of `sign * projection`."""
    weights = plain_weights(hf)
    scores = []
    for layer in range(len(weights.W_O)):
        scores.append([])
        for head in range(len(weights.W_O[layer])):
            hits = 0
            for source, target in pairs:
                values = [sign * value for value in projection(weights, layer, head, source, first_mlp=first_mlp)]
                hits += is_top(values, target, k)
            scores[-1].append(hits / len(pairs))
    return np.array(scores)


def literal_null(
    hf: Any, pairs: list[tuple[int, int]], orders: np.ndarray, *, k: int, first_mlp: bool = True, sign: int = 1
) -> list[float]:
    """Scores of every head for every order of the targets, one after the other."""
    weights = plain_weights(hf)
    scores = []
    for layer in range(len(weights.W_O)):
        for head in range(len(weights.W_O[layer])):
            written = [
                [sign * value for value in projection(weights, layer, head, source, first_mlp=first_mlp)]
                for source, _ in pairs
            ]
            for order in orders:
                hits = 0
                for values, place in zip(written, order, strict=True):
                    hits += is_top(values, pairs[place][1], k)
                scores.append(hits / len(pairs))
    return scores


@torch.no_grad()
def literal_direct(hf: Any, pairs: list[tuple[int, int]], *, k: int, later: bool) -> float:
    """Share of pairs whose target is among the top k without any head."""
    weights = plain_weights(hf)
    hits = 0
    for source, target in pairs:
        row = weights.W_E[source]
        if later:
            row = weights.first_mlp(row[None])[0]
        hits += is_top((row @ weights.W_U).tolist(), target, k)
    return hits / len(pairs)
