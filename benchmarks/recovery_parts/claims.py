"""The claims about single heads, one row each: a world, what is claimed, and what is found."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sections import Table

from headcats.rules.discovery_rate import fdr
from recovery_parts import skewed
from recovery_parts.analysis import called, categorized, scored
from recovery_parts.generator import Design, results
from recovery_parts.skewed import ITEMS, NOISES, STRICT, NullStudy, SkewedNull
from recovery_parts.tables import Part
from recovery_parts.worlds import World, planted

LEAST = 0.05
RULE = fdr(alpha=0.05, min_effect=LEAST)
COVERED = ("normal", "log-normal")
SIGNS = ("helping", "suppressing")
Repeat = Callable[[Callable, str], list]


def false_share(design: Design, true_members: int, rng: np.random.Generator) -> float:
    """False share of a study whose heads exceed `LEAST` in one task fewer than half, and of some that do in all.

    Of ten tasks, twelve heads per category have .2 in four and .04 in six; `true_members` have .15 in all.
    """
    design = replace(design, tasks=10)
    effects = np.zeros((design.categories, design.tasks, design.n_heads))
    for of_category in effects:
        heads = rng.permutation(design.n_heads)
        for head in heads[:12]:
            of_category[:, head] = 0.04
            of_category[rng.permutation(design.tasks)[:4], head] = 0.2
        of_category[:, heads[12 : 12 + true_members]] = 0.15
    flat = effects.reshape(design.n_tasks, design.n_heads)
    inside, _ = called(scored(results(design, flat, rng=rng), rng=rng), design, rule=RULE, min_tasks="half")
    true = (effects > LEAST).sum(axis=1) >= math.ceil(design.tasks / 2)
    return float((inside & ~true).sum() / max(1, inside.sum()))


def recall(design: Design, members: World, effect: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Of members that matter by `effect` in all tasks of their categories: recall, share found without a mark, and the
    false share of what is found.
    """
    effects = planted(design, members, effect=effect, rng=rng)
    found = categorized(scored(results(design, effects, rng=rng), rng=rng), design, rule=RULE, min_tasks="half")
    inside = found["member"].values == 1
    needed = math.ceil(design.tasks / 2)
    true = (effects > LEAST).reshape(design.categories, design.tasks, -1).sum(axis=1) >= needed
    unmarked = inside & ~found["doubtful"].values
    shares = (inside & true).sum() / true.sum(), (unmarked & true).sum() / true.sum()
    return float(shares[0]), float(shares[1]), float((inside & ~true).sum() / max(1, inside.sum()))


def equal_effects(design: Design, rng: np.random.Generator) -> tuple[float, float]:
    """Of heads with the same effect of .1 everywhere: share called out anywhere, and share in all categories."""
    effects = np.full((design.n_tasks, design.n_heads), 0.1)
    found = categorized(scored(results(design, effects, rng=rng), rng=rng), design, rule=RULE, min_tasks="half")
    outcome = found["member"].values
    return float((outcome == -1).any(axis=0).mean()), float((outcome == 1).all(axis=0).mean())


def coverage(design: Design, rng: np.random.Generator) -> float:
    """Share of intervals over heads and tasks that hold the true effect, .1."""
    effects = np.full((design.n_tasks, design.n_heads), 0.1)
    scores = scored(results(replace(design, by_distractor=0.0), effects, rng=rng), rng=rng)
    return float(((scores["low"] <= 0.1) & (scores["high"] >= 0.1)).mean())


def measure(chosen: argparse.Namespace, design: Design, members: World, repeat: Repeat) -> Part:
    """All rows; the residuals of a run only with `--results`."""
    rows = [row for world in _nulls(chosen.results) for row in _null_rows(world, design, repeat)]
    for true_members in (0, 8):
        mixed = f" and {true_members} with .15 in all" if true_members else ""
        found = repeat(partial(false_share, design, true_members), f"false share, {true_members} members")
        world = f"12 heads per category with .2 in 4 of 10 tasks and .04 in 6{mixed}"
        rows.append(_mean(world, "false share of members", found, "at most .05"))
    for effect, target in ((0.1, ".60"), (0.15, ".95")):
        found = repeat(partial(recall, design, members, effect), f"recall, {effect:g}")
        world = f"members with {effect:g} in all {design.tasks} tasks"
        all_found, unmarked, false = zip(*found, strict=True)
        rows.append(_mean(world, "recall", all_found, f"at least {target}"))
        rows.append(_mean(world, "recall of members without a mark", unmarked, "-"))
        rows.append(_mean(world, "false share of members", false, "at most .05"))
    found = repeat(partial(equal_effects, design), "equal effects")
    world = "all heads with .1 in all tasks of all categories"
    rows.append(_mean(world, "heads called out anywhere", [out for out, _ in found], "at most .05"))
    rows.append(_mean(world, "heads in all categories", [inside for _, inside in found], "-"))
    for noise in COVERED:
        for items in (8, *ITEMS):
            sized = replace(design, noise=noise, prompts=items, items=(items, items))
            found = repeat(partial(coverage, sized), f"coverage, {noise}, {items}")
            rows.append(_mean(f"{noise}, {items} items", "intervals that hold the effect", found, "at least .93"))
    return Part([_table(rows)], rows)


def _nulls(folder: Path | None) -> list[SkewedNull]:
    simulated = [SkewedNull(noise, items) for noise in NOISES for items in ITEMS]
    return simulated + [SkewedNull("residuals", items, folder) for items in ITEMS if folder is not None]


def _null_rows(world: SkewedNull, design: Design, repeat: Repeat) -> list[dict[str, Any]]:
    found = repeat(partial(skewed.one_null, world, design), f"null, {world.name}")
    rows = []
    for row in skewed.rows(world, found):
        worst = max(SIGNS, key=lambda name: row[f"{name}, unmarked"])
        low, high = row[f"{worst}, unmarked_interval"]
        rows.append(
            {
                "world": f"no effect, {world.name}",
                "claim": f"studies with any call, {row['called by']}, min_effect 0 ({worst})",
                "figure": f"{row[f'{worst}, unmarked']:.3f} ({row[worst]:.3f} with marked ones)",
                "interval": f"{low:.3f} to {high:.3f}",
                "target": "at most .07",
                "studies": row["studies"],
            }
        )
    return [*rows, _size_row(world, found)]


def _size_row(world: SkewedNull, found: list[NullStudy]) -> dict[str, Any]:
    sizes = np.array([study.size for study in found])
    helping, suppressing, *unmarked = sizes.mean(axis=0)
    sign = int(np.argmax(unmarked))
    claim = f"heads x tasks with a one-sided p of at most {STRICT:g} ({SIGNS[sign]})"
    row = _mean(f"no effect, {world.name}", claim, sizes[:, 2 + sign].tolist(), f"at most {2 * STRICT:g}", digits=4)
    return {**row, "figure": f"{row['figure']} ({(helping, suppressing)[sign]:.4f} with marked ones)"}


def _mean(world: str, claim: str, values: Sequence[float], target: str, digits: int = 3) -> dict[str, Any]:
    mean, error = float(np.mean(values)), float(np.std(values) / math.sqrt(len(values)))
    low, high = max(0.0, mean - 1.96 * error), min(1.0, mean + 1.96 * error)
    shared = {"world": world, "claim": claim, "target": target, "studies": len(values)}
    return {**shared, "figure": f"{mean:.{digits}f}", "interval": f"{low:.{digits}f} to {high:.{digits}f}"}


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = ("world", "claim", "found", "95 % interval", "wanted", "studies")
    names = ("world", "claim", "figure", "interval", "target", "studies")
    note = (
        "The rule is `fdr(alpha=0.05, min_effect=0.05)` in at least half of the tasks, unless a row says otherwise. "
        "Marked: heads that `hc.categorize` or `hc.score` calls `doubtful`; the latter does not give their q. Of "
        "helping and suppressing heads the row shows the worse. Intervals over studies: Wilson's for shares of studies."
    )
    return Table(
        "What is claimed about heads", columns, [tuple(str(row[name]) for name in names) for row in rows], note
    )
