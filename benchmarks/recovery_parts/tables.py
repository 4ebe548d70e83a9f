"""Tables of what was found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sections import Table

from recovery_parts.worlds import MIN_TASKS


@dataclass(frozen=True)
class Part:
    """What one work of the benchmark gives."""

    tables: list[Table]
    rows: list[dict[str, Any]] = field(default_factory=list)  # the same numbers unrounded, and more


def null_table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """Shares of studies without any effect in which something is called."""
    columns = ("prompts", "studies", "called by", "helping", "95 % interval", "suppressing", "95 % interval", "either")
    cells = []
    for row in rows:
        by = f"min_tasks={row['min_tasks']}" if row["min_tasks"] in map(str, MIN_TASKS) else f"q, {row['min_tasks']}"
        shares = []
        for name in ("helping", "suppressing"):
            shares += [f"{row[name]:.3f}", "{:.3f} to {:.3f}".format(*row[f"{name}_interval"])]
        cells.append((row["setting"], str(row["repetitions"]), by, *shares, f"{row['either']:.3f}"))
    note = (
        "Share of studies in which `fdr(alpha=0.05, min_effect=0)` calls any head a member of any category; in the "
        "rows of q, share of studies with any q of at most .05 over heads x tasks (two-sided). Helping and suppressing "
        "are two families of tests with an alpha of .05 each. Wilson intervals."
    )
    return Table(title, columns, cells, note)


def planted_table(rows: Sequence[dict[str, Any]], *, by: Sequence[str], title: str, note: str = "") -> Table:
    """One row per entry: false share, precision, recall, shared heads' sets, then suppressing heads."""
    columns = (
        *(_HEADS.get(name, name) for name in by),
        "memberships true",
        "called",
        "mean false share",
        "precision",
        "recall",
        "shared heads: right set",
        "suppressing: mean false share",
        "suppressing: recall",
        "wrong sign",
    )
    cells = []
    for row in rows:
        cells.append(
            (
                *(str(row[name]) for name in by),
                f"{row['true']:.1f}",
                f"{row['called']:.1f}",
                f"{_share(row['false_share'])} ± {1.96 * row['false_share_error']:.3f}",
                _share(row["precision"]),
                _share(row["recall"]),
                _share(row["right_set"]),
                _share(row["suppressing_false_share"]),
                _share(row["suppressing_recall"]),
                str(row["wrong_sign"]),
            )
        )
    return Table(title, columns, cells, note)


def curve_table(rows: Sequence[dict[str, Any]], *, by: Sequence[str], title: str, note: str = "") -> Table:
    """One row per point; in each cell `min_tasks` 1 / half / n."""
    shown = ("false_share", "precision", "recall", "right_set")
    cells = []
    for point in dict.fromkeys(tuple(row[name] for name in by) for row in rows):
        of_point = {row["min_tasks"]: row for row in rows if tuple(row[name] for name in by) == point}
        triples = (" / ".join(_share(of_point[str(m)][name], digits=2) for m in MIN_TASKS) for name in shown)
        cells.append((*(f"{value:g}" for value in point), *triples))
    return Table(title, (*(_HEADS.get(name, name) for name in by), *(_HEADS[name] for name in shown)), cells, note)


_HEADS = {
    "false_share": "mean false share",
    "right_set": "shared heads: right set",
    "sd": "SD per prompt",
    "spread": "members matter in",
    "precision": "precision",
    "recall": "recall",
}


def _share(value: float, *, digits: int = 3) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
