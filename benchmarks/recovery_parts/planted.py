"""Planted truth: which memberships are found, how many of those found are false, whether shared heads get their set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool

from headcats.rules import elbow, sd_above_mean, threshold, top_fraction
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule
from recovery_parts.analysis import called, scored
from recovery_parts.generator import Design, results
from recovery_parts.worlds import MIN_TASKS, World, members, planted

Counts = dict[str, int]

RULES: dict[str, Rule] = {
    repr(rule): rule
    for rule in (
        fdr(alpha=0.05, min_effect=0),
        fdr(alpha=0.05, min_effect=0.05),
        threshold(value=0.05),
        top_fraction(p=0.1),
        sd_above_mean(k=3),
        elbow(),
    )
}
STRICT = next(iter(RULES))


@dataclass(frozen=True)
class Point:
    """One setting of the planted studies."""

    effect: float = 0.1  # size of every planted effect, in shares of the gap
    design: Design = field(default_factory=Design)
    world: World = field(default_factory=World)
    rules: tuple[str, ...] = (STRICT,)  # names in `RULES` of those that judge the same scores

    @property
    def name(self) -> str:
        """For random streams and progress."""
        return (
            f"effect {self.effect:g}, SD {self.design.sd:g}, {self.design.prompts} prompts, {self.world.spread} tasks"
        )


def one_planted(point: Point, rng: np.random.Generator) -> dict[tuple[str, str], Counts]:
    """Counts of one study by rule and `min_tasks`.

    `true`, `called`, `hits` memberships, the same for suppressing heads with that prefix; `shared`: heads that truly
    help two categories or more; `right`: those of them that are called in exactly their categories; `wrong_sign`:
    memberships called helping that are truly suppressing, and the reverse.
    """
    effects = planted(point.design, point.world, effect=point.effect, rng=rng)
    scores = scored(results(point.design, effects, rng=rng), rng=rng)
    counts = {}
    for rule in point.rules:
        for min_tasks in MIN_TASKS:
            helping, suppressing = called(scores, point.design, rule=RULES[rule], min_tasks=min_tasks)
            truth = [members(point.design, sign * effects, min_tasks=min_tasks) for sign in (1, -1)]
            counts[rule, str(min_tasks)] = compare(helping, suppressing, *truth)
    return counts


def measure_of(point: Point) -> partial[dict[tuple[str, str], Counts]]:
    """What is repeated."""
    return partial(one_planted, point)


def compare(
    helping: Bool[np.ndarray, "category head"],
    suppressing: Bool[np.ndarray, "category head"],
    truly_helping: Bool[np.ndarray, "category head"],
    truly_suppressing: Bool[np.ndarray, "category head"],
) -> Counts:
    """Counts of one study (see `one_planted`)."""
    shared = truly_helping.sum(axis=0) >= 2
    counts = {
        "true": truly_helping,
        "called": helping,
        "hits": helping & truly_helping,
        "suppressing_true": truly_suppressing,
        "suppressing_called": suppressing,
        "suppressing_hits": suppressing & truly_suppressing,
        "shared": shared,
        "right": shared & (helping == truly_helping).all(axis=0),
        "wrong_sign": (helping & truly_suppressing) | (suppressing & truly_helping),
    }
    return {name: int(which.sum()) for name, which in counts.items()}


def rows(point: Point, found: Sequence[dict[tuple[str, str], Counts]]) -> list[dict[str, Any]]:
    """Per rule and `min_tasks`, over all studies; NaN where there is nothing to find.

    `false_share`: mean over studies of false / called memberships (0 where none is called), and `false_share_error`,
    its Monte-Carlo standard error; the other shares are of the counts of all studies together.
    """
    made = []
    for rule, min_tasks in found[0]:
        counts = {name: np.array([one[rule, min_tasks][name] for one in found]) for name in found[0][rule, min_tasks]}
        row: dict[str, Any] = {
            "effect": point.effect,
            "sd": point.design.sd,
            "prompts": point.design.prompts,
            "spread": point.world.spread,
            "rule": rule,
            "min_tasks": min_tasks,
            "repetitions": len(found),
        }
        for prefix in ("", "suppressing_"):
            true, those, hits = (counts[prefix + name] for name in ("true", "called", "hits"))
            false = (those - hits) / np.maximum(those, 1)
            row[f"{prefix}false_share"] = float(false.mean())
            row[f"{prefix}false_share_error"] = _standard_error(false)
            row[f"{prefix}precision"] = _share(hits, those)
            row[f"{prefix}recall"] = _share(hits, true)
            row[f"{prefix}called"] = float(those.mean())
            row[f"{prefix}true"] = float(true.mean())
        row["right_set"] = _share(counts["right"], counts["shared"])
        row["wrong_sign"] = int(counts["wrong_sign"].sum())
        made.append(row)
    return made


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum() / whole.sum()) if whole.sum() else math.nan


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
