"""From raw blocks to scores: one labelled table of effects per task and head, for rules, categories and figures.

An effect is a share of the task's mean clean-corrupted gap, **positive = the head helps**; `raw` and `gap` are in the
unit of the metric.
"""

import itertools
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.results.head_axes import kv_head_of, unit_attrs, unit_of
from headcats.results.run_results import RunResults
from headcats.scores.blocks import Grid, approximation, find_blocks, prompt_effects, same_grid
from headcats.scores.controls import control_blocks, control_table, task_specific
from headcats.scores.given_blocks import only_method, results_of, usual_metric
from headcats.scores.reach import weak_gap
from headcats.scores.testing import p_above, p_below
from headcats.statistics.multiplicity import benjamini_hochberg, smallest_p
from headcats.statistics.pooled_null import PooledNull, pooled_null, scatters
from headcats.statistics.task import Estimate, doubtful, estimate


def score(
    results: "xr.DataTree | RunResults | xr.Dataset | Mapping[str, Any] | Sequence[xr.Dataset]",
    *,
    method: str | None = None,
    metric: str | None = None,
    positions: str | None = None,
    effect: str = "total",
    seed: int = 0,
) -> xr.Dataset:
    """Effect of every head on every task, with interval, p, q and reliability.

    `effect = mean over prompts of the difference / mean over prompts of the gap`. The difference is patched - corrupted
    if the method edits the corrupted run (denoising), clean - patched if it edits the clean run (noising, ablation).
    Query items are the independent unit. Intervals and p values are those of a studentized bootstrap whose draws are
    pooled over heads and tasks (docs/tests_of_heads.md), so other tasks affect a task's intervals and p, never its
    effects. q is two-sided Benjamini-Hochberg over all heads and tasks.

    The **task-specific effect** subtracts what comes from removing the wrong task: the effect of the clean donor minus
    that of `second_corruption_patch` at the same positions, prompt by prompt, as a share of the same gap. If the
    results hold that method, it is reported beside the total effect, or scored in its place.

    Args:
        results: What `hc.run` or `hc.load` returns; or a block of `hc.sweep` or `hc.as_block`, a list of them,
            `{task: block}` (or a list of blocks, of batches) or `{category: {task: block}}`.
        method: Causal method to score, with its options ("denoising_patch:unit=kv_group"); None takes the only one.
        metric: Metric to score; each metric is divided by its own gap. None takes "logit_diff", or the only one.
        positions: Positions to score, if the results hold this method at several.
        effect: "total", or "task_specific" (denoising_patch only).
        seed: Seed of bootstrap and splits. A task's draws also depend on its name, so renaming it changes them.

    Returns:
        `effect, low, high, p_value, q_value, raw, standard_error, skewness, doubtful (task,
        layer, head)`, effects as shares of the gap; `n, n_items, gap, gap_low, gap_high, reliability, smallest_p
        (task)`; bootstrap and null draws, and comparisons with controls: docs/schema.md lists all. q is NaN where p
        cannot be trusted (`doubtful`); all numbers of heads are NaN in a task whose `gap_low` is not above 0.

    Raises:
        UnknownNameError: No block of `method`, or no such `metric`.
        OptionError: Ambiguous or missing method, metric or positions; a task-specific effect of another method than
            denoising_patch.
        DataError: Neither results nor blocks, or blocks with a number per position (the message says what to call); a
            task-specific effect without `second_corruption_patch`; blocks that do not match (heads, or first-order
            approximations beside exact numbers) or lack a coordinate.

    Warns:
        StatisticsWarning: Tasks without this method (left out), without a control that other tasks have (left out of
            task-specific effects, else NaN), or whose gap is not clearly above 0 (NaN).

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> scores = hc.score(results, method="denoising_patch", metric="logit_diff")
        >>> dict(scores.effect.sizes)
        {'task': 8, 'layer': 6, 'head': 8}
        >>> bool((scores.low <= scores.effect).all() and (scores.effect <= scores.high).all())
        True
        >>> specific = hc.score(results, method="denoising_patch", effect="task_specific")
        >>> bool(specific.effect.max() < scores.effect.max())  # only a part needs the right task
        True

        Of a sweep, without a study:

        >>> two = ["country_capital", "country_language"]
        >>> batches = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=8)
        >>> sweeps = [hc.sweep(hc.load_model("mini"), batch, "denoising_patch") for batch in batches]
        >>> hc.score({"Knowledge": {"capital": sweeps}}).category.values.tolist()
        ['Knowledge']

    References:
        Zhang & Nanda (2024), arXiv 2309.16042, and Heimersheim & Nanda (2024), arXiv 2404.15255, for the effect;
        Tusher, Tibshirani & Chu (2001), PNAS 98, 5116-5121, for pooled draws; Benjamini & Hochberg (1995), J. R. Stat.
        Soc. B 57, 289-300, for q. The task-specific effect is headcats' own.
    """
    if not isinstance(results, xr.DataTree | RunResults):
        results = results_of(results)
    if isinstance(results, xr.DataTree) and "series" in results.attrs:
        raise DataError(
            "hc.score takes the results of one revision, such as "
            f"series[{next(iter(results.children), 'step1000')!r}]; hc.evidence.over_revisions(series) scores all."
        )
    if effect not in ("total", "task_specific"):
        raise OptionError(f"effect must be 'total' or 'task_specific', got {effect!r}.")
    # Of a folder, only what is scored is read.
    finished = results if isinstance(results, RunResults) else RunResults(results)
    method = method or only_method(list(dict.fromkeys(label.method for label in finished.scored)))
    blocks, positions = find_blocks(finished, method=method, positions=positions)
    metric = metric or usual_metric(blocks)
    measured = {task: prompt_effects(block, task=task, metric=metric) for task, block in blocks.items()}
    grid = same_grid({task: grid for task, (_, grid) in measured.items()}) | kv_head_of(blocks.values())
    selected = {task: prompts for task, (prompts, _) in measured.items()}
    controls = control_blocks(finished, list(blocks), method=method, positions=positions)
    if effect == "task_specific":
        selected = task_specific(blocks, controls.get("task"), method=method, metric=metric)
        if missing := [task for task in blocks if task not in selected]:
            warnings.warn(
                f"{len(missing)} tasks have no {controls['task'].name} of their prompts and are left out: "
                f"{', '.join(missing)}.",
                StatisticsWarning,
                stacklevel=2,
            )
    estimates = {task: estimate(prompts, task=task, seed=seed) for task, prompts in selected.items()}
    null = pooled_null({task: of_task.scatter for task, of_task in estimates.items()}, seed=seed)
    weak = [weak_gap(task, of_task) for task, of_task in estimates.items() if not of_task.gap_low > 0]
    if weak:
        warnings.warn(
            f"The clean-corrupted gap in {metric!r} is not clearly above 0 for {', '.join(weak)}: an effect is "
            "meaningless as a share of it, and NaN. Leave these tasks out or use another metric.",
            StatisticsWarning,
            stacklevel=2,
        )
    category_of, categories = _categories(finished, list(estimates))
    source_of = [finished.independent_source(task) for task in estimates]
    table = _scores_table(estimates, null, category_of, source_of, grid)
    if effect == "total":
        table = table.assign(control_table(blocks, controls, table, metric=metric, seed=seed))
    table = table.assign(_below_noise({task: blocks[task] for task in estimates}, table, metric=metric))
    clear = (table["gap_low"] > 0).values
    table.attrs |= {
        "categories": categories,
        "method": method,
        "metric": metric,
        "positions": positions,
        "effect": effect,
        **approximation(blocks),
        **unit_attrs(unit_of(next(iter(blocks.values())))),
        "smallest_p": float(table["smallest_p"][clear if clear.any() else slice(None)].max()),
    }
    return table


def _below_noise(blocks: dict[str, xr.Dataset], table: xr.Dataset, *, metric: str) -> dict[str, xr.DataArray]:
    """Heads whose effect may be rounding error, for models in 16 bits."""
    if not any("below_noise" in block for block in blocks.values()):
        return {}
    marks = [
        block.below_noise.sel(metric=metric).values
        if "below_noise" in block
        else np.zeros((table.sizes["layer"], table.sizes["head"]), dtype=bool)
        for block in blocks.values()
    ]
    return {"below_noise": xr.DataArray(np.stack(marks), dims=("task", "layer", "head"))}


def _categories(run: RunResults, tasks: list[str]) -> tuple[list[str], str]:
    """The category of each task, and the attribute `categories`."""
    text = run.attrs.get("categories")
    if text is None:
        raise DataError('The results need an attribute `categories`: a JSON list of {"name": ..., "colour": ...}.')
    category_of: list[str] = []
    for task in tasks:
        if (category := run.category(task)) is None:
            raise DataError(f"Task {task!r} of these results has no category in its attributes.")
        category_of.append(category)
    listed = [entry["name"] for entry in json.loads(text)]
    if unlisted := sorted(set(category_of) - set(listed)):
        raise DataError(f"Tasks name the categories {', '.join(unlisted)}; the results list {', '.join(listed)}.")
    return category_of, str(text)


def _scores_table(
    estimates: dict[str, Estimate], null: PooledNull, category_of: list[str], source_of: list[str], grid: Grid
) -> xr.Dataset:
    """Estimates of all tasks, labelled, with intervals, p, and q over heads x tasks."""
    shape, by_task = (len(grid["layer"]), len(grid["head"])), list(estimates.values())
    bounds = [null.interval(task, of_task.effect, of_task.standard_error) for task, of_task in estimates.items()]
    low, high = (np.stack(ends) for ends in zip(*bounds, strict=True))
    per_head = {
        name: np.stack([getattr(of_task, name) for of_task in by_task])
        for name in ("effect", "raw", "standard_error", "skewness")
    }
    table = xr.Dataset(
        {
            name: (("task", "layer", "head"), values.reshape(-1, *shape))
            for name, values in (per_head | {"low": low, "high": high}).items()
        }
        | {
            name: ("task", np.array([getattr(of_task, name) for of_task in by_task]))
            for name in ("n", "n_items", "gap", "gap_low", "gap_high", "reliability")
        }
        | {
            "smallest_p": ("task", [smallest_p(of_task.n_items, draws=null.draws) for of_task in by_task]),
            "null_t": (("task", "rank"), np.stack([null.statistic[task] for task in estimates])),
            "noise_correlation": (("task", "other_task"), _noise_correlation(by_task)),
        },
        coords={
            "task": list(estimates),
            "category": ("task", category_of),
            "independent_source": ("task", source_of),
            "other_task": list(estimates),
            "rank": null.rank,
            **grid,
        },
        attrs={"error_floor": null.floor, "null_draws": null.draws},
    )
    for name, dim, draws in (
        ("resampled", "resample", [of_task.resampled for of_task in by_task]),
        ("null_effect_t", "draw", [null.kept[task] for task in estimates]),
    ):
        table[name] = ((dim, "task", "layer", "head"), np.stack([part.reshape(-1, *shape) for part in draws], axis=1))
    p_value = np.minimum(1.0, 2 * np.minimum(p_above(table, 0.0), p_below(table, 0.0)))
    table["p_value"] = table["effect"].copy(data=p_value)
    not_trusted = doubtful(per_head["effect"], per_head["skewness"], [of_task.scatter for of_task in by_task])
    table["doubtful"] = table["effect"].copy(data=not_trusted.reshape(-1, *shape))
    table["q_value"] = table["effect"].copy(data=benjamini_hochberg(p_value)).where(~table["doubtful"])
    return table


def _noise_correlation(estimates: list[Estimate]) -> Float[np.ndarray, "task other_task"]:
    """Correlation over items of what two tasks' effects scatter, mean over heads; 0 where they share no item."""
    correlation = np.eye(len(estimates))
    size = [np.sqrt((of_task.scatter**2).sum(axis=0)) for of_task in estimates]
    varies = [scatters(of_task.scatter) for of_task in estimates]
    for i, j in itertools.combinations(range(len(estimates)), 2):
        _, first, second = np.intersect1d(estimates[i].items, estimates[j].items, return_indices=True)
        product = (estimates[i].scatter[first] * estimates[j].scatter[second]).sum(axis=0)
        varied = varies[i] & varies[j]
        if len(first) and varied.any():
            correlation[i, j] = correlation[j, i] = (product[varied] / (size[i] * size[j])[varied]).mean()
    return correlation
