"""Verdicts on categories, by one rule for every study, without options.

Supported: the sum of both statistics has a family-wise p <= .05 among relabelled tasks, and among those that go most
with a property if the labels are one of them, and the lower limit of the specificity is above 0. Not supported: its
upper limit is below what would be notable. Else inconclusive: also where labels cannot be told from a property of
tasks, and with fewer than 20 labellings, of which no p could reach .05.
"""

import math

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.confounders import StratifiedLabellings
from headcats.evidence.labelling_statistics import (
    Damages,
    ablation_statistic,
    between_units,
    contrast,
    specificity_limits,
)
from headcats.evidence.relabelling import ALPHA, conditional_p, maxima, standardized
from headcats.results.finding import by_category
from headcats.statistics.labellings import LEAST_LABELLINGS

NOTABLE = 0.02
"""Damages that differ by less of the gap count as alike; a descriptive cut-off, no test."""
SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE = "supported", "not supported", "inconclusive"
VERDICTS = (SUPPORTED, INCONCLUSIVE, NOT_SUPPORTED)
"""Ordered as sentences name them."""
TESTS = ("signature", "ablation")


def relabelling_table(
    cosines: Float[np.ndarray, "task task"],
    damage: Damages,
    stratified: StratifiedLabellings,
    *,
    tasks: list[str],
    categories: list[str],
) -> xr.Dataset:
    """Both statistics, the p of their sum and the verdicts; `damage` is NaN for tasks that do not count.

    Every drawn labelling takes its turn as the observed one: `supported_in_turn` is true where a category would be
    supported, `size` their share. Variables: docs/schema.md, "Evidence nodes".
    """
    labellings = stratified.labellings
    difference, signature = contrast(between_units(cosines, labellings), labellings)
    statistics = np.stack([standardized(each) for each in (signature, ablation_statistic(damage, labellings))])
    combined = statistics.sum(axis=0)
    specificity, (low, high) = specificity_limits(damage, labellings)
    alike = stratified.alike
    in_turn_p = conditional_p(combined[1:], [rows[1:] for rows in alike.values()])
    testable = ~np.isnan(low + combined)[1:] & (len(combined) >= LEAST_LABELLINGS)
    testable[:, list(stratified.inseparable)] = False
    in_turn = ((in_turn_p <= ALPHA) & (low[1:] > 0) & testable).any(axis=1)
    n = len(in_turn)
    size = float(in_turn.mean()) if testable.any() else math.nan
    labels = labellings.labels[0]
    table = xr.Dataset(
        {
            "signature_difference": ("category", difference[0]),
            **{name: ("category", values[0]) for name, values in zip(TESTS, statistics, strict=True)},
            "combined": ("category", combined[0]),
            "p": ("category", conditional_p(combined, alike.values())[0]),
            "maximum": ("relabelling", maxima(combined)[1:]),
            "specificity": ("category", specificity[0]),
            "specificity_low": ("category", low[0]),
            "specificity_high": ("category", high[0]),
            "coincide": ", ".join(stratified.coincide),
            "among": ", ".join(name for name, rows in alike.items() if rows[0]),
            "inseparable": (
                "category",
                np.array(
                    [", ".join(stratified.inseparable.get(place, ())) for place in range(len(categories))], dtype=str
                ),
            ),
            "supported_in_turn": ("relabelling", in_turn),
            "size": size,
            "size_error": _error(size, n),
            "smallest_p": 1 / (n + 1),
            "n_possible": float(labellings.possible),
            "unit_of_task": ("task", labellings.units),
            "source_of_task": ("task", labellings.sources),
        },
        coords={
            "category": categories,
            "relabelling": np.arange(1, n + 1),
            "task": tasks,
            "task_category": ("task", np.array(categories)[labels]),
        },
    )
    verdicts = [verdict(row) for _, row in by_category(table)]
    return table.assign(verdict=("category", np.array(verdicts, dtype=str)))


def _error(share: float, n: int) -> float:
    """Standard error of a share of `n`, with two of either outcome added: above 0 also where the share is 0 or 1."""
    share = (share * n + 2) / (n + 4)
    return math.sqrt(share * (1 - share) / (n + 4))


def verdict(row: xr.Dataset) -> str:
    """Verdict on one category, from its row of the table `relabelling`."""
    if row.sizes["relabelling"] + 1 < LEAST_LABELLINGS or np.isnan(row["combined"].item()) or row["inseparable"].item():
        return INCONCLUSIVE
    if row["specificity_high"].item() < NOTABLE:
        return NOT_SUPPORTED
    passed = row["p"].item() <= ALPHA and row["specificity_low"].item() > 0
    return SUPPORTED if passed else INCONCLUSIVE
