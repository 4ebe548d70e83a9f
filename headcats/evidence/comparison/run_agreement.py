"""How far the methods of a run agree, kept beside its blocks."""

import xarray as xr

from headcats.evidence.comparison.method_agreement import method_agreement
from headcats.evidence.comparison.method_grid import method_scores
from headcats.results.kept import kept
from headcats.results.run_results import RunResults


def run_agreement(run: RunResults, *, metric: str | None = None) -> xr.Dataset:
    """`method_agreement` of all methods of a run, causal ones in a metric; None takes the study's first.

    A DataError where it has fewer than two methods that say how much a head matters.
    """

    def compute() -> dict[str, xr.Dataset]:
        return {"agreement": method_agreement(method_scores(run.tree, metric=metric))}

    return kept(run, f"agreement of methods in {metric}", ("agreement",), compute)["agreement"]
