"""Chance that a category is supported, before anything is run: from simulated studies with tasks that differ."""

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from headcats.results.finding import Finding, line

TYPICAL = 0.2
"""Effect of a category's own heads, in shares of the gap, that the chances are for."""
ENOUGH = 10
"""Sources per category that the chance is compared with."""
SOURCES, CATEGORIES, ITEMS = (3, 4, 5, 6, 8, 10, 15), (2, 4), (16, 64)
# By categories, query items per task and sources per category; `benchmarks/recovery.py --work power`.
CHANCES = np.array(
    [
        [[0.00, 0.16, 0.20, 0.29, 0.51, 0.60, 0.82], [0.00, 0.23, 0.38, 0.42, 0.57, 0.76, 0.93]],
        [[0.17, 0.23, 0.42, 0.53, 0.62, 0.74, 0.92], [0.17, 0.29, 0.49, 0.60, 0.74, 0.83, 0.93]],
    ]
)


def own_sources(source_of: Mapping[str, str], category_of: Mapping[str, str]) -> dict[str, int]:
    """Category -> number of independent sources of its tasks."""
    pairs = dict.fromkeys((category_of[task], source) for task, source in source_of.items())
    return dict(Counter(category for category, _ in pairs))


def chance_of_support(n_sources: int, *, n_categories: int, n_items: float) -> float:
    """Chance that a category whose own heads have an effect of .2 is supported; 0 below 3 sources or 2 categories.

    Interpolated in sources, categories and the logarithm of items; what lies beyond the table counts as its end.
    """
    if n_sources < SOURCES[0] or n_categories < CATEGORIES[0]:
        return 0.0
    by_sources = np.apply_along_axis(lambda row: np.interp(n_sources, SOURCES, row), 2, CHANCES)
    by_items = [np.interp(np.log(n_items), np.log(ITEMS), row) for row in by_sources]
    return float(np.interp(n_categories, CATEGORIES, by_items))


def power_findings(
    sources: Mapping[str, int], n_items: Iterable[float], *, inseparable: Collection[str] = ()
) -> list[Finding]:
    """Chances that `headcats evidence` supports each category, by its sources and the query items of every task.

    None for categories that are `inseparable` from a property of their tasks.
    """
    items = [n for n in n_items if n]
    if len(sources) < 2 or not items:
        return []
    chance = functools.partial(chance_of_support, n_categories=len(sources), n_items=float(np.median(items)))
    testable = {category: n for category, n in sources.items() if category not in inseparable}
    if not testable:
        return []
    each = [line("power.category", category=category, n=n, chance=chance(n)) for category, n in testable.items()]
    enough = chance(ENOUGH)
    return [line("power.chances", categories=each, effect=TYPICAL, n=ENOUGH, enough=enough)]
