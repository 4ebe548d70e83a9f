"""Replicates to estimates: raw blocks of a results tree become one labelled table of effects per task and head.

The table is the currency of everything downstream (rules, categories, figures). Signs and units: an effect is a share
of the task's mean clean-corrupted gap, **positive = the head helps**; `raw` and `gap` keep the metric's own unit.
"""

import json
import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr

from headcats import estimates
from headcats.errors import DataError, OptionError, StatisticsWarning, UnknownNameError
from headcats.estimates import Estimate, PromptEffects
from headcats.registry import unknown_name_message

# A head below this effect is too small for its sign per distractor task to be worth flagging.
FLAG_EFFECT = 0.1


class _Scored(NamedTuple):
    category: str
    grid: dict[str, np.ndarray]
    prompts: PromptEffects
    estimate: Estimate


def score(
    results: xr.DataTree,
    *,
    method: str,
    metric: str = "logit_diff",
    positions: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> xr.Dataset:
    """Effect of every head on every task, with interval, p, q and reliability.

    `effect = mean over prompts of the difference / mean over prompts of the gap`. The difference is patched - corrupted
    where the method edits the corrupted run (denoising), clean - patched where it edits the clean run (noising,
    ablation). Intervals and p values treat query items as the independent unit (see `headcats.estimates`); q is
    Benjamini-Hochberg over all heads x tasks, two-sided, NaN left out.

    Args:
        results: What `hc.run` or `hc.load` returns: nodes `/<task>/<method>@<positions>` holding
            `patched (metric, prompt, layer, head)`, `clean` and `corrupted (metric, prompt)` with the prompt
            coordinates `item` and `distractor_task`; `category` in each task's attributes, `categories` (JSON) in the
            root's.
        method: Causal method to score.
        metric: Metric to score; each metric is divided by its own gap.
        positions: Which positions' block, where the results hold several of this method.
        alpha: Level the number of sign draws is chosen for, in (0, 1); rules may use a larger one freely.
        seed: Seed of sign draws, bootstrap and splits; a task's numbers do not depend on which other tasks are present,
            except through the number of draws.

    Returns:
        Dims `task, layer, head`. `effect, low, high, p_value, q_value, raw, sign_differs` per head;
        `n, n_items, gap, gap_low, gap_high, reliability, smallest_p` per task, `gap_low` to `gap_high` being the 95 %
        interval of the gap by the bootstrap of items; `distractor_effect (task, distractor, layer, head)` = the
        effect on the prompts of one distractor task, in shares of the same task gap, where prompts name one.
        `sign_differs` flags heads of |effect| >= .1 that help against one distractor task and hurt against another.
        For models in 16 bits also `below_noise (task, layer, head)`: effects that rounding alone could have made.
        Coordinate `category` along `task`. Attributes `method, metric, positions, categories`, `smallest_p` (largest
        over tasks) and `reach` (a sentence: what p the data can reach, and how many discoveries that takes), both over
        the tasks with numbers; for a screen (see `hc.methods.attribution_patch`) also `approximation`, and intervals
        and p then speak of the estimate, not of the patched effect. Where `gap_low` is not above 0, `effect, low, high,
        p_value, q_value` and `distractor_effect` are NaN.

    Raises:
        UnknownNameError: no block of `method`, or no such `metric`.
        OptionError: several positions and none chosen, or one that is not there; `alpha` outside (0, 1).
        DataError: blocks that do not fit together (estimates of a screen beside exact numbers, too) or lack a
            coordinate.

    Warns:
        StatisticsWarning: tasks without a block of this method (left out), and tasks whose gap is not clearly above 0
            (NaN): its interval reaches 0, or cannot be told from a single item.
    """
    if not isinstance(results, xr.DataTree):
        raise DataError(
            f"hc.score takes what hc.run or hc.load returns (a DataTree with a node per task and method); got a "
            f"{type(results).__name__}. A block of hc.sweep has no task: its effects are `patched` minus `corrupted`."
        )
    if not 0 < alpha < 1:
        raise OptionError(f"alpha must lie between 0 and 1, got {alpha}.")
    blocks, positions = _blocks(results, method=method, positions=positions)
    selected = {task: _prompts(block, task=task, metric=metric) for task, block in blocks.items()}
    grid = _same_grid({task: grid for task, (_, grid) in selected.items()})
    tests = sum(int(np.isfinite(prompts.effect).all(axis=0).sum()) for prompts, _ in selected.values())
    draws = estimates.draws_for(tests, alpha=alpha)
    scored = {
        task: _Scored(
            category=_category(results, task),
            grid=grid,
            prompts=prompts,
            estimate=estimates.estimate(prompts, task=task, seed=seed, draws=draws),
        )
        for task, (prompts, _) in selected.items()
    }
    weak = [_weak_gap(task, s.estimate) for task, s in scored.items() if not s.estimate.gap_low > 0]
    if weak:
        warnings.warn(
            f"The clean-corrupted gap in {metric!r} is not clearly above 0 for {', '.join(weak)}: "
            "an effect as a share of it means nothing and is NaN there. Leave these tasks out or use another metric.",
            StatisticsWarning,
            stacklevel=2,
        )
    table = _table(scored, grid)
    table = table.assign(_below_noise(blocks, table, metric=metric))
    clear = (table["gap_low"] > 0).values
    counted = table.isel(task=clear) if clear.any() else table
    table.attrs = {
        "categories": _categories(results, [s.category for s in scored.values()]),
        "method": method,
        "metric": metric,
        "positions": positions,
        **_approximation(blocks),
        "smallest_p": float(counted["smallest_p"].max()),
        "reach": _reach(counted, alpha=alpha),
    }
    return table


def screen_label(table: xr.Dataset) -> str:
    """What everything that shows the effects of an approximate method calls them; "" where they are exact.

    Args:
        table: Scores, or what `hc.categorize` and `hc.overlap` make of them.

    Returns:
        For example "screen (first order)".
    """
    approximation = table.attrs.get("approximation")
    return f"screen ({approximation})" if approximation else ""


def _below_noise(blocks: dict[str, xr.Dataset], table: xr.Dataset, *, metric: str) -> dict[str, xr.DataArray]:
    """Heads whose effect is not told from the rounding of a 16-bit model, if there is such a model."""
    if not any("below_noise" in block for block in blocks.values()):
        return {}
    marks = [
        block.below_noise.sel(metric=metric).values
        if "below_noise" in block
        else np.zeros((table.sizes["layer"], table.sizes["head"]), dtype=bool)
        for block in blocks.values()
    ]
    return {"below_noise": xr.DataArray(np.stack(marks), dims=("task", "layer", "head"))}


def _approximation(blocks: dict[str, xr.Dataset]) -> dict[str, str]:
    kinds = {task: str(block.attrs.get("approximation", "")) for task, block in blocks.items()}
    (first, kind), *others = kinds.items()
    for task, other in others:
        if other != kind:
            named = [f"task {task!r} {kind or 'exact'}" for task, kind in ((first, kind), (task, other))]
            raise DataError(
                f"Estimates of a screen are not mixed with exact numbers or other estimates: {' and '.join(named)}."
            )
    return {"approximation": kind} if kind else {}


def _blocks(results: xr.DataTree, *, method: str, positions: str | None) -> tuple[dict[str, xr.Dataset], str]:
    tasks = {name: node for name, node in results.children.items() if not name.startswith("_")}
    held = {name: [key.partition("@")[::2] for key in node.children] for name, node in tasks.items()}
    methods = list(dict.fromkeys(m for keys in held.values() for m, _ in keys))
    if method not in methods:
        raise UnknownNameError(unknown_name_message("method of these results", method, methods))
    present = list(dict.fromkeys(p for keys in held.values() for m, p in keys if m == method))
    if positions is None and len(present) > 1:
        raise OptionError(f"These results hold {method!r} at {', '.join(present)}: choose one with positions=.")
    if positions is not None and positions not in present:
        raise OptionError(f"These results hold {method!r} at {', '.join(present)}, not at {positions!r}.")
    positions = present[0] if positions is None else positions
    missing = [name for name, keys in held.items() if (method, positions) not in keys]
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(tasks)} tasks have no {method}@{positions} block "
            f"and are left out: {', '.join(missing)}.",
            StatisticsWarning,
            stacklevel=3,
        )
    name = f"{method}@{positions}"
    return {task: node[name].to_dataset() for task, node in tasks.items() if task not in missing}, positions


def _prompts(block: xr.Dataset, *, task: str, metric: str) -> tuple[PromptEffects, dict[str, np.ndarray]]:
    wanted = {"patched", "clean", "corrupted", "item", "metric"}
    lacking = sorted(wanted - set(block.variables))
    if lacking or block.attrs.get("base") not in ("clean", "corrupted"):
        raise DataError(
            f"The block of task {task!r} is not one of a causal method: expected patched, clean, corrupted, "
            f"the coordinates metric and item, and base 'clean' or 'corrupted'; "
            f"it lacks {', '.join(lacking) or 'a valid base'}."
        )
    known = block["metric"].values.tolist()
    if metric not in known:
        raise UnknownNameError(unknown_name_message("metric of these results", metric, known))
    block = block.sel(metric=metric)
    patched = block["patched"].transpose("prompt", "layer", "head")
    with np.errstate(invalid="ignore"), xr.set_options(arithmetic_join="exact"):
        difference = patched - block["corrupted"] if block.attrs["base"] == "corrupted" else block["clean"] - patched
        gap = (block["clean"] - block["corrupted"]).values.astype(np.float64)
    effect = difference.transpose("prompt", "layer", "head").values.astype(np.float64).reshape(len(gap), -1)
    distractor = block["distractor_task"].values if "distractor_task" in block else np.full(len(gap), "")
    grid = {axis: np.asarray(block.coords.get(axis, np.arange(block.sizes[axis]))) for axis in ("layer", "head")}
    return PromptEffects(effect, gap, block["item"].values.astype(str), distractor.astype(str)), grid


def _same_grid(grids: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    first, expected = next(iter(grids.items()))
    for task, grid in grids.items():
        for axis in expected:
            if not np.array_equal(grid[axis], expected[axis]):
                raise DataError(
                    f"Tasks of one table need the same heads: task {task!r} has {axis} {grid[axis].tolist()}, "
                    f"task {first!r} has {expected[axis].tolist()}."
                )
    return expected


def _category(results: xr.DataTree, task: str) -> str:
    if "category" not in results[task].attrs:
        raise DataError(f"Task {task!r} of these results has no category in its attributes.")
    return str(results[task].attrs["category"])


def _categories(results: xr.DataTree, used: list[str]) -> str:
    text = results.attrs.get("categories")
    if text is None:
        raise DataError('The results need an attribute `categories`: a JSON list of {"name": ..., "colour": ...}.')
    listed = [entry["name"] for entry in json.loads(text)]
    unlisted = sorted(set(used) - set(listed))
    if unlisted:
        raise DataError(f"Tasks name the categories {', '.join(unlisted)}; the results list {', '.join(listed)}.")
    return str(text)


def _table(scored: dict[str, _Scored], grid: dict[str, np.ndarray]) -> xr.Dataset:
    shape = (len(grid["layer"]), len(grid["head"]))
    found = [s.estimate for s in scored.values()]
    per_head = {
        name: np.stack([getattr(e, name).reshape(shape) for e in found])
        for name in ("effect", "low", "high", "p_value", "raw")
    }
    table = xr.Dataset(
        {name: (("task", "layer", "head"), values) for name, values in per_head.items()}
        | {
            name: ("task", np.array([getattr(e, name) for e in found]))
            for name in ("n", "n_items", "gap", "gap_low", "gap_high", "reliability", "smallest_p")
        },
        coords={
            "task": list(scored),
            "category": ("task", [s.category for s in scored.values()]),
            "layer": grid["layer"],
            "head": grid["head"],
        },
    )
    table["q_value"] = table["p_value"].copy(data=estimates.benjamini_hochberg(table["p_value"].values))
    distractors = sorted({str(d) for s in scored.values() for d in s.prompts.distractor} - {""})
    by_distractor = np.full((len(scored), len(distractors), *shape), np.nan)
    for row, s in enumerate(scored.values()):
        for column, name in enumerate(distractors):
            chosen = s.prompts.distractor == name
            if chosen.any() and s.estimate.gap_low > 0:
                by_distractor[row, column] = (s.prompts.effect[chosen].mean(axis=0) / s.estimate.gap).reshape(shape)
    differs = (by_distractor > 0).any(axis=1) & (by_distractor < 0).any(axis=1)
    table["sign_differs"] = table["effect"].copy(data=differs & (np.abs(per_head["effect"]) >= FLAG_EFFECT))
    if distractors:
        table["distractor_effect"] = (("task", "distractor", "layer", "head"), by_distractor)
        table = table.assign_coords(distractor=distractors)
    return table


def _weak_gap(task: str, found: Estimate) -> str:
    interval = "unknown" if np.isnan(found.gap_low) else f"{found.gap_low:.3g} to {found.gap_high:.3g}"
    return f"{task} ({found.gap:.3g}, 95 % interval {interval})"


def _reach(table: xr.Dataset, *, alpha: float) -> str:
    tests = int(table["p_value"].notnull().sum())
    smallest = float(table["smallest_p"].max())
    items, task = min(zip(table["n_items"].values.tolist(), table["task"].values.tolist(), strict=True))
    needed = estimates.discoveries_needed(smallest, tests=tests, alpha=alpha)
    text = f"Smallest reachable p {smallest:.2g} ({items} query items in {task}); "
    if needed > tests:
        return text + f"no number of discoveries among {tests} tests reaches q <= {alpha:g} there."
    plural = "one discovery reaches" if needed == 1 else f"{needed} simultaneous discoveries reach"
    return text + f"{plural} q <= {alpha:g} among {tests} tests."
