"""Heads that categories share: how often `hc.categories.sharing` calls them fewer or more than under other labels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool
from sections import Table

from headcats.categories.shared import sharing
from recovery_parts.analysis import scored
from recovery_parts.generator import Design, results
from recovery_parts.null import ALPHA, wilson
from recovery_parts.tables import Part

EFFECT = 0.25
GENERIC = 12
"""Heads that matter in a random part of all tasks; of them, up to four are copies of one."""
Repeated = Callable[[Callable[[np.random.Generator], Any], str], list[dict[str, Any]]]


@dataclass(frozen=True)
class World:
    """What tasks need heads for. Generic heads matter in each source with a probability that is theirs."""

    name: str
    means_something: bool = False
    copies: int = 1  # generic heads that matter in the same tasks
    unequal: bool = False  # effects and noise differ between heads, effects also between tasks
    source: int = 1  # tasks that need the same heads, told to the test
    own: int = 0  # heads per category that matter in its tasks alone
    others: int = 0  # heads per category that matter in the tasks of all others
    categories: int = 4


WORLDS = (
    World("independent heads"),
    World("heads in redundant pairs", copies=2),
    World("heads in redundant fours", copies=4),
    World("unequally detectable heads, unequal noise", unequal=True),
    World("unequal, redundant fours, tasks in related pairs", copies=4, unequal=True, source=2),
    World("three heads of its own per category", means_something=True, own=3),
    World("the same, two categories", means_something=True, own=3, categories=2),
    World("two heads per category for all others", means_something=True, others=2),
)


def report(design: Design, repeated: Repeated, *, relabellings: int) -> Part:
    """Every world, by the share of studies with a p of at most .05."""
    rows = []
    for world in WORLDS:
        found = repeated(partial(one_study, world, design, relabellings), world.name)
        p_values = np.array([study["p_value"] for study in found])
        called = p_values <= ALPHA
        fewer = called & np.array([study["shared_pairs"] < study["relabelled"] for study in found])
        rows.append(
            {"world": world.name, "labels": "mean something" if world.means_something else "mean nothing"}
            | {name: float(np.mean([study[name] for study in found])) for name in ("shared_pairs", "relabelled")}
            | {"studies": len(found), "called": float(called.mean()), "fewer": float(fewer.mean())}
            | {"called_interval": wilson(int(called.sum()), len(called))}
        )
    return Part([_table(rows, relabellings)], rows)


def one_study(world: World, design: Design, relabellings: int, rng: np.random.Generator) -> dict[str, float]:
    """The test of one simulated study."""
    # As many tasks in all.
    sizes = replace(design, categories=world.categories, tasks=design.n_tasks // world.categories)
    strength = np.exp(rng.normal(0, 0.6, (2, sizes.n_heads))) if world.unequal else np.ones((2, sizes.n_heads))
    of_task = np.exp(rng.normal(0, 0.4, (sizes.n_tasks, 1))) if world.unequal else 1.0
    effects = EFFECT * strength[0] * of_task * _needed(world, sizes, rng)
    scores = scored(results(replace(sizes, sd=sizes.sd * strength[1]), effects, rng=rng), rng=rng)
    sources = [f"source {place // world.source}" for place in range(sizes.n_tasks)]
    scores = scores.assign_coords(independent_source=("task", sources))
    tested = sharing(scores, relabellings=relabellings, seed=int(rng.integers(2**31)))
    return {name: float(number) for name, number in tested.data_vars.items()}


def _needed(world: World, design: Design, rng: np.random.Generator) -> Bool[np.ndarray, "task head"]:
    n_sources = design.n_tasks // world.source
    patterns = rng.random((n_sources, GENERIC // world.copies)) < rng.uniform(0.2, 0.8, GENERIC // world.copies)
    generic = np.repeat(np.repeat(patterns, world.copies, axis=1), world.source, axis=0)
    of_category = design.category_of_task[:, None] == np.arange(design.categories)
    kinds = np.repeat(of_category, world.own, axis=1), np.repeat(~of_category, world.others, axis=1)
    heads = np.concatenate([generic, *kinds], axis=1)
    return np.pad(heads, ((0, 0), (0, design.n_heads - heads.shape[1])))


def _table(rows: list[dict[str, Any]], relabellings: int) -> Table:
    columns = ("world", "labels", "studies", "shared", "under other labels", "p <= .05", "95 % interval", "fewer")
    cells = [
        (
            row["world"],
            row["labels"],
            str(row["studies"]),
            *(f"{row[name]:.1f}" for name in ("shared_pairs", "relabelled")),
            f"{row['called']:.3f}",
            "{:.3f} to {:.3f}".format(*row["called_interval"]),
            f"{row['fewer']:.3f}",
        )
        for row in rows
    ]
    note = (
        f"Studies through `hc.score` and `hc.categories.sharing` with the default rule and {relabellings} other "
        f"labellings. Heads have an effect of {EFFECT:g}; {GENERIC} generic ones in each task with a probability of "
        "their own, .2 to .8. Shared: heads in two categories, sum over pairs, mean over studies. Fewer: share of "
        "studies with such a p and fewer shared heads than under other labels. Wilson intervals."
    )
    return Table("Shared heads against other labels", columns, cells, note)
