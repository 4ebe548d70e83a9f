"""Function-vector heads: heads ranked by the effect of their mean output."""

import numpy as np
import xarray as xr

from headcats.errors import DataError, OptionError
from headcats.statistics.task import PromptEffects, estimate

METHOD = "function_vector_patch"


def rank_heads(scores: xr.Dataset, n: int = 10, *, seed: int = 0) -> xr.Dataset:
    """The `n` heads with the largest mean over tasks of the raw effect of `function_vector_patch`.

    `effect = mean over tasks of raw`, in the metric's own unit (of `prob`: a difference of probabilities), positive =
    the head helps. Effects are not divided by the gap. The ranking is that of Todd et al., the interval headcats' own.

    Args:
        scores: `hc.score(results, method="function_vector_patch", metric="prob")`, or a selection of its tasks.
        n: Number of heads. The paper takes 10 in GPT-J (28 layers of 16 heads), more in larger models.
        seed: Seed of the bootstrap.

    Returns:
        `effect, low, high (rank)`, rank 1 being the largest effect and the 95 % interval a bootstrap of tasks (NaN with
        a single task); `task_effect (rank, task)`; coordinates `layer`, `head` and `name` ("L9H6"). Selected heads have
        inflated effects on the tasks that selected them. Ties are in the order of the layers. Attributes `method,
        metric, n_tasks` and `n_heads` (heads ranked: those with a number in every task).

    Raises:
        DataError: Other data than scores of function_vector_patch at the last position, or no task.
        OptionError: `n` below 1, or above the number of heads ranked.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> options = {"methods": ["function_vector_patch"], "metrics": ["prob"], "n_prompts": 8}
        >>> scores = hc.score(hc.run("mini", suite=two, **options), method="function_vector_patch", metric="prob")
        >>> heads = hc.methods.function_vector.rank_heads(scores, 4)
        >>> dict(heads.task_effect.sizes), heads.name.dims
        ({'rank': 4, 'task': 2}, ('rank',))
        >>> bool((heads.effect.diff("rank") <= 0).all())  # the largest effect first
        True

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.
    """
    _check(scores)
    grid = scores["raw"].transpose("task", "layer", "head")
    raw = grid.values.reshape(grid.sizes["task"], -1).astype(np.float64)
    ranked = np.flatnonzero(np.isfinite(raw).all(axis=0))
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= len(ranked):
        raise OptionError(
            f"n must be a whole number from 1 to {len(ranked)}, the heads with a number in all {len(raw)} tasks; "
            f"got {n!r}."
        )
    names = np.array([str(task) for task in scores["task"].values])
    top = ranked[np.argsort(-raw.mean(axis=0)[ranked], kind="stable")][:n]
    # Tasks take the place of items, and every gap is 1.
    tasks = PromptEffects(raw[:, top], np.ones(len(raw)), names, np.full(len(raw), ""))
    estimated = estimate(tasks, task="function vector heads", seed=seed, draws=None)
    rows, columns = np.unravel_index(top, grid.shape[1:])
    layers, heads = scores["layer"].values[rows], scores["head"].values[columns]
    return xr.Dataset(
        {
            "effect": ("rank", raw.mean(axis=0)[top]),
            "low": ("rank", estimated.low),
            "high": ("rank", estimated.high),
            "task_effect": (("rank", "task"), raw[:, top].T),
        },
        coords={
            "rank": np.arange(1, n + 1),
            "layer": ("rank", layers),
            "head": ("rank", heads),
            "name": ("rank", [f"L{layer}H{head}" for layer, head in zip(layers, heads, strict=True)]),
            "task": names,
        },
        attrs={"method": METHOD, "metric": scores.attrs["metric"], "n_tasks": len(raw), "n_heads": len(ranked)},
    )


def _check(scores: xr.Dataset) -> None:
    call = f'hc.score(results, method="{METHOD}", metric="prob")'
    if not isinstance(scores, xr.Dataset) or not {"task", "layer", "head"} <= set(
        getattr(scores.get("raw"), "dims", ())
    ):
        raise DataError(
            f"hc.methods.function_vector.rank_heads takes scores; got a {type(scores).__name__}. Pass {call}."
        )
    method, positions = str(scores.attrs.get("method")), str(scores.attrs.get("positions"))
    if method != METHOD or positions != "last" or scores.attrs.get("effect", "total") != "total":
        raise DataError(
            f"Function-vector heads are those of {METHOD} at the last position; these are scores of {method} at "
            f"{positions}. Pass {call}."
        )
    if not scores.sizes["task"]:
        raise DataError("These scores hold no task, so there is nothing to rank heads by.")
