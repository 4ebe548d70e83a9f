"""Labels of tasks: how often `evidence` supports a category that is none, and one that is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sections import Table

from recovery_parts.label_worlds import (
    CONFOUNDED,
    MILDLY,
    NULL,
    PARTLY,
    POWER,
    LabelStudy,
    heterogeneous,
    of_truth,
    verdicts,
)
from recovery_parts.null import wilson
from recovery_parts.tables import Part

Repeated = Callable[[Callable[[np.random.Generator], Any], str], list[dict[str, Any]]]
PARTITIONS = "bundled tasks dealt at random"
ANY, UNNAMED, CATEGORIES, WITHOUT = (
    "any category is supported",
    "any is supported, and the property not named",
    "categories that are supported",
    "the category without is supported",
)
_CALLED: dict[str, Callable[[dict[str, Any]], list[bool]]] = {
    ANY: lambda study: [any(study["supported"])],
    UNNAMED: lambda study: [any(study["unnamed"])],
    CATEGORIES: lambda study: study["supported"],
    WITHOUT: lambda study: study["supported"][-1:],
}
_WANTED = {ANY: "at most .07", UNNAMED: "0", CATEGORIES: "-", WITHOUT: "at most .07"}
_LEAST = {(0.2, 5): ".42", (0.4, 5): ".60", (0.2, 10): ".80", (0.4, 10): ".95"}
_HARD = ("vary by", "own heads of .1, generic")
POWER_TASKS, POWER_EFFECTS = (3, 4, 5, 6, 8, 10, 15), (0.1, 0.2, 0.4)
POWER_CATEGORIES, POWER_ITEMS = (2, 4), (16, 64)


def report(study: LabelStudy, repeated: Repeated) -> Part:
    """Every world, by the share of studies, or of categories, that are called supported."""
    rows = []
    for worlds, claim in (
        (NULL, ANY),
        (CONFOUNDED, UNNAMED),
        (MILDLY, UNNAMED),
        (POWER, CATEGORIES),
        (PARTLY, WITHOUT),
    ):
        for name in worlds:
            rows.append(_row(name, claim, repeated(partial(verdicts, name, study), name)))
    return Part([_table(rows, "Verdicts of `evidence` in simulated studies")], rows)


def power(study: LabelStudy, repeated: Repeated) -> Part:
    """Share of categories with heads of their own that are supported, by what a study has."""
    rows = []
    for n_categories in POWER_CATEGORIES:
        for items in POWER_ITEMS:
            for tasks in POWER_TASKS:
                for effect in POWER_EFFECTS:
                    sizes = {"categories": n_categories, "items": items, "tasks": tasks, "effect": effect}
                    measure = partial(_heterogeneous, replace(study, items=items), sizes)
                    found = repeated(measure, " ".join(f"{name} {value}" for name, value in sizes.items()))
                    rows.append(sizes | {"supported": float(np.mean([one["supported"] for one in found]))})
    columns = ("categories", "query items", "own effect", *(f"{tasks} sources" for tasks in POWER_TASKS))
    cells = []
    for first in rows[:: len(POWER_EFFECTS) * len(POWER_TASKS)]:
        for effect in POWER_EFFECTS:
            same = [
                row
                for row in rows
                if (row["categories"], row["items"], row["effect"]) == (first["categories"], first["items"], effect)
            ]
            shares = tuple(f"{row['supported']:.2f}" for row in same)
            cells.append((str(first["categories"]), str(first["items"]), f"{effect:g}", *shares))
    note = (
        "Tasks as in the heterogeneous worlds of `--work labels`; sources per category, of which each is one task. "
        "`headcats validate` and `headcats plan` read this table (headcats/evidence/power.py)."
    )
    return Part([Table("Chance that a category with heads of its own is supported", columns, cells, note)], rows)


def _heterogeneous(study: LabelStudy, sizes: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    chosen = {name: sizes[name] for name in ("categories", "tasks", "effect")}
    return of_truth(heterogeneous(study, rng, **chosen), study, rng)


def partitions(folder: Path, *, n: int, relabellings: int, seed: int, note: Callable[[str], None]) -> Part:
    """The tasks of a finished run, dealt at random to its categories, with its real joint ablations."""
    found = []
    for number, outcome in enumerate(_partitions(folder, n=n, relabellings=relabellings, seed=seed), start=1):
        found.append(outcome)
        note(f"{PARTITIONS}: {number} of {n}, {sum(any(one['supported']) for one in found)} with a supported category")
    row = _row(PARTITIONS, ANY, found)
    return Part([_table([row], f"Tasks of {folder.name} dealt at random to its categories")], [row])


def _partitions(folder: Path, *, n: int, relabellings: int, seed: int) -> Iterator[dict[str, Any]]:
    # torch and transformer-lens, which the simulated studies do not need.
    from recovery_parts.label_partitions import Bench

    bench = Bench(folder, relabellings=relabellings, seed=seed)
    for number in range(n):
        yield bench.verdicts(np.random.default_rng([seed, number]))


def _row(world: str, claim: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    calls = [call for study in found for call in _CALLED[claim](study)]
    low, high = wilson(sum(calls), len(calls))
    sizes = [study["size"] for study in found if not np.isnan(study["size"])]
    wanted = "at most .07" if world in MILDLY else _WANTED[claim]
    for (effect, tasks), least in _LEAST.items():
        if world == f"heterogeneous tasks, own effect {effect:g}, {tasks} tasks":
            wanted = f"at least {least}"
    return {
        "world": world,
        "claim": claim,
        "found": float(np.mean(calls)),
        "interval": [low, high],
        "wanted": "-" if any(words in world for words in _HARD) else wanted,
        "studies": len(found),
        "named": float(np.mean([study["named"] for study in found])),
        "not_supported": float(np.mean([study["not_supported"] for study in found])),
        "sources": float(np.mean([study["sources"] for study in found])),
        "size": float(np.mean(sizes)) if sizes else None,
        "low_missed": _missed(found, "low"),
        "high_missed": _missed(found, "high"),
    }


def _missed(found: Sequence[dict[str, Any]], end: str) -> float | None:
    """Share of limits beyond the mean difference of all categories and studies."""
    limit, difference = (np.array([study[name] for study in found], dtype=float) for name in (end, "specificity"))
    known = ~np.isnan(limit)
    if not known.any():
        return None
    beyond = limit[known] - difference[known].mean()
    return float((beyond > 0 if end == "low" else beyond < 0).mean())


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    columns = (
        "world",
        "claim",
        "found",
        "95 % interval",
        "wanted",
        "studies",
        "a property named",
        "not supported",
        "sources",
        "own size",
        "lower limit too high",
        "upper limit too low",
    )
    cells = [
        (
            row["world"],
            row["claim"],
            f"{row['found']:.3f}",
            "{:.3f} to {:.3f}".format(*row["interval"]),
            row["wanted"],
            str(row["studies"]),
            f"{row['named']:.2f}",
            f"{row['not_supported']:.3f}",
            f"{row['sources']:.1f}",
            "-" if row["size"] is None else f"{row['size']:.3f}",
            *("-" if row[name] is None else f"{row[name]:.3f}" for name in ("low_missed", "high_missed")),
        )
        for row in rows
    ]
    note = (
        "Found: share of studies in which the claim holds, or of categories; Wilson's interval. A property named: of "
        "studies. Not supported: of categories. Sources: mean number that `evidence` counts. Own size: what it prints, "
        "mean over studies. Lower limit too high, upper limit too low: of categories, beyond the mean difference in "
        "damage of the world (nominal .05 each; where categories or tasks differ in fragility it says little)."
    )
    return Table(title, columns, cells, note)
