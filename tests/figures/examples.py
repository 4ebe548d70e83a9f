"""Small labelled tables as `hc.overlap`, `hc.categorize` and `hc.score` return them, with values chosen by hand."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

ICL = {"Algorithmic": "#1f77b4", "Knowledge": "#ff7f0e", "Linguistic": "#2ca02c", "Translation": "#d62728"}


def attributes(categories: Mapping[str, str]) -> dict[str, str]:
    return {
        "categories": json.dumps([{"name": name, "colour": colour} for name, colour in categories.items()]),
        "rule": "fdr(alpha=0.05, min_effect=0.05)",
    }


def overlap_of(
    member: np.ndarray, *, categories: Mapping[str, str] = ICL, layers: Sequence[int] | None = None
) -> xr.Dataset:
    """An overlap with that `member (category, layer, head)`; effect = .1 * category + .01 * layer + .001 * head."""
    names = np.array(list(categories))
    n, n_layers, n_heads = member.shape
    grid = ("category", "layer", "head")
    inside = member == 1
    sets = np.array([["+".join(names[inside[:, i, j]]) for j in range(n_heads)] for i in range(n_layers)])
    number = np.arange(n)[:, None, None] * 0.1 + np.arange(n_layers)[:, None] * 0.01 + np.arange(n_heads) * 0.001
    return xr.Dataset(
        {
            "n_categories": (("layer", "head"), inside.sum(0).astype(np.int8)),
            "set": (("layer", "head"), sets),
            "undecided": (("layer", "head"), (~inside.any(0)) & (member == 0).any(0)),
            "member": (grid, member.astype(np.int8)),
            "effect": (grid, number),
            "low": (grid, number - 0.02),
            "high": (grid, number + 0.02),
            "q_value": (grid, np.where(inside, 0.001, 0.5)),
            "tasks": (grid, np.where(inside, "copy,reverse", "")),
        },
        coords={"category": names, "layer": list(layers or range(n_layers)), "head": np.arange(n_heads)},
        attrs=attributes(categories),
    )


def mixed_overlap(n_layers: int, n_heads: int, *, categories: Mapping[str, str] = ICL) -> xr.Dataset:
    """Heads of every number of categories, undecided ones and many that are out, scattered with a fixed seed."""
    draw = np.random.default_rng(0)
    chance = 0.6 * draw.random((len(categories), n_layers, n_heads)) + 0.4 * draw.random((n_layers, n_heads))
    return overlap_of(np.where(chance < 0.22, 1, np.where(chance < 0.32, 0, -1)), categories=categories)


def scores_of(
    effect: np.ndarray,
    *,
    tasks: Sequence[str],
    belongs: Sequence[str],
    q_value: np.ndarray | None = None,
    layers: Sequence[int] | None = None,
) -> xr.Dataset:
    """Scores with that `effect (task, layer, head)`, intervals of +- .02 and q = .001 unless given."""
    grid = ("task", "layer", "head")
    return xr.Dataset(
        {
            "effect": (grid, effect),
            "low": (grid, effect - 0.02),
            "high": (grid, effect + 0.02),
            "q_value": (grid, np.full(effect.shape, 0.001) if q_value is None else q_value),
        },
        coords={
            "task": list(tasks),
            "category": ("task", list(belongs)),
            "layer": list(layers or range(effect.shape[1])),
            "head": np.arange(effect.shape[2]),
        },
        attrs=attributes(ICL),
    )
