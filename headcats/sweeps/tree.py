"""Rows shared by the runs of a replay: runs that differ from some layer on are one run before it.

A row is one variant of the residual stream. One head at a time, rows grow by the heads of each layer; growing sets (the
k best heads, for every k) need no more rows than single heads. A set without heads so far needs none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headcats.models.head import Head

HeadSet = tuple[Head, ...]


@dataclass(frozen=True)
class Step:
    """Replacements and rows of one layer."""

    layer: int
    parents: tuple[int, ...] | None
    """Row before the layer that each row goes on from; None: every row goes on as it is."""
    fresh: int
    """Rows that start here from the unpatched run; they come last."""
    rows: tuple[int, ...]
    """Rows in which a head is replaced, one entry per replacement."""
    heads: tuple[int, ...]
    n_rows: int
    """Rows behind this layer."""

    def apart(self) -> tuple["Step", "Step"]:
        """Split into the step of rows that were there before, and of fresh ones."""
        n_old = self.n_rows - self.fresh
        replaced = list(zip(self.rows, self.heads, strict=True))
        old = [(row, head) for row, head in replaced if row < n_old]
        new = [(row - n_old, head) for row, head in replaced if row >= n_old]
        return self._with(old, fresh=0, n_rows=n_old), self._with(new, fresh=self.fresh, n_rows=self.fresh)

    def _with(self, replaced: Sequence[tuple[int, int]], *, fresh: int, n_rows: int) -> "Step":
        rows, heads = (tuple(pair[part] for pair in replaced) for part in (0, 1))
        return Step(self.layer, None, fresh, rows, heads, n_rows)


def grow(sets: Sequence[HeadSet], *, n_layers: int) -> tuple[list[Step], list[int]]:
    """Steps from the first layer with a replacement to the last of the model, and the row of each set behind them.

    No set may be empty; sets may repeat.
    """
    ordered = [tuple(sorted(set(heads))) for heads in sets]
    places: dict[HeadSet, int] = {}
    steps = []
    for layer in range(min(heads[0].layer for heads in ordered), n_layers):
        so_far = [heads for heads in dict.fromkeys(_until(heads, layer) for heads in ordered) if heads]
        fresh = [heads for heads in so_far if not _until(heads, layer - 1)]
        old = [heads for heads in so_far if _until(heads, layer - 1)]
        old.sort(key=lambda heads: places[_until(heads, layer - 1)])
        parents = tuple(places[_until(heads, layer - 1)] for heads in old)
        rows = [*old, *fresh]
        replaced = [(row, head.head) for row, heads in enumerate(rows) for head in heads if head.layer == layer]
        changes = parents != tuple(range(len(places)))
        replaced_rows, replaced_heads = (tuple(pair[part] for pair in replaced) for part in (0, 1))
        steps.append(Step(layer, parents if changes else None, len(fresh), replaced_rows, replaced_heads, len(rows)))
        places = {heads: row for row, heads in enumerate(rows)}
    return steps, [places[heads] for heads in ordered]


def _until(heads: HeadSet, layer: int) -> HeadSet:
    return tuple(head for head in heads if head.layer <= layer)
