"""Labels of tasks: how often `evidence` supports a category that is none, and one that is."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sections import Table

from recovery_parts.label_worlds import NULL, PARTLY, POWER, LabelStudy, verdicts
from recovery_parts.null import wilson
from recovery_parts.tables import Part

Repeated = Callable[[Callable[[np.random.Generator], Any], str], list[dict[str, Any]]]
PARTITIONS = "bundled tasks dealt at random"
_CLAIMS = ("supported", "signature", "causal")


def report(study: LabelStudy, repeated: Repeated) -> Part:
    """Every world, by the share of studies, or of categories, that are called supported."""
    rows = []
    for worlds, claim in ((NULL, "any category"), (POWER, "of the categories"), (PARTLY, "the category without")):
        for name in worlds:
            found = repeated(partial(verdicts, name, study), name)
            rows.append(_row(name, claim, found))
    return Part([_table(rows, "Verdicts of `evidence` in simulated studies")], rows)


def partitions(folder: Path, *, n: int, relabellings: int, seed: int, note: Callable[[str], None]) -> Part:
    """The tasks of a finished run, dealt at random to its categories, with its real joint ablations."""
    found = []
    for number, outcome in enumerate(_partitions(folder, n=n, relabellings=relabellings, seed=seed), start=1):
        found.append(outcome)
        note(f"{PARTITIONS}: {number} of {n}, {sum(any(one['supported']) for one in found)} with a supported category")
    row = _row(PARTITIONS, "any category", found)
    return Part([_table([row], f"Tasks of {folder.name} dealt at random to its categories")], [row])


def _partitions(folder: Path, *, n: int, relabellings: int, seed: int) -> Iterator[dict[str, Any]]:
    # torch and transformer-lens, which the simulated studies do not need.
    from recovery_parts.label_partitions import Bench

    bench = Bench(folder, relabellings=relabellings, seed=seed)
    for number in range(n):
        yield bench.verdicts(np.random.default_rng([seed, number]))


def _row(world: str, claim: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"world": world, "claim": claim, "studies": len(found)}
    for name in _CLAIMS:
        calls = np.array([study[name] for study in found])
        counted = {"any category": calls.any(axis=1), "the category without": calls[:, -1]}.get(claim, calls.ravel())
        row[name], row[f"{name}_interval"] = float(counted.mean()), wilson(int(counted.sum()), len(counted))
    row["not_supported"] = float(np.mean([study["not_supported"] for study in found]))
    row["error_rate"] = float(np.mean([study["error_rate"] for study in found]))
    return row


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    columns = (
        "world",
        "claim",
        "studies",
        "supported",
        "95 % interval",
        "signature alone",
        "causal alone",
        "not supported",
        "own rate",
    )
    cells = [
        (
            row["world"],
            f"{row['claim']} is supported",
            str(row["studies"]),
            f"{row['supported']:.3f}",
            "{:.3f} to {:.3f}".format(*row["supported_interval"]),
            f"{row['signature']:.3f}",
            f"{row['causal']:.3f}",
            f"{row['not_supported']:.3f}",
            f"{row['error_rate']:.3f}",
        )
        for row in rows
    ]
    note = (
        "Share of studies in which any category is supported, of categories that are, or of studies in which the one "
        "category without heads of its own is. Alone: the same if one family-wise p of at most .05 were enough. Not "
        "supported: share of all categories with that verdict. Own rate: what `evidence` prints as its error rate, "
        "mean over studies. Wilson intervals."
    )
    return Table(title, columns, cells, note)
