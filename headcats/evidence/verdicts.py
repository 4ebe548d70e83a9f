"""Verdicts on categories, by one rule for every study, without options.

A category is supported if

- its tested heads are more specific than their relabellings within layers: exact one-sided p <= .05 among at least 19
  of them (with fewer no p could be that small, and the test is inconclusive);
- the 95 % interval of their specificity is above 0: heads that matter for everything differ between any two groups of
  prompts by more than random heads that matter for nothing;
- p <= .05 also among random sets without the tested heads, where at least 19 exist. Alone, this condition would call
  11 to 17 % of exchangeable sets at 8 heads per layer, because these sets all come from one small pool.

One relabelling in n keeps a given head in a layer of n heads. Where one head does all of the damage the exact p is
about 1 / n, so no model with fewer than 20 heads per layer could support the category. If the exact p alone stays above
.05, while at most 1 in 20 of at least 19 sets without its heads is as specific, the test is inconclusive. In all other
cases the category is not supported.

Verdicts are not corrected for their number. Contrasts on shared words are descriptive: their p are among disjoint
controls and enter no verdict.
"""

import numpy as np
import xarray as xr

from headcats.results.finding import by_category

ALPHA = 0.05
LEAST_CONTROLS = 19
# Descriptive cut-offs, no test: joint damage differs from the sum of single ones by a factor of FAR, and any two
# damages differ by NOTABLE of the gap.
FAR, NOTABLE = 1.5, 0.02
SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE = "supported", "not supported", "inconclusive"
_FORMER = {"cannot be decided": INCONCLUSIVE, "does not stand": NOT_SUPPORTED, "stands": SUPPORTED}


def verdict(table: xr.Dataset) -> str:
    """Whether one category is supported, from its row of what `headcats.evidence.specificity.specificity` returns."""
    if not np.isfinite(table["specificity"].item()) or table["n_relabelled"].item() < LEAST_CONTROLS:
        return INCONCLUSIVE
    enough_sets = table["specificity_n_controls"].item() >= LEAST_CONTROLS
    if not table["specificity_low"].item() > 0 or (enough_sets and table["specificity_p"].item() > ALPHA):
        return NOT_SUPPORTED
    if table["specificity_exact_p"].item() <= ALPHA:
        return SUPPORTED
    return INCONCLUSIVE if enough_sets else NOT_SUPPORTED


def verdicts(table: xr.Dataset) -> xr.DataArray:
    """The verdict of every category, text along `category`."""
    texts = np.array([verdict(row) for _, row in by_category(table)], dtype=str)
    return xr.DataArray(texts, dims="category", coords={"category": table["category"].values})


def in_current_words(table: xr.Dataset) -> xr.Dataset:
    """A saved table of evidence; with `verdict` and `reading` of older files in the words used now."""
    if "verdict" in table:
        texts = [_FORMER.get(text, text) for text in table["verdict"].values.tolist()]
        table = table.assign(verdict=("category", np.array(texts, dtype=str)))
    reading = table.attrs.get("reading", "")
    for former, word in _FORMER.items():
        reading = reading.replace(f" {former}", f": {word}").replace(f"`{former}`", f"`{word}`")
    return table.assign_attrs(reading=reading) if "reading" in table.attrs else table


def damaged_more(table: xr.Dataset, category: str) -> list[str]:
    """Categories whose tasks a category's heads damage notably more than its own; `table` may be its row alone."""
    row = table["damage"].sel(category=category) if "category" in table["damage"].dims else table["damage"]
    least = max(row.sel(target=category).item() + NOTABLE, NOTABLE)
    return [target for target in row["target"].values.tolist() if row.sel(target=target).item() > least]


def tasks_with_heads(table: xr.Dataset, target: str) -> str:
    """On how many of a category's tested tasks there were heads, as "k of n tasks"; "" where on all of them."""
    n, with_heads = int((table["task_category"] == target).sum()), int(table["n_tasks"].sel(target=target))
    return f"{with_heads} of {n} tasks" if with_heads < n else ""
