"""The null: studies without any effect, and how often something is called a member all the same."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from headcats.rules.discovery_rate import fdr
from recovery_parts.analysis import called, scored
from recovery_parts.generator import Design, results, without_items
from recovery_parts.worlds import MIN_TASKS

ALPHA = 0.05
TASKS = "heads x tasks"


@dataclass(frozen=True)
class Setting:
    """One way in which nothing is there."""

    name: str
    within_item: float  # correlation between prompts of one query item
    # whether the analysis is told which prompts ask about the same item, as headcats always is
    items_known: bool = True
    repetitions: int = 1000  # studies, if the command line asks for no other number


SETTINGS = (
    Setting("correlated within items", 0.5),
    Setting("independent prompts", 0.0),
    Setting("correlated, and the analysis ignores items (wrong on purpose)", 0.5, items_known=False, repetitions=200),
)


def one_null(setting: Setting, design: Design, rng: np.random.Generator) -> dict[str, tuple[int, int]]:
    """How much is called in one study: per `min_tasks` (helping, suppressing) memberships by `fdr(alpha=.05,
    min_effect=0)`; under `heads x tasks` the (helping, suppressing) cells with q at most .05.
    """
    design = replace(design, within_item=setting.within_item)
    tree = results(design, np.zeros((design.n_tasks, design.n_heads)), rng=rng)
    scores = scored(tree if setting.items_known else without_items(tree), rng=rng)
    found = {}
    for min_tasks in MIN_TASKS:
        helping, suppressing = called(scores, design, rule=fdr(alpha=ALPHA, min_effect=0), min_tasks=min_tasks)
        found[str(min_tasks)] = (int(helping.sum()), int(suppressing.sum()))
    low_q, effect = scores["q_value"].values <= ALPHA, scores["effect"].values
    found[TASKS] = (int((low_q & (effect > 0)).sum()), int((low_q & (effect < 0)).sum()))
    return found


def measure_of(setting: Setting, design: Design) -> partial[dict[str, tuple[int, int]]]:
    """What is repeated."""
    return partial(one_null, setting, design)


def wilson(hits: int, n: int, *, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212."""
    centre = (hits + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(hits * (n - hits) / n + z**2 / 4)
    return max(0.0, centre - half), min(1.0, centre + half)


def rows(setting: Setting, found: list[dict[str, tuple[int, int]]]) -> list[dict[str, Any]]:
    """Per `min_tasks`, the shares of studies in which anything is called."""
    made = []
    for what in found[0]:
        row: dict[str, Any] = {"setting": setting.name, "min_tasks": what, "repetitions": len(found)}
        any_called = np.array([one[what] for one in found]) > 0
        for name, hits in (
            ("helping", int(any_called[:, 0].sum())),
            ("suppressing", int(any_called[:, 1].sum())),
            ("either", int(any_called.any(axis=1).sum())),
        ):
            row[name] = hits / len(found)
            row[f"{name}_interval"] = wilson(hits, len(found))
        made.append(row)
    return made
