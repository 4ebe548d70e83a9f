"""Importance of heads as labelled data: probes of several seeds in one dataset."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.papers.function_probe.features import HeadFeatures
from headcats.papers.function_probe.seed import SeedResult
from headcats.papers.function_probe.splits import task_of
from headcats.papers.function_probe.summary import verdict

NAME = "function_probe"
_BY_SEED = (
    "accuracy", "accuracy_low", "accuracy_high", "chance",
    "left_out_accuracy", "left_out_low", "left_out_high", "left_out_chance",
    "word_accuracy", "word_low", "word_high", "word_p",
)  # fmt: skip


def labelled(
    features: HeadFeatures,
    functions: Sequence[str],
    results: Mapping[int, SeedResult],
    *,
    axes: Mapping[str, Any],
) -> xr.Dataset:
    """Results by seed as a dataset; see `function_probe` for what it holds. NaN for heads that a layer lacks.

    `axes` are the coordinates over heads (`HookedModel.axes`).
    """
    layers, n_heads = list(axes["layer"]), len(axes["head"])
    importance = np.full((len(results), len(functions), len(layers), n_heads), np.nan, dtype=np.float32)
    for place, head in enumerate(features.heads):
        of_head = [result.importance[:, place] for result in results.values()]
        importance[:, :, layers.index(head.layer), head.head] = of_head
    tasks = _task_names(features)
    categories = [text.category for text in features.texts]
    by_seed = pd.DataFrame(
        [
            (*result.accuracy, result.chance, *result.left_out, result.left_out_chance, *result.words, result.words_p)
            for result in results.values()
        ],
        columns=_BY_SEED,
    )
    dataset = xr.Dataset(
        {
            "importance": (("seed", "function", "layer", "head"), importance),
            **{name: ("seed", values.to_numpy()) for name, values in by_seed.items()},
            "function_accuracy": (("seed", "function"), [result.function_accuracy for result in results.values()]),
            "task_left_out_accuracy": (
                ("seed", "task"),
                [[result.by_task.get(task, np.nan) for task in tasks] for result in results.values()],
            ),
            "n": ("function", [categories.count(function) for function in functions]),
        },
        coords={
            "seed": list(results),
            "function": list(functions),
            **axes,
            "task": list(tasks.values()),
            "task_function": ("task", [function for function, _ in tasks]),
        },
    )
    return dataset.assign_attrs(method=NAME, verdict=verdict(dataset))


def _task_names(features: HeadFeatures) -> dict[tuple[str, str], str]:
    """(function, task) -> a name that no other has."""
    pairs = list(dict.fromkeys(task_of(text) for text in features.texts))
    plain = [task for _, task in pairs]
    return {
        (function, task): task if task and plain.count(task) == 1 else f"{function}: {task}" if task else function
        for function, task in pairs
    }
