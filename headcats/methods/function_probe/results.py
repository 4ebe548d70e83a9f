"""Results of function probes as labelled data."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.errors import DataError
from headcats.methods.function_probe.features import HeadFeatures
from headcats.methods.function_probe.names import (
    NOT_ABOVE_CHANCE,
    NOT_TESTED,
    SEPARATES_FUNCTIONS,
    SEPARATES_TASKS,
    TOO_FEW_SEEDS,
)
from headcats.methods.function_probe.seed import SeedResult
from headcats.methods.function_probe.splits import task_of
from headcats.results.tree import refuse_results
from headcats.statistics.accuracy import Accuracy

NAME = "function_probe"


def labelled(
    features: HeadFeatures,
    functions: Sequence[str],
    found: Mapping[int, SeedResult],
    *,
    layers: Sequence[int],
    n_heads: int,
) -> xr.Dataset:
    """One or several seeds as a dataset; see `function_probe` for what it holds.

    Args:
        features: What the probes were trained on.
        functions: Their classes.
        found: Number of the probe -> result.
        layers: Layers of the grid.
        n_heads: Heads of the grid; those that a layer lacks are NaN.
    """
    importance = np.full((len(found), len(functions), len(layers), n_heads), np.nan, dtype=np.float32)
    rows = {layer: row for row, layer in enumerate(layers)}
    for place, head in enumerate(features.heads):
        importance[:, :, rows[head.layer], head.head] = [result.importance[:, place] for result in found.values()]
    tasks = _task_names(features)
    categories = [text.category for text in features.texts]
    results = list(found.values())
    dataset = xr.Dataset(
        {
            "importance": (("seed", "function", "layer", "head"), importance),
            **_intervals("accuracy", "accuracy", [result.accuracy for result in results]),
            "chance": ("seed", [result.chance for result in results]),
            **_intervals("left_out_accuracy", "left_out", [result.left_out for result in results]),
            "left_out_chance": ("seed", [result.left_out_chance for result in results]),
            "function_accuracy": (("seed", "function"), np.stack([result.function_accuracy for result in results])),
            "task_left_out_accuracy": (
                ("seed", "task"),
                [[result.by_task.get(task, np.nan) for task in tasks] for result in results],
            ),
            "n": ("function", [categories.count(function) for function in functions]),
        },
        coords={
            "seed": list(found),
            "function": list(functions),
            "layer": list(layers),
            "head": np.arange(n_heads),
            "task": list(tasks.values()),
            "task_function": ("task", [function for function, _ in tasks]),
        },
    )
    return dataset.assign_attrs(method=NAME, verdict=verdict(dataset))


def most_seeds_fitted(found: int, n_seeds: int) -> bool:
    """Whether more than half of the seeds have a probe that may be read.

    Where there is nothing to find, one seed in forty is above chance by its interval all the same.
    """
    return 2 * found > n_seeds


def verdict(probes: xr.Dataset, *, n_seeds: int = 1) -> str:
    """What accuracies allow to be said, in one of five phrases; it takes the least favourable seed.

    "too few seeds": half of `n_seeds` or more are missing, because they were refused or not run yet. "not above
    chance": on held-out items, by the interval. "separates tasks, not functions": on tasks that were left
    out the probe is at chance, by the interval. "not tested across tasks": fewer than two functions have two tasks.
    "separates functions": none of these.
    """
    if not most_seeds_fitted(probes.sizes["seed"], n_seeds):
        return TOO_FEW_SEEDS
    if not bool((probes["accuracy_low"] > probes["chance"]).all()):
        return NOT_ABOVE_CHANCE
    tested = probes["left_out_accuracy"].notnull()
    if not bool(tested.any()):
        return NOT_TESTED
    above = probes["left_out_low"] > probes["left_out_chance"]
    return SEPARATES_FUNCTIONS if bool(above.where(tested, True).all()) else SEPARATES_TASKS


def importance_effects(probes: xr.Dataset) -> xr.Dataset:
    """Absolute importance, averaged over seeds, as rules take it.

    `hc.rules.elbow()(hc.methods.function_probe.importance_effects(probes))` is the paper's selection: 1 for heads up to
    the elbow of each function's sorted absolute importance, that head included. Descriptive: it returns heads even for
    noise.

    Args:
        probes: What `function_probe` gives.

    Returns:
        `effect (function, layer, head)`: mean over seeds of the absolute values, so that seeds which disagree on the
        sign do not cancel; in units of the class logit, without intervals or p values (rules that need them cannot be
        used).

    Raises:
        DataError: Whole results, or another table.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> importance = np.array([[[[0.2, -0.9]]], [[[0.4, -0.7]]]])  # two seeds, one function, a layer of two heads
        >>> probes = xr.Dataset(
        ...     {"importance": (("seed", "function", "layer", "head"), importance)}, attrs={"method": "function_probe"}
        ... )
        >>> hc.methods.function_probe.importance_effects(probes).effect.values.round(2)
        array([[[0.3, 0.8]]])

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978: heads by the elbow of their importance.
    """
    refuse_results(
        probes,
        by="hc.methods.function_probe.importance_effects",
        expected="`importance` over (seed, function, layer, head)",
        table='hc.suite_blocks(results)["function_probe"]',
    )
    if "importance" not in probes:
        raise DataError(
            f"hc.methods.function_probe.importance_effects takes what function_probe returns, with `importance`; got "
            f"{', '.join(map(str, probes.data_vars)) or 'no variable'}."
        )
    absolute: xr.DataArray = abs(probes["importance"])
    effect = absolute.mean("seed", skipna=False)
    return xr.Dataset({"effect": effect}, attrs={"method": NAME, "effect": "absolute"})


def _intervals(share: str, stem: str, intervals: Sequence[Accuracy]) -> dict[str, tuple[str, list[float]]]:
    return {
        share: ("seed", [interval.share for interval in intervals]),
        f"{stem}_low": ("seed", [interval.low for interval in intervals]),
        f"{stem}_high": ("seed", [interval.high for interval in intervals]),
    }


def _task_names(features: HeadFeatures) -> dict[tuple[str, str], str]:
    """(function, task) -> a name that no other has."""
    pairs = list(dict.fromkeys(task_of(text) for text in features.texts))
    plain = [task for _, task in pairs]
    return {
        (function, task): task if task and plain.count(task) == 1 else f"{function}: {task}" if task else function
        for function, task in pairs
    }
