"""A rule: heads that stand out from the median head of their row."""

import xarray as xr

import headcats as hc
from headcats.rules import Rule, rule


@rule
def above_median(*, factor: float = 3.0) -> Rule:
    """Heads whose effect is at least `factor` times the median absolute effect of their task or category.

    Args:
        factor: How many medians; above 0.

    Raises:
        OptionError: `factor` is not above 0.
    """
    if not factor > 0:
        raise hc.errors.OptionError(f"above_median(factor) must be above 0; got {factor}.")

    def judge(scores: xr.Dataset) -> xr.DataArray:
        effect = scores["effect"]
        least = factor * abs(effect).median(("layer", "head"))
        return xr.where(effect >= least, 1, -1).where(effect.notnull(), 0).astype("int8")

    return Rule(judge)
