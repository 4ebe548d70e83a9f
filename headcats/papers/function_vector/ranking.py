"""Function-vector heads: heads ranked by the effect of their mean output."""

import warnings

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.argument_checks import RESULTS, check_is
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.scores.blocks import first_half, of_items
from headcats.scores.scoring import score
from headcats.statistics.distributions import t_quantile
from headcats.statistics.pooled_null import CONFIDENCE, standard_errors

METHOD, PAPERS_METRIC = "function_vector_patch", "prob"
_LABEL = str(Label(METHOD, positions="last"))


def rank_heads(scores: xr.Dataset, n: int = 10) -> xr.Dataset:
    """The `n` heads with the largest raw effect of `function_vector_patch`, averaged over tasks, as Todd et al. rank
    them.

    `effect = mean over tasks of raw`, in the metric's own unit (for `prob`, a difference of probabilities), positive =
    the head helps; not divided by the gap.

    Args:
        scores: `hc.score(results, method="function_vector_patch", metric="prob")`, or a selection of its tasks.
        n: Number of heads. The paper takes 10 in GPT-J (28 layers of 16 heads), more in larger models.

    Returns:
        `effect, low, high (rank)`, from rank 1, the largest effect, with a 95 % interval over tasks (NaN for a single
        task); `task_effect (rank, task)`; coordinates `layer`, `head` and `name` ("L9H6"). Selected heads have inflated
        effects on the tasks that selected them. Ties are in the order of layers. Attributes `method, metric, n_tasks`
        and `n_heads` (heads with a number in every task).

    Raises:
        DataError: Other data than scores of function_vector_patch at the last position, or no task.
        OptionError: `n` below 1, or above the number of heads ranked.

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213; the interval is headcats' own.

    Example:
        >>> import headcats as hc
        >>> from headcats.papers import function_vector
        >>> two = ["country_capital", "country_language"]
        >>> options = {"methods": ["function_vector_patch"], "metrics": ["prob"], "n_prompts": 8}
        >>> scores = hc.score(hc.run("mini", suite=two, **options), method="function_vector_patch", metric="prob")
        >>> heads = function_vector.rank_heads(scores, 4)
        >>> dict(heads.task_effect.sizes), bool((heads.effect.diff("rank") <= 0).all())  # the largest effect first
        ({'rank': 4, 'task': 2}, True)
    """
    _check_scores(scores)
    tasks, layers, heads = (scores[dim].values for dim in ("task", "layer", "head"))
    raw = scores["raw"].transpose("task", "layer", "head").values.reshape(len(tasks), -1).astype(np.float64)
    ranked = np.flatnonzero(np.isfinite(raw).all(axis=0))
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= len(ranked):
        raise OptionError(
            f"n must be a whole number from 1 to {len(ranked)}, the heads with a number in all {len(raw)} tasks; "
            f"got {n!r}."
        )
    top = ranked[np.argsort(-raw.mean(axis=0)[ranked], kind="stable")][:n]
    names = np.array([str(task) for task in tasks])
    mean = raw[:, top].mean(axis=0)
    # Tasks take the place of items.
    half = standard_errors((raw[:, top] - mean) / len(raw)) * t_quantile((1 - CONFIDENCE) / 2, len(raw) - 1)
    rows, columns = np.divmod(top, len(heads))
    return xr.Dataset(
        {
            "effect": ("rank", mean),
            "low": ("rank", mean - half),
            "high": ("rank", mean + half),
            "task_effect": (("rank", "task"), raw[:, top].T),
        },
        coords={
            "rank": np.arange(1, n + 1),
            "layer": ("rank", layers[rows]),
            "head": ("rank", heads[columns]),
            "name": ("rank", [f"L{layer}H{head}" for layer, head in zip(layers[rows], heads[columns], strict=True)]),
            "task": names,
        },
        attrs={"method": METHOD, "metric": scores.attrs["metric"], "n_tasks": len(raw), "n_heads": len(ranked)},
    )


def steering_heads(results: xr.DataTree, n: int = 10, *, metric: str | None = None, seed: int = 0) -> xr.Dataset:
    """The function-vector heads, ranked on the query items that `steer` with the same seed does not ask about.

    Half of the items, split by their words alone, so that heads are not tested on the queries that selected them.

    Args:
        results: As `hc.load` returns them, with `function_vector_patch`.
        n: Number of heads.
        metric: Metric to rank by. None: the paper's "prob", if the run measured it, else the run's first metric, with a
            warning: an unbounded metric gives tasks with large numbers more weight.
        seed: Seed of the halves.

    Returns:
        As `function_vector.rank_heads`, with `n_items (task)`, distinct query items behind the ranking, and attributes
        of the run: `template` and `n_demos`, which `steer` uses by default, `model` and `weights_hash`.

    Raises:
        UnknownNameError: No function_vector_patch, or no such metric, in the results.
        DataError, OptionError: Data of another kind, or as `function_vector.rank_heads`.

    Warns:
        StatisticsWarning: No metric was named, and the results lack the paper's.

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213. Ranking on one half of the
        queries and steering the other is headcats' own.

    Example:
        >>> import headcats as hc
        >>> from headcats.papers import function_vector
        >>> two = ["country_capital", "country_language"]
        >>> results = hc.run("mini", suite=two, methods=["function_vector_patch"], metrics=["prob"], n_prompts=8)
        >>> heads = function_vector.steering_heads(results, 4)
        >>> heads.effect.dims, heads.attrs["metric"], heads.attrs["template"]
        (('rank',), 'prob', 'arrow')
    """
    check_is(results, RESULTS, by="function_vector.steering_heads")
    metric = metric or _default_metric(results)
    half = of_items(results, lambda item: first_half(item, seed=seed))
    with warnings.catch_warnings():
        # Of gaps: raw effects are not divided by them.
        warnings.simplefilter("ignore", StatisticsWarning)
        scores = score(half, method=METHOD, metric=metric, positions="last", alpha=0.99)
    heads, blocks = rank_heads(scores, n), RunResults(half).blocks_of(_LABEL)
    n_items = [len(set(blocks[str(task)]["item"].values.tolist())) for task in heads["task"].values]
    manifest = RunResults(results).manifest_or_empty
    plan, model = manifest.plan, manifest.model
    attrs = {"template": plan.template, "n_demos": plan.n_demos} if plan.template else {}
    attrs |= {"model": model.name, "weights_hash": model.weights_hash}
    attrs = {name: value for name, value in attrs.items() if value not in (None, "")}
    return heads.assign(n_items=("task", n_items)).assign_attrs(attrs)


def _check_scores(scores: xr.Dataset) -> None:
    call = f'hc.score(results, method="{METHOD}", metric="prob")'
    if (
        not isinstance(scores, xr.Dataset)
        or "raw" not in scores
        or set(scores["raw"].dims) != {"task", "layer", "head"}
    ):
        raise DataError(f"function_vector.rank_heads takes scores; got a {type(scores).__name__}. Pass {call}.")
    method, positions = str(scores.attrs.get("method")), str(scores.attrs.get("positions"))
    if method != METHOD or positions != "last" or scores.attrs.get("effect", "total") != "total":
        raise DataError(
            f"Function-vector heads are those of {METHOD} at the last position; these are scores of {method} at "
            f"{positions}. Pass {call}."
        )
    if not scores.sizes["task"]:
        raise DataError("These scores hold no task, so there is nothing to rank heads by.")


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
