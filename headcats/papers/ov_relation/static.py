"""Relation scores of every head from its weights, with the null of permuted targets."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.circuit import Circuit
from headcats.papers.ov_relation.extremes import Targets, among_extremes
from headcats.papers.ov_relation.pairs import Relation
from headcats.papers.ov_relation.settings import RelationSettings
from headcats.statistics.random_streams import stream


class Counts(NamedTuple):
    """For how many pairs of a relation each head puts the target among the top k, or among the bottom k.

    -1 where a layer has fewer heads. The null has counts for every permutation of the targets. `direct` is the count
    for the embeddings themselves, without a head, and `direct_later` for what heads after layer 0 read.
    """

    pairs: int
    top: Int[np.ndarray, "layer head"]
    bottom: Int[np.ndarray, "layer head"]
    null_top: Int[np.ndarray, "permutation model_head"]
    null_bottom: Int[np.ndarray, "permutation model_head"]
    direct: int
    direct_later: int

    def shares(self, name: str) -> Float[np.ndarray, "layer head"]:
        """Score ("top") or suppression ("bottom"): share of pairs, NaN where there is no head."""
        counts = getattr(self, name)
        return np.where(counts < 0, np.nan, counts / self.pairs)

    def null(self, name: str, *, percentile: float) -> float:
        """The percentile of the pooled null, as a share of pairs."""
        return float(np.quantile(getattr(self, f"null_{name}") / self.pairs, percentile / 100, method="inverted_cdf"))


class _Table(NamedTuple):
    """A relation as a table of its distinct sources by its distinct targets, so that every cell is looked up once."""

    cells: Targets
    """Row by row."""
    pairs: Int[Tensor, " pair"]
    """Cell of each pair."""
    shuffled: Int[Tensor, "permutation pair"]
    """The same with permuted targets."""


def relation_counts(
    circuit: Circuit,
    relations: Sequence[Relation],
    *,
    settings: RelationSettings,
    seed: int,
    advance: Callable[[float, str], None] = lambda share, what: None,
) -> dict[str, Counts]:
    """Counts of all heads for all relations, each weight read once.

    Per layer, the sources of all relations go through all heads in one batched product, which also serves the null:
    every target of a relation is looked up for every source of it. A ModelError for a number that is not finite.
    """
    sources = torch.cat([relation.sources for relation in relations]).unique()
    tables = {relation.name: _table(relation, sources, settings, seed=seed) for relation in relations}
    embeddings = circuit.embeddings(sources)
    later = circuit.after_first_mlp(embeddings) if settings.first_mlp and set(circuit.layers) != {0} else embeddings
    layers: dict[str, list[list[np.ndarray]]] = {name: [] for name in tables}
    for place, layer in enumerate(circuit.layers):
        advance(place / len(circuit.layers), f"layer {layer}")
        outputs = circuit.values(embeddings if layer == 0 else later, layer=layer)
        if not bool(torch.isfinite(outputs).all()):
            raise ModelError(
                f"The values of layer {layer} of model {circuit.model.name!r} hold NaN or infinity for some of the "
                f"sources: its weights overflow in {circuit.model.dtype}; load it in float32 or bfloat16."
            )
        cells = [table.cells for table in tables.values()]
        W_O, d_vocab = circuit.W_O(layer), circuit.d_vocab
        extremes = among_extremes(outputs, W_O, circuit.unembedding, cells, d_vocab=d_vocab)
        for (name, table), sides in zip(tables.items(), extremes, strict=True):
            layers[name].append([counts for hits in sides for counts in _count(hits, table)])
    direct, direct_later = (_direct(circuit, rows, tables) for rows in (embeddings, later))
    counts = {}
    for name, table in tables.items():
        top, null_top, bottom, null_bottom = zip(*layers[name], strict=True)
        counts[name] = Counts(
            len(table.pairs),
            top=_stacked(top, circuit.model.max_heads),
            bottom=_stacked(bottom, circuit.model.max_heads),
            null_top=np.concatenate(null_top, axis=1),
            null_bottom=np.concatenate(null_bottom, axis=1),
            direct=direct[name],
            direct_later=direct_later[name],
        )
    return counts


def permutations(pairs: int, *, n: int, seed: int, task: str) -> Int[np.ndarray, "permutation pair"]:
    """Random orders of the targets of a relation, the same for every head."""
    draws = stream(seed, task, "permuted targets")
    return np.stack([draws.permutation(pairs) for _ in range(n)])


def _table(relation: Relation, sources: Tensor, settings: RelationSettings, *, seed: int) -> _Table:
    ids, row = relation.sources.unique(return_inverse=True)
    tokens, column = relation.targets.unique(return_inverse=True)
    rows = torch.searchsorted(sources, ids).repeat_interleave(len(tokens))
    cells = Targets(rows, tokens.repeat(len(ids)), settings.k_for(copying=relation.copying))
    orders = torch.from_numpy(permutations(len(relation), n=settings.permutations, seed=seed, task=relation.name))
    return _Table(cells, row * len(tokens) + column, row * len(tokens) + column[orders])


def _count(hits: Bool[Tensor, "head cell"], table: _Table) -> tuple[np.ndarray, np.ndarray]:
    """Counts of hits over the pairs `[head]`, and over the permuted pairs `[permutation, head]`."""
    # A row of heads per cell, and a sum of rows per permutation; whole numbers below 2^24, so the sums are exact.
    by_cell = hits.cpu().T.float().contiguous()
    null = F.embedding_bag(table.shuffled, by_cell, mode="sum")
    return by_cell[table.pairs].sum(0).numpy().astype(np.int64), null.numpy().astype(np.int64)


def _direct(circuit: Circuit, rows: Tensor, tables: Mapping[str, _Table]) -> dict[str, int]:
    """For how many pairs the target is at the top of `rows @ W_U`, without any head."""
    targets = [
        Targets(table.cells.rows[table.pairs], table.cells.tokens[table.pairs], table.cells.k)
        for table in tables.values()
    ]
    hits = among_extremes(rows[None], None, circuit.unembedding, targets, d_vocab=circuit.d_vocab)
    return {name: int(sides.top.sum()) for name, sides in zip(tables, hits, strict=True)}


def _stacked(layers: Sequence[Int[np.ndarray, " head"]], max_heads: int) -> Int[np.ndarray, "layer head"]:
    """Layers as rows, -1 where a layer has fewer heads."""
    return np.stack([np.pad(counts, (0, max_heads - len(counts)), constant_values=-1) for counts in layers])
