"""Function-vector heads: heads ranked by the effect of their mean output."""

import warnings

import numpy as np
import xarray as xr

from headcats.base.errors import OptionError, StatisticsWarning
from headcats.categories.argument_checks import RESULTS, check_is
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.scores.scoring import score

METHOD, PAPERS_METRIC = "function_vector_patch", "prob"
_LABEL = str(Label(METHOD, positions="last"))


def ranked(scores: xr.Dataset, n: int) -> xr.Dataset:
    """The `n` heads with the largest raw effect, averaged over tasks; ties in the order of layers.

    Args:
        scores: Scores of `function_vector_patch`, with `raw (task, layer, head)`.
        n: Number of heads.

    Returns:
        See `ranked_heads`.

    Raises:
        OptionError: `n` below 1, or above the number of heads ranked.
    """
    tasks, layers, heads = (scores[dim].values for dim in ("task", "layer", "head"))
    raw = scores["raw"].transpose("task", "layer", "head").values.reshape(len(tasks), -1).astype(np.float64)
    with_number = np.flatnonzero(np.isfinite(raw).all(axis=0))
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= len(with_number):
        raise OptionError(
            f"n must be a whole number from 1 to {len(with_number)}, the heads with a number in all {len(raw)} tasks; "
            f"got {n!r}."
        )
    top = with_number[np.argsort(-raw.mean(axis=0)[with_number], kind="stable")][:n]
    rows, columns = np.divmod(top, len(heads))
    return xr.Dataset(
        {"effect": ("rank", raw[:, top].mean(axis=0)), "task_effect": (("rank", "task"), raw[:, top].T)},
        coords={
            "rank": np.arange(1, n + 1),
            "layer": ("rank", layers[rows]),
            "head": ("rank", heads[columns]),
            "name": ("rank", [f"L{layer}H{head}" for layer, head in zip(layers[rows], heads[columns], strict=True)]),
            "task": np.array([str(task) for task in tasks]),
        },
        attrs={"method": METHOD, "metric": scores.attrs["metric"], "n_tasks": len(raw), "n_heads": len(with_number)},
    )


def ranked_heads(results: xr.DataTree, n: int = 10, *, metric: str | None = None) -> xr.Dataset:
    """The `n` heads with the largest raw effect of `function_vector_patch`, averaged over tasks, as Todd et al. rank
    them.

    `effect = mean over tasks of raw`, in the metric's own unit (for `prob`, a difference of probabilities), positive =
    the head helps; not divided by the gap.

    Args:
        results: As `hc.load` returns them, with `function_vector_patch`.
        n: Number of heads. The paper takes 10 in GPT-J (28 layers of 16 heads), more in larger models.
        metric: Metric to rank by. None: the paper's "prob", if the run measured it, else the run's first metric, with a
            warning: an unbounded metric gives tasks with large numbers more weight.

    Returns:
        `effect (rank)`, from rank 1, the largest; `task_effect (rank, task)`; coordinates `layer`, `head` and `name`
        ("L9H6"). Selected heads have inflated effects on the tasks that selected them. Ties are in the order of layers.
        Attributes `method, metric, n_tasks` and `n_heads` (heads with a number in every task).

    Raises:
        UnknownNameError: No function_vector_patch, or no such metric, in the results.
        DataError: Data of another kind.
        OptionError: `n` below 1, or above the number of heads ranked.

    Warns:
        StatisticsWarning: No metric was named, and the results lack the paper's.

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.

    Example:
        >>> import headcats as hc
        >>> from headcats.papers import function_vector
        >>> two = ["country_capital", "country_language"]
        >>> results = hc.run("mini", suite=two, methods=["function_vector_patch"], metrics=["prob"], n_prompts=8)
        >>> heads = function_vector.ranked_heads(results, 4)
        >>> heads.effect.dims, heads.attrs["metric"]
        (('rank',), 'prob')
    """
    check_is(results, RESULTS, by="function_vector.ranked_heads")
    metric = metric or _default_metric(results)
    with warnings.catch_warnings():
        # Of gaps: raw effects are not divided by them.
        warnings.simplefilter("ignore", StatisticsWarning)
        scores = score(results, method=METHOD, metric=metric, positions="last")
    return ranked(scores, n)


def _default_metric(results: xr.DataTree) -> str:
    """The paper's metric, or the first that the results hold."""
    block = next(iter(RunResults(results).blocks_of(_LABEL).values()), None)
    metrics = [] if block is None else [str(name) for name in block["metric"].values]
    if not metrics or PAPERS_METRIC in metrics:
        return PAPERS_METRIC
    warnings.warn(
        f"These results hold no {PAPERS_METRIC!r}, by which the paper ranks heads; they are ranked by {metrics[0]!r}. "
        "Unless that lies between 0 and 1, tasks with large numbers weigh more. For the paper's ranking, run with "
        f"--metrics {','.join([*metrics, PAPERS_METRIC])} (metrics={[*metrics, PAPERS_METRIC]}) into a new folder.",
        StatisticsWarning,
        stacklevel=3,
    )
    return metrics[0]
