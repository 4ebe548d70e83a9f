"""Tables with one row per work and side."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sections import Table

COLUMNS = (
    "work",
    "side",
    "path",
    "seconds",
    "faster than TransformerLens",
    "slower than headcats",
    "share of FLOP bound",
    "peak extra memory",
    "largest difference",
    "timed",
)
_TEXT = frozenset({"work", "side", "path", "timed"})


@dataclass(frozen=True)
class Row:
    """One side of one work."""

    shape: str
    work: str
    title: str  # the work and its sizes, for reading
    side: str  # name of the side
    side_title: str  # the side, for reading
    path: str  # path of the sweep that ran, for ours
    seconds: float  # least seconds for the whole work
    baseline: float  # seconds of TransformerLens' patching
    ours: float  # seconds of headcats with the clean run given
    share: float  # operations that the side's algorithm needs, by the best GEMM rate around the work and its seconds
    peak: int | None  # bytes beside the model, the tokens and the clean run; None where not measured
    difference: float  # largest absolute difference of a number from TransformerLens' own, in nats
    done: float  # share of the work that was timed; the seconds are scaled by it
    repetitions: int
    first: float  # seconds of ours at the first call on a model, self-check included
    gemm: tuple[float, float]  # operations per second of the calibration before and after the work
    effect: float  # largest absolute change of the metric that replacing a head makes, for scale

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of `COLUMNS`."""
        part = "whole" if self.done == 1 else f"{self.done:.1%} of it, scaled"
        first = f"; first call {_digits(self.first)} s" if self.side == "ours" else ""
        return (
            self.title,
            self.side_title,
            self.path or "–",
            _digits(self.seconds),
            f"{_digits(self.baseline / self.seconds)}x",
            f"{_digits(self.seconds / self.ours)}x",
            f"{self.share:.0%}",
            "–" if self.peak is None else f"{_digits(self.peak / 2**20)} MiB",
            "–" if self.side == "transformer_lens" else f"{self.difference:.1e}",
            f"{part}; best of {self.repetitions}{first}",
        )

    @property
    def scale(self) -> str:
        """What the row is to be read with."""
        before, after = (f"{rate / 1e9:.0f}" for rate in self.gemm)
        return f"GEMM {before} and {after} GFLOP/s before and after; largest effect {self.effect:.2g} nats"

    def as_json(self) -> dict[str, Any]:
        """All numbers, unrounded."""
        return asdict(self)


def tables(rows: Sequence[Row]) -> list[Table]:
    """One table per shape."""
    shapes = dict.fromkeys(row.shape for row in rows)
    return [Table(name, COLUMNS, _grouped([row for row in rows if row.shape == name]), left=_TEXT) for name in shapes]


def _grouped(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Cells, the work named in its first row and what to read it with in its second."""
    grouped = []
    for work in dict.fromkeys(row.work for row in rows):
        for place, row in enumerate(row for row in rows if row.work == work):
            title = {0: row.title, 1: row.scale}.get(place, "")
            grouped.append((title, *row.cells[1:]))
    return grouped


def _digits(value: float) -> str:
    """Three significant digits, all of the whole part."""
    if not math.isfinite(value) or value <= 0:
        return f"{value:g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"
