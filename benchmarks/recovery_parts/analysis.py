"""The whole pipeline on one simulated study, as a user calls it: scores once, categories for every rule."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.base.errors import StatisticsWarning
from headcats.categories.membership import categorize
from headcats.rules.rule import Rule
from headcats.scores.scoring import score
from recovery_parts.generator import METHOD, Design

DRAWS = ("resampled", "null_effect_t")


def scored(results: xr.DataTree, *, rng: np.random.Generator) -> xr.Dataset:
    """`hc.score` with a seed of its own: else all repetitions would share their draws.

    The kept draws are dropped: from them `hc.categorize` makes the sizes expected without effects and the probability
    of a membership, which take most of its time and decide no membership.
    """
    with _expected_warnings():
        scores = score(results, method=METHOD, seed=int(rng.integers(2**62)))
    return scores.drop_vars(DRAWS, errors="ignore")


def categorized(scores: xr.Dataset, design: Design, *, rule: Rule, min_tasks: int | str) -> xr.Dataset:
    """What `hc.categorize` finds, over `(category, place)`, heads as in the design."""
    with _expected_warnings():
        found = categorize(scores, rule=rule, min_tasks=design.tasks if min_tasks == "n" else min_tasks)
    return found.sel(category=design.names).stack(place=("layer", "head")).transpose("category", "place", ...)


def called(
    scores: xr.Dataset, design: Design, *, rule: Rule, min_tasks: int | str
) -> tuple[Bool[np.ndarray, "category head"], Bool[np.ndarray, "category head"]]:
    """Which heads are called members, helping and suppressing."""
    found = categorized(scores, design, rule=rule, min_tasks=min_tasks)
    return found["member"].values == 1, found["suppressing"].values == 1


def calls_and_marks(scores: xr.Dataset, *, rule: Rule, min_tasks: int | str) -> tuple[bool, bool, bool, bool]:
    """Whether `hc.categorize` calls any head, helping or suppressing, then whether any that it does not mark."""
    with _expected_warnings():
        found = categorize(scores, rule=rule, min_tasks=min_tasks)
    helping, suppressing = found["member"] == 1, found["suppressing"] == 1
    unmarked = (helping & ~found["doubtful"], suppressing & ~found["suppressing_doubtful"])
    any_helping, any_suppressing, *unmarked_any = (bool(cells.any()) for cells in (helping, suppressing, *unmarked))
    return any_helping, any_suppressing, *unmarked_any


@contextmanager
def _expected_warnings() -> Iterator[None]:
    # What the benchmark is about: few heads for the rule of standard deviations, an OR over tasks. Others are shown.
    with warnings.catch_warnings():
        for message in ("min_tasks=1 makes", r"sd_above_mean\("):
            warnings.filterwarnings("ignore", message, StatisticsWarning)
        yield
