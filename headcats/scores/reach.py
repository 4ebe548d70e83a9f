"""What the data can show at all: weak gaps, the smallest p within reach, the smallest effect that would be found."""

import math

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy import stats

from headcats import estimates
from headcats.estimates import Estimate

POWER = 0.8


def weak_gap(task: str, found: Estimate) -> str:
    """A task's gap with its interval, for a warning."""
    interval = "unknown" if np.isnan(found.gap_low) else f"{found.gap_low:.3g} to {found.gap_high:.3g}"
    return f"{task} ({found.gap:.3g}, 95 % interval {interval})"


def detectable(found: Estimate, *, tests: int, alpha: float) -> float:
    """Smallest effect of a median head that is found with 80 % probability if no other head of the table stands out.

    `standard error * (t(1 - level / 2) + t(.8))` with `n_items - 1` degrees of freedom and
    `level = alpha / tests`, or the smallest p within reach if that is larger (heads are then found together only).
    NaN where no standard error is known.
    """
    errors = found.standard_error[np.isfinite(found.standard_error)]
    if not len(errors) or found.n_items < 2:
        return math.nan
    level = max(alpha / max(tests, 1), found.smallest_p)
    freedom = found.n_items - 1
    return float(np.median(errors) * (stats.t.isf(level / 2, freedom) + stats.t.isf(1 - POWER, freedom)))


def reach(table: xr.Dataset, *, alpha: float) -> str:
    """A sentence or two: smallest p within reach and what it takes to be called; smallest effect that would be."""
    tests = int(table["p_value"].notnull().sum())
    smallest = float(table["smallest_p"].max())
    items, task = min(zip(table["n_items"].values.tolist(), table["task"].values.tolist(), strict=True))
    needed = estimates.discoveries_needed(smallest, tests=tests, alpha=alpha)
    text = f"Smallest reachable p {smallest:.2g} ({items} query items in {task}); "
    if needed > tests:
        text += f"no number of discoveries among {tests} tests reaches q <= {alpha:g} there."
    else:
        plural = "one discovery reaches" if needed == 1 else f"{needed} simultaneous discoveries reach"
        text += f"{plural} q <= {alpha:g} among {tests} tests."
    if needed > 1 and tests:
        # A sign flip of n items reaches 2^(1 - n).
        text += f" A single one would need {1 + math.ceil(math.log2(tests / alpha))} query items."
    return text + _smallest_effects(table["detectable"].values)


def _smallest_effects(effects: Float[np.ndarray, " task"]) -> str:
    known = effects[np.isfinite(effects)]
    if not len(known):
        return ""
    return (
        f" Smallest effect of one head that is found with {POWER:.0%} probability: "
        f"{np.median(known):.2g} of the gap in the median task, {known.min():.2g} to {known.max():.2g} over tasks."
    )
