"""Which tokens a head puts at the top and at the bottom of the vocabulary, for many rows at once.

A target is among the top k if fewer than k tokens have a larger value, which is to say: if its value is at least the
k-th largest. So one pass over the vocabulary finds the k-th largest and the k-th smallest value of every row, and with
them any number of targets is judged; a whole vocabulary is never in memory, and nothing is computed twice.
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


class Targets(NamedTuple):
    """Tokens to look for, each in one row.

    Attributes:
        rows: Row in which to look for each token.
        tokens: Token ids.
        k: How many tokens count as top, and as bottom.
    """

    rows: Int[Tensor, " target"]
    tokens: Int[Tensor, " target"]
    k: int


class Found(NamedTuple):
    """Whether each target is among the top k, and among the bottom k, of its row for each head."""

    top: Bool[Tensor, "head target"]
    bottom: Bool[Tensor, "head target"]


def among_extremes(
    outputs: Float[Tensor, "head row d_head"],
    W_O: Float[Tensor, "head d_head d_model"] | None,
    unembedding: Columns,
    target_sets: Sequence[Targets],
    *,
    d_vocab: int,
    chunk: int | None = None,
) -> list[Found]:
    """Look for tokens among the largest and the smallest of `outputs @ W_O @ W_U`.

    Ties: a token is in the top k if fewer than k tokens have a larger value, so all tokens that share the k-th place
    are in. The bottom likewise. In a row where all tokens have one value (the head writes nothing) none is in either.

    Args:
        outputs: What each head gives before its output projection.
        W_O: Output projections; None where `outputs` are in the residual stream already.
        unembedding: (start, stop) -> these columns of the unembedding.
        target_sets: Tokens to look for.
        d_vocab: Columns of the unembedding.
        chunk: Columns at once; the result does not depend on it.

    Returns:
        One per entry of `target_sets`.
    """
    heads, n_rows, _ = outputs.shape
    k = max(target_set.k for target_set in target_sets)
    chunk = min(chunk or _CHUNK, d_vocab)
    step = max(1, _BLOCK // (heads * chunk))
    blocks = [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
    in_block = [[_inside(target_set.rows, block.start, block.stop) for target_set in target_sets] for block in blocks]
    largest = outputs.new_full((heads, n_rows, k), -torch.inf)
    smallest = outputs.new_full((heads, n_rows, k), torch.inf)
    at = [outputs.new_empty(heads, len(target_set.rows)) for target_set in target_sets]
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
            for target_set, values_of_set, places in zip(target_sets, at, places_in_block, strict=True):
                in_chunk = places[_inside(target_set.tokens[places], start, stop)]
                values_of_set[:, in_chunk] = values[
                    :, target_set.rows[in_chunk] - block.start, target_set.tokens[in_chunk] - start
                ]
    return [_judge(values, target_set, largest, smallest) for values, target_set in zip(at, target_sets, strict=True)]


def top_tokens(
    outputs: Float[Tensor, "row d_head"],
    W_O: Float[Tensor, "d_head d_model"],
    unembedding: Columns,
    *,
    k: int,
    d_vocab: int,
) -> Int[Tensor, "row k"]:
    """The k tokens with the largest `outputs @ W_O @ W_U` of one head, the largest first; of equal ones the first."""
    residual = outputs @ W_O
    values = torch.cat(
        [
            residual @ unembedding(start, min(start + _CHUNK, d_vocab)).to(residual.device)
            for start in range(0, d_vocab, _CHUNK)
        ],
        dim=-1,
    )
    return values.argsort(dim=-1, descending=True, stable=True)[:, :k]


def _extreme(
    values: Float[Tensor, "head row column"], before: Float[Tensor, "head row k"], *, largest: bool
) -> Float[Tensor, "head row k"]:
    """The k largest (or smallest) of `values` and `before` together, as values: whose they are is not asked.

    Columns fall into groups. The k largest values lie in the k groups with the largest maxima (where groups tie, any of
    them hold enough of that value), so only these are searched: one fast pass over all values, a slow one over few.
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
    """Places of the numbers from `start` up to but without `stop`."""
    return ((numbers >= start) & (numbers < stop)).nonzero()[:, 0]


def _judge(at: Float[Tensor, "head target"], target_set: Targets, largest: Tensor, smallest: Tensor) -> Found:
    says = (largest[..., 0] > smallest[..., 0])[:, target_set.rows]
    high, low = largest[..., target_set.k - 1][:, target_set.rows], smallest[..., target_set.k - 1][:, target_set.rows]
    return Found((at >= high) & says, (at <= low) & says)
