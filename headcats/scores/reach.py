"""What the data can show: weak gaps, the smallest reachable p, the smallest detectable effect."""

import math

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy import stats

from headcats.statistics.multiplicity import discoveries_needed
from headcats.statistics.task import Estimate

POWER = 0.8
# Shares of the gap below this are the rounding of constant differences.
ROUNDING = 1e-9


def weak_gap(task: str, estimate: Estimate) -> str:
    """A task's gap with its interval, for a warning."""
    interval = "unknown" if np.isnan(estimate.gap_low) else f"{estimate.gap_low:.3g} to {estimate.gap_high:.3g}"
    return f"{task} ({estimate.gap:.3g}, 95 % interval {interval})"


def detectable(estimate: Estimate, *, tests: int, alpha: float) -> float:
    """Smallest effect of a median head that is found with 80 % probability if it is the only one.

    `standard error * (t(1 - level / 2) + t(.8))` with `n_items - 1` degrees of freedom and `level = alpha / tests`, or
    the smallest reachable p if that is larger (heads are then found together only). NaN without a standard error.
    """
    errors = estimate.standard_error[np.isfinite(estimate.standard_error)]
    if not len(errors) or estimate.n_items < 2:
        return math.nan
    level = max(alpha / max(tests, 1), estimate.smallest_p)
    freedom = estimate.n_items - 1
    return float(np.median(errors) * (stats.t.isf(level / 2, freedom) + stats.t.isf(1 - POWER, freedom)))


def detectable_above(scores: xr.Dataset, min_effect: float) -> Float[np.ndarray, " task"]:
    """Smallest effect of a median head that a rule with a `min_effect` finds with 80 % probability, task by task.

    Such a rule needs a discovery and an interval above `min_effect`. So it is the larger of `detectable` and
    `min_effect + (t(.975) + t(.8)) * standard error`, with `n_items - 1` degrees of freedom.
    In shares of the gap; NaN where no standard error is known or the median one is 0 (constant differences).
    """
    errors = scores["standard_error"].transpose("task", "layer", "head").values.reshape(scores.sizes["task"], -1)
    smallest = np.full(len(errors), np.nan)
    planned = zip(errors, scores["n_items"].values.tolist(), scores["detectable"].values.tolist(), strict=True)
    for row, (error, n_items, alone) in enumerate(planned):
        finite = error[np.isfinite(error)]
        if n_items > 1 and len(finite) and np.median(finite) > ROUNDING:
            quantiles = stats.t.isf(0.025, n_items - 1) + stats.t.isf(1 - POWER, n_items - 1)
            smallest[row] = max(alone, min_effect + quantiles * float(np.median(finite)))
    return smallest


def over_tasks(effects: Float[np.ndarray, " task"]) -> str:
    """Median and range of smallest effects, without tasks that have no scatter (0); "" if there are none."""
    positive = effects[np.isfinite(effects) & (effects > ROUNDING)]
    if not len(positive):
        return ""
    low, high = positive.min(), positive.max()
    return f"{np.median(positive):.2g} of the gap in the median task, {low:.2g} to {high:.2g} over tasks"


def reach(table: xr.Dataset, *, alpha: float) -> str:
    """Sentences: smallest reachable p, discoveries or items needed, smallest detectable effect."""
    tests = int(table["p_value"].notnull().sum())
    smallest = float(table["smallest_p"].max())
    items, task = min(zip(table["n_items"].values.tolist(), table["task"].values.tolist(), strict=True))
    needed = discoveries_needed(smallest, tests=tests, alpha=alpha)
    # A sign flip of n items reaches 2^(1 - n), unless the number of draws is the limit.
    by_draws = smallest > 2.0 ** (1 - items)
    limit = "by the number of sign draws" if by_draws else f"{items} query items in {task}"
    text = f"Over single tasks, smallest reachable p {smallest:.2g} ({limit}); "
    if needed > tests:
        text += f"no number of discoveries among {tests} tests reaches q <= {alpha:g} there."
    else:
        plural = "one discovery reaches" if needed == 1 else f"{needed} simultaneous discoveries reach"
        text += f"{plural} q <= {alpha:g} among {tests} tests (head x task)."
    if needed > 1 and tests and not by_draws:
        text += f" A single one would need {1 + math.ceil(math.log2(tests / alpha))} query items."
    if effects := over_tasks(table["detectable"].values):
        text += (
            f" Smallest effect of one head that is told from 0 with {POWER:.0%} probability (a rule's min_effect comes "
            f"on top): {effects}."
        )
    return text
