"""Random sets of heads to compare with: as many heads of every layer, with or without the tested ones.

A category is tested on several tasks, each with its own set (chosen without the task). One comparison replaces all of
them by a family: one image of every set under one map of heads to heads of the same layer, so that sets that overlap
have images that overlap.
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headcats.models.head import Head
from headcats.statistics.random_streams import stream

HeadSet = tuple[Head, ...]
Family = tuple[HeadSet, ...]
# Damages are shares of the gap in single precision: a smaller difference is a tie, which counts against the category.
TIE = 1e-6


@dataclass(frozen=True)
class Controls:
    """Random sets of heads that a tested set is compared with.

    Attributes:
        sets: Sets, each sorted, none with a tested head; distinct unless they are coupled to those of another set.
        matched: "layers": as many heads as the tested set in every layer; "thirds": only in every third of the layers,
            because no set of the first kind exists; "nothing": neither kind exists.
    """

    sets: tuple[HeadSet, ...] = ()
    matched: str = "layers"


def matched_sets(heads: Sequence[Head], n_heads: Mapping[int, int], *, n: int, seed: int) -> Controls:
    """Up to `n` distinct random sets that match `heads` in the number of heads per layer and share none with it.

    The order of `heads` does not matter. If no more than `n` such sets exist, all are returned, in random order.
    """
    if not heads:
        return Controls()
    draws = stream(seed, *map(str, sorted(heads)), "matched sets")
    free, layers = _heads_left(n_heads, heads), sorted(n_heads)
    thirds = {layer: 3 * place // len(layers) for place, layer in enumerate(layers)}
    for matched, groups in (("layers", {layer: layer for layer in layers}), ("thirds", thirds)):
        sizes = Counter(groups[head.layer] for head in heads)
        pools = [
            ([head for layer in layers if groups[layer] == group for head in free[layer]], size)
            for group, size in sorted(sizes.items())
        ]
        if possible := math.prod(math.comb(len(pool), size) for pool, size in pools):
            sets = _enumerated(pools, draws) if possible <= n else _sampled(pools, n, draws)
            return Controls(tuple(sets), matched)
    return Controls(matched="nothing")


def relabellings(
    row: Collection[HeadSet], n_heads: Mapping[int, int], *, n: int, seed: int
) -> dict[HeadSet, tuple[HeadSet, ...]]:
    """Images of some sets under up to `n` permutations of the heads within every layer, the tested heads among them.

    If heads of a layer are exchangeable, the tested sets are one such family among equals, so a rank among them is an
    exact test. The k-th image of every set is by the same permutation. Families are distinct, and none is that of the
    sets themselves; if no more than `n` exist, all are returned, in random order.
    Empty and repeated sets are ignored. Set (sorted) -> its images, each sorted.
    """
    sets = _distinct(row)
    draws = stream(seed, *_names(sets), "relabellings")
    families = _families(sets, _heads_left(n_heads, ()), n, draws, leave_out=sets)
    return {heads: tuple(family[place] for family in families) for place, heads in enumerate(sets)}


def coupled_controls(
    row: Collection[HeadSet], n_heads: Mapping[int, int], *, n: int, seed: int
) -> dict[HeadSet, Controls]:
    """Control sets of several tested sets, the k-th of each by one map of all tested heads to other heads of the layer.

    Where a layer has too few other heads for such a map, every set gets `matched_sets` of its own.
    Empty and repeated sets are ignored. Set (sorted) -> its controls.
    """
    sets = _distinct(row)
    pools = _heads_left(n_heads, {head for heads in sets for head in heads})
    if not _count_families(sets, pools):
        return {heads: matched_sets(heads, n_heads, n=n, seed=seed) for heads in sets}
    families = _families(sets, pools, n, stream(seed, *_names(sets), "coupled sets"))
    return {heads: Controls(tuple(family[place] for family in families)) for place, heads in enumerate(sets)}


def growing_sequences(heads: Sequence[Head], n_heads: Mapping[int, int], *, n: int, seed: int) -> list[HeadSet]:
    """Random sequences of heads, none of `heads`, whose k-th head is of the same layer as the k-th of `heads`.

    Where a layer has no head left, one of the nearest layer takes its place (the lower one of two); where no head at
    all is left, the sequence ends.
    """
    sequences = []
    for number in range(n):
        draws = stream(seed, *map(str, heads), "growing sequence", str(number))
        free = _heads_left(n_heads, heads)
        sequence: list[Head] = []
        for head in heads:
            layers = [layer for layer, pool in free.items() if pool]
            if not layers:
                break
            pool = free[min(layers, key=lambda layer: (abs(layer - head.layer), layer))]
            sequence.append(pool.pop(int(draws.integers(len(pool)))))
        sequences.append(tuple(sequence))
    return sequences


def _heads_left(n_heads: Mapping[int, int], heads: Collection[Head]) -> dict[int, list[Head]]:
    """Layer -> its heads that are not in `heads`."""
    return {
        layer: [Head(layer, head) for head in range(count) if Head(layer, head) not in heads]
        for layer, count in n_heads.items()
    }


def _distinct(row: Collection[HeadSet]) -> Family:
    return tuple(sorted({tuple(sorted(heads)) for heads in row if heads}))


def _names(sets: Family) -> list[str]:
    return [" ".join(map(str, heads)) for heads in sets]


def _groups(sets: Family) -> list[tuple[int, tuple[bool, ...], int]]:
    """Layer, membership in each set, and number of the heads with both: heads of a group are interchangeable."""
    union = {head for heads in sets for head in heads}
    counts = Counter((head.layer, tuple(head in heads for heads in sets)) for head in union)
    return [(layer, inside, count) for (layer, inside), count in sorted(counts.items())]


def _count_families(sets: Family, pools: Mapping[int, Sequence[Head]]) -> int:
    free = {layer: len(pool) for layer, pool in pools.items()}
    number = 1 if sets else 0
    for layer, _, count in _groups(sets):
        number *= math.comb(free[layer], count)
        free[layer] = max(0, free[layer] - count)
    return number


def _families(
    sets: Family, pools: Mapping[int, list[Head]], n: int, draws: np.random.Generator, leave_out: Family | None = None
) -> list[Family]:
    """Up to `n` distinct images of the sets, each as likely as any other."""
    groups, possible = _groups(sets), _count_families(sets, pools)
    if possible - (leave_out is not None) <= n:
        families = [family for family in _all_families(groups, pools, len(sets)) if family != leave_out]
        return [families[place] for place in draws.permutation(len(families))] if possible else []
    sampled: dict[Family, None] = {}
    while len(sampled) < n:
        shuffled = {layer: [pool[place] for place in draws.permutation(len(pool))] for layer, pool in pools.items()}
        images: list[list[Head]] = [[] for _ in sets]
        for layer, inside, count in groups:
            taken, shuffled[layer] = shuffled[layer][:count], shuffled[layer][count:]
            for image, is_member in zip(images, inside, strict=True):
                image += taken if is_member else []
        family = tuple(tuple(sorted(image)) for image in images)
        if family != leave_out:
            sampled[family] = None
    return list(sampled)


def _all_families(
    groups: Sequence[tuple[int, tuple[bool, ...], int]], pools: Mapping[int, Sequence[Head]], n_sets: int
) -> Iterator[Family]:
    if not groups:
        yield ((),) * n_sets
        return
    (layer, inside, count), *later_groups = groups
    for taken in itertools.combinations(pools[layer], count):
        left = [head for head in pools[layer] if head not in taken]
        for family in _all_families(later_groups, {**pools, layer: left}, n_sets):
            yield tuple(
                tuple(sorted((*image, *taken))) if is_member else image
                for image, is_member in zip(family, inside, strict=True)
            )


def _enumerated(parts: list[tuple[list[Head], int]], draws: np.random.Generator) -> list[HeadSet]:
    products = itertools.product(*(itertools.combinations(pool, count) for pool, count in parts))
    sets = [tuple(sorted(itertools.chain.from_iterable(product))) for product in products]
    return [sets[place] for place in draws.permutation(len(sets))]


def _sampled(parts: list[tuple[list[Head], int]], n: int, draws: np.random.Generator) -> list[HeadSet]:
    sets: dict[HeadSet, None] = {}
    while len(sets) < n:
        heads = [pool[place] for pool, count in parts for place in draws.permutation(len(pool))[:count]]
        sets[tuple(sorted(heads))] = None
    return list(sets)


def p_value(observed: float, controls: Float[np.ndarray, " control"]) -> float:
    """`(1 + controls that reach the observed value) / (1 + controls)`, one-sided; NaN without an observed value."""
    if np.isnan(observed) or np.isnan(controls).any():
        return float("nan")
    return float((1 + (controls >= observed - TIE).sum()) / (1 + len(controls)))


def middle(values: Float[np.ndarray, " draw"]) -> tuple[float, float]:
    """The middle 95 %, leaving out NaN."""
    finite = values[~np.isnan(values)]
    if not len(finite):
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)
