"""Random sets of heads to compare with: as many heads of every layer, none of the tested ones."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headcats.models import Head
from headcats.streams import stream

HeadSet = tuple[Head, ...]


@dataclass(frozen=True)
class Controls:
    """Sets of heads that a tested set is compared with.

    Attributes:
        sets: Distinct sets, each sorted, none with a tested head.
        possible: How many such sets there are; all of them are in `sets` if that is no more than were asked for.
        matched: "layers": each has the tested set's number of heads in every layer; "thirds": only in every third of
            the layers, because no set of the first kind exists; "nothing": neither kind exists.
    """

    sets: tuple[HeadSet, ...]
    possible: int
    matched: str


def matched_sets(heads: Sequence[Head], n_heads: Mapping[int, int], *, n: int, seed: int) -> Controls:
    """Up to `n` distinct random sets that match `heads` in the number of heads per layer and share none with it.

    The same heads get the same sets, in whichever order they are named. Where no more than `n` such sets exist, all
    are enumerated, in a random order.

    Args:
        heads: The tested heads.
        n_heads: Layer -> number of heads.
        n: How many sets.
        seed: Seed of the draws.
    """
    if not heads:
        return Controls((), 0, "layers")
    draws = stream(seed, *map(str, sorted(heads)), "matched sets")
    for matched, groups in (("layers", _layers(n_heads)), ("thirds", _thirds(n_heads))):
        wanted = Counter(groups[head.layer] for head in heads)
        pools = {
            group: [
                Head(layer, head)
                for layer in sorted(n_heads)
                for head in range(n_heads[layer])
                if groups[layer] == group and Head(layer, head) not in heads
            ]
            for group in sorted(wanted)
        }
        possible = math.prod(math.comb(len(pool), wanted[group]) for group, pool in pools.items())
        if possible:
            parts = [(pool, wanted[group]) for group, pool in pools.items()]
            sets = _all(parts, draws) if possible <= n else _some(parts, n, draws)
            return Controls(tuple(sets), possible, matched)
    return Controls((), 0, "nothing")


def growing_sequences(heads: Sequence[Head], n_heads: Mapping[int, int], *, n: int, seed: int) -> list[HeadSet]:
    """Random sequences of heads, none of `heads`, whose k-th head is of the same layer as the k-th of `heads`.

    Where a layer has no head left, one of the nearest layer takes its place (of two equally near, the lower one); where
    no head at all is left, the sequence ends.

    Args:
        heads: The sequence to match.
        n_heads: Layer -> number of heads.
        n: How many sequences.
        seed: Seed of the draws.
    """
    found = []
    for number in range(n):
        draws = stream(seed, *map(str, heads), "growing sequence", str(number))
        free = {
            layer: [Head(layer, head) for head in range(count) if Head(layer, head) not in heads]
            for layer, count in sorted(n_heads.items())
        }
        sequence: list[Head] = []
        for head in heads:
            layers = [layer for layer, pool in free.items() if pool]
            if not layers:
                break
            pool = free[min(layers, key=lambda layer: (abs(layer - head.layer), layer))]
            sequence.append(pool.pop(int(draws.integers(len(pool)))))
        found.append(tuple(sequence))
    return found


def _layers(n_heads: Mapping[int, int]) -> dict[int, int]:
    return {layer: layer for layer in n_heads}


def _thirds(n_heads: Mapping[int, int]) -> dict[int, int]:
    return {layer: 3 * place // len(n_heads) for place, layer in enumerate(sorted(n_heads))}


def _all(parts: list[tuple[list[Head], int]], draws: np.random.Generator) -> list[HeadSet]:
    chosen = itertools.product(*(itertools.combinations(pool, count) for pool, count in parts))
    sets = [tuple(sorted(itertools.chain.from_iterable(one))) for one in chosen]
    return [sets[place] for place in draws.permutation(len(sets))]


def _some(parts: list[tuple[list[Head], int]], n: int, draws: np.random.Generator) -> list[HeadSet]:
    sets: dict[HeadSet, None] = {}
    while len(sets) < n:
        drawn = [pool[place] for pool, count in parts for place in draws.permutation(len(pool))[:count]]
        sets[tuple(sorted(drawn))] = None
    return list(sets)
