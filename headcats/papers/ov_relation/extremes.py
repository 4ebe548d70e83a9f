"""Which tokens a head puts at the top and at the bottom of the vocabulary, for many rows at once.

A target is among the top k if its value is at least the k-th largest. One pass over the vocabulary finds the k-th
largest and smallest value of every row; the logits of the whole vocabulary are never in memory.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# Columns of the vocabulary at once: as many as make the selection cheap beside the product and keep it in the cache.
_CHUNK = 16_384
# Numbers of one block of rows and heads at once (32 MB in fp32).
_BLOCK = 1 << 23

Columns = Callable[[int, int], Float[Tensor, "d_model column"]]
"""(start, stop) -> these columns of the unembedding."""


class Targets(NamedTuple):
    """Tokens to look for, each in one row; `k` tokens count as top, and as bottom."""

    rows: Int[Tensor, " target"]
    tokens: Int[Tensor, " target"]
    k: int


class Hits(NamedTuple):
    """True for targets among the top k, and among the bottom k, of their row, head by head."""

    top: Bool[Tensor, "head target"]
    bottom: Bool[Tensor, "head target"]


def among_extremes(
    outputs: Float[Tensor, "head row d_head"],
    W_O: Float[Tensor, "head d_head d_model"] | None,
    unembedding: Columns,
    target_sets: Sequence[Targets],
    *,
    d_vocab: int,
) -> list[Hits]:
    """Look for tokens among the largest and the smallest of `outputs @ W_O @ W_U`, or of `outputs @ W_U` without W_O.

    Tokens that share the k-th place are all in, except in a row of one value (the head writes nothing): none is.
    """
    heads, n_rows, _ = outputs.shape
    k = max(targets.k for targets in target_sets)
    chunk = min(_CHUNK, d_vocab)
    step = max(1, _BLOCK // (heads * chunk))
    blocks = [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
    in_block = [[_inside(targets.rows, block.start, block.stop) for targets in target_sets] for block in blocks]
    largest = outputs.new_full((heads, n_rows, k), -torch.inf)
    smallest = outputs.new_full((heads, n_rows, k), torch.inf)
    values_at = [outputs.new_empty(heads, len(targets.rows)) for targets in target_sets]
    for start in range(0, d_vocab, chunk):
        stop = min(start + chunk, d_vocab)
        columns = unembedding(start, stop).to(outputs.device)
        written = columns.expand(heads, -1, -1)
        if W_O is not None:
            written = (W_O.to(outputs.device).flatten(0, 1) @ columns).unflatten(0, W_O.shape[:2])
        for block, places_in_block in zip(blocks, in_block, strict=True):
            values = torch.bmm(outputs[:, block], written)
            largest[:, block] = _extreme(values, largest[:, block], largest=True)
            smallest[:, block] = _extreme(values, smallest[:, block], largest=False)
            for targets, at_targets, places in zip(target_sets, values_at, places_in_block, strict=True):
                in_chunk = places[_inside(targets.tokens[places], start, stop)]
                rows, tokens = targets.rows[in_chunk] - block.start, targets.tokens[in_chunk] - start
                at_targets[:, in_chunk] = values[:, rows, tokens]
    varies = largest[..., 0] > smallest[..., 0]
    hits = []
    for values, (rows, _, set_k) in zip(values_at, target_sets, strict=True):
        top, bottom = values >= largest[:, rows, set_k - 1], values <= smallest[:, rows, set_k - 1]
        hits.append(Hits(top & varies[:, rows], bottom & varies[:, rows]))
    return hits


def _extreme(
    values: Float[Tensor, "head row column"], before: Float[Tensor, "head row k"], *, largest: bool
) -> Float[Tensor, "head row k"]:
    """The k largest (or smallest) of `values` and `before` together.

    The k largest lie in the k groups of columns with the largest maxima, so only these are searched: one fast pass over
    all values, a slow one over few.
    """
    k, columns = before.shape[-1], values.shape[-1]
    size = max(1, round(math.sqrt(columns / k)))
    groups = columns // size
    if groups > k:
        grouped = values[..., : groups * size].unflatten(-1, (groups, size))
        ends = grouped.amax(-1) if largest else grouped.amin(-1)
        best_groups = ends.topk(k, largest=largest, sorted=False).indices
        few = grouped.gather(-2, best_groups.unsqueeze(-1).expand(*best_groups.shape, size)).flatten(-2)
        values = torch.cat([few, values[..., groups * size :]], dim=-1)
    return torch.cat([before, values], dim=-1).topk(k, largest=largest).values


def _inside(numbers: Int[Tensor, " number"], start: int, stop: int) -> Int[Tensor, " place"]:
    """Places of the numbers in [start, stop)."""
    return ((numbers >= start) & (numbers < stop)).nonzero()[:, 0]
