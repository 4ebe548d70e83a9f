"""Relation scores of every head from its weights, with the null of permuted targets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError
from headcats.models.circuit import Circuit
from headcats.papers.ov_relation.extremes import Targets, among_extremes
from headcats.papers.ov_relation.settings import RelationSettings
from headcats.papers.ov_relation.weights import after_first_mlp
from headcats.prompts.drop_report import DropReport
from headcats.prompts.tokens import UNKNOWN_WORD, encode, unknown_id
from headcats.statistics.random_streams import stream


@dataclass(frozen=True, eq=False)
class Relation:
    """A relation whose sources and targets are single tokens."""

    name: str
    sources: Int[Tensor, " pair"]
    targets: Int[Tensor, " pair"]
    words: tuple[tuple[str, str], ...]
    """The pairs as text; token ids where no words were given."""
    report: DropReport

    def __len__(self) -> int:
        return len(self.words)

    @property
    def copying(self) -> bool:
        """True if every pair has the same token on both sides; such relations have a k of their own."""
        return bool((self.sources == self.targets).all())


def single_tokens(
    name: str, pairs: Sequence[Any], *, tokenizer: Any | None, d_vocab: int, min_pairs: int = 1
) -> Relation:
    """The pairs whose words, each with a leading space, are exactly one token; token ids are taken as they are."""
    candidates: list[Any] = [tuple(pair) if isinstance(pair, list | tuple) else pair for pair in pairs]
    if candidates and all(_is_pair(pair, int) for pair in candidates):
        ids: list[Any] = candidates
        if outside := [token for pair in ids for token in pair if not 0 <= token < d_vocab]:
            raise DataError(
                f"Relation {name!r} holds the token id {outside[0]}; the model knows ids 0 to {d_vocab - 1}."
            )
    elif all(_is_pair(pair, str) for pair in candidates):
        ids = _encode(name, candidates, tokenizer)
    else:
        wrong = next(pair for pair in candidates if not _is_pair(pair, str))
        raise DataError(
            f"Relation {name!r} must be a list of (source, target) words, or of token ids; it holds {wrong!r}."
        )
    report = DropReport()
    accepted: dict[tuple[int, int], tuple[str, str]] = {}
    for (source, target), id_pair in zip(candidates, ids, strict=True):
        if problem := id_pair if isinstance(id_pair, str) else "given twice" if id_pair in accepted else "":
            report.drop(problem, f"{source!r} -> {target!r}")
        else:
            accepted[id_pair] = (str(source), str(target))
    report.kept = len(accepted)
    if len(accepted) < min_pairs:
        raise DataError(
            f"Relation {name!r} has too few pairs of single tokens: {report.summary()}; at least {min_pairs} are "
            f"needed. Add pairs, or leave it out."
        )
    sources, targets = torch.tensor(list(accepted), dtype=torch.long).reshape(-1, 2).T
    return Relation(name, sources.clone(), targets.clone(), tuple(accepted.values()), report)


def _encode(name: str, pairs: list[tuple[str, str]], tokenizer: Any | None) -> list[tuple[int, int] | str]:
    """The two ids of each pair, or why it has none."""
    if not pairs:
        return []
    if tokenizer is None:
        raise DataError(f"Relation {name!r} is given as words and the model has no tokenizer: give token ids instead.")
    words = [" " + word for pair in pairs for word in pair]
    ids = encode(tokenizer, words)
    unknown = unknown_id(tokenizer)

    def problem(source: list[int], target: list[int]) -> str:
        if unknown is not None and unknown in (*source, *target):
            return UNKNOWN_WORD
        side, tokens = ("source", source) if len(source) != 1 else ("target", target)
        return "" if len(tokens) == 1 else f"{side} of {'several tokens' if tokens else 'no token'}"

    sides = zip(ids[::2], ids[1::2], strict=True)
    return [problem(source, target) or (source[0], target[0]) for source, target in sides]


def _is_pair(pair: Any, kind: type) -> bool:
    return (
        isinstance(pair, tuple)
        and len(pair) == 2
        and all(isinstance(part, kind) and not isinstance(part, bool) for part in pair)
    )


class Counts(NamedTuple):
    """Pairs of a relation whose target each head puts among the top, or bottom, k; -1 where a layer has fewer heads.

    `direct` is the count for the embeddings themselves, without a head, `direct_later` for what later heads read.
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

    def reached_by_chance(self, threshold: float) -> float:
        """Share of the permutations in which any head puts so large a share of the targets at the top."""
        return float((self.null_top / self.pairs >= threshold).any(axis=1).mean())


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
    """Counts of all heads for all relations: one batched product per layer, which also serves the null."""
    sources = torch.cat([relation.sources for relation in relations]).unique()
    tables = {relation.name: _table(relation, sources, settings, seed=seed) for relation in relations}
    embeddings = circuit.embeddings(sources)
    later = embeddings
    if settings.first_mlp and set(circuit.layers) != {0}:
        later = after_first_mlp(circuit.model, embeddings)
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
