"""Verdicts on categories, by one rule for every study, without options.

Supported: signature and causal statistic have a family-wise p <= .05 among relabelled tasks, and the 95 % interval of
the specificity is above 0. Not supported: that interval is below what would be notable. Else inconclusive, also with
fewer than 20 labellings, of which no p could reach .05.
"""

import math

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from headcats.evidence.labelling_statistics import (
    between_units,
    causal_statistic,
    contrast,
    unit_contrasts,
    unit_specificity,
)
from headcats.evidence.relabelling import Labellings, family_wise_p, maxima
from headcats.results.finding import by_category
from headcats.statistics.distributions import t_quantile

ALPHA = 0.05
LEAST_LABELLINGS = 20
NOTABLE = 0.02
"""Damages that differ by less of the gap count as alike; a descriptive cut-off, no test."""
SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE = "supported", "not supported", "inconclusive"
VERDICTS = (SUPPORTED, INCONCLUSIVE, NOT_SUPPORTED)
"""Ordered as sentences name them."""
TESTS = ("signature", "causal")
_POWER, _LEAST_UNITS, _MOST_UNITS = 0.8, 3, 1000


def relabelling_table(
    cosines: Float[np.ndarray, "task task"],
    damage: Float[np.ndarray, "labelling task category"],
    labellings: Labellings,
    *,
    tasks: list[str],
    specificity: xr.Dataset,
) -> xr.Dataset:
    """Both statistics, their family-wise p and the verdicts; `damage` is NaN for tasks that do not count.

    Every drawn labelling takes its turn as the observed one: `turn_supported` is true where a category would be
    supported, `error_rate` their share. Variables: docs/schema.md, "Evidence nodes".
    """
    between = between_units(cosines, labellings)
    difference, signature = contrast(between, labellings)
    statistics = {"signature": signature, "causal": causal_statistic(damage, labellings)}
    per_unit = {"signature": unit_contrasts(between, labellings), "causal": unit_specificity(damage, labellings)}
    categories = specificity["category"].values
    supported = _supported_in_turn(*statistics.values())
    columns: dict[str, object] = {"signature_difference": ("category", difference[0])}
    for name, values in statistics.items():
        columns[name] = ("category", values[0])
        columns[f"{name}_p"] = ("category", family_wise_p(values)[0])
        columns[f"{name}_maximum"] = ("relabelling", maxima(values)[1:])
        columns[f"unit_{name}"] = ("unit", per_unit[name])
    table = xr.Dataset(
        {
            **columns,
            "turn_supported": ("relabelling", supported),
            "error_rate": float(supported.mean()) if len(supported) else math.nan,
            "smallest_p": 1 / len(labellings.labels),
            "n_possible": float(labellings.possible),
            "unit_of_task": ("task", labellings.units),
        },
        coords={
            "category": categories,
            "relabelling": np.arange(1, len(labellings.labels)),
            "task": tasks,
            "task_category": ("task", categories[labellings.labels[0]]),
            "unit_category": ("unit", categories[labellings.unit_labels[0]]),
        },
    )
    table["units_needed"] = (
        "category",
        np.array([_units_needed(row, len(categories)) for _, row in by_category(table)]),
    )
    verdicts = [verdict(row, specificity.sel(category=name)) for name, row in by_category(table)]
    return table.assign(verdict=("category", np.array(verdicts, dtype=str)))


def verdict(row: xr.Dataset, damage: xr.Dataset) -> str:
    """Verdict on one category, from its rows of the tables `relabelling` and `specificity`."""
    statistics = [row[name].item() for name in TESTS]
    if row.sizes["relabelling"] + 1 < LEAST_LABELLINGS or np.isnan(statistics).any():
        return INCONCLUSIVE
    if damage["specificity_high"].item() < NOTABLE:
        return NOT_SUPPORTED
    larger_p = max(row[f"{name}_p"].item() for name in TESTS)
    passed = larger_p <= ALPHA and min(statistics) > 0 and damage["specificity_low"].item() > 0
    return SUPPORTED if passed else INCONCLUSIVE


def damaged_more(table: xr.Dataset, category: str) -> list[str]:
    """Categories whose tasks a category's heads damage notably more than its own; `table` may be its row alone."""
    row = table["damage"].sel(category=category) if "category" in table["damage"].dims else table["damage"]
    least = max(row.sel(target=category).item() + NOTABLE, NOTABLE)
    return [target for target in row["target"].values.tolist() if row.sel(target=target).item() > least]


def _supported_in_turn(*statistics: Float[np.ndarray, "labelling category"]) -> Bool[np.ndarray, " relabelling"]:
    """True if any category of a relabelling has a small p by every statistic, among the other relabellings."""
    larger_p = np.stack([family_wise_p(values[1:]) for values in statistics]).max(axis=0)
    return np.where(np.isnan(larger_p), 1.0, larger_p).min(axis=1, initial=1.0) <= ALPHA


def _units_needed(row: xr.Dataset, n_categories: int) -> float:
    """Units with which a one-sided t test would find the weaker statistic with 80 % probability; a rough guide.

    At a level of .05 divided by the number of categories; NaN for p <= .05, below 3 units, and where there are enough.
    """
    needed = []
    for name in TESTS:
        values = row[f"unit_{name}"].values[row["unit_category"].values == row["category"].item()]
        values = values[~np.isnan(values)]
        if row[f"{name}_p"].item() > ALPHA and len(values) >= _LEAST_UNITS and values.mean() > 0:
            n = np.arange(_LEAST_UNITS, _MOST_UNITS)
            reach = t_quantile(ALPHA / n_categories, n - 1) + t_quantile(1 - _POWER, n - 1)
            enough = n[np.sqrt(n) * values.mean() >= reach * values.std(ddof=1)].min(initial=_MOST_UNITS)
            needed += [enough] * bool(len(values) < enough < _MOST_UNITS)
    return float(max(needed, default=math.nan))
