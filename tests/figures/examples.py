"""Small labelled tables as `hc.overlap`, `hc.categorize` and `hc.score` return them, with values chosen by hand."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from simulated import CATEGORIES, block

from headcats.scores.scoring import score

ICL = {str(category["name"]): str(category["colour"]) for category in CATEGORIES}


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
    inside, undecided = member == 1, member == 0
    sets = []
    for cell, n_undecided in zip(inside.reshape(n, -1).T, undecided.sum(0).ravel(), strict=True):
        sets.append(("+".join(names[cell]) + f" ({n_undecided} undecided)" * bool(n_undecided)).strip())
    number = np.arange(n)[:, None, None] * 0.1 + np.arange(n_layers)[:, None] * 0.01 + np.arange(n_heads) * 0.001
    return xr.Dataset(
        {
            "n_categories": (("layer", "head"), inside.sum(0).astype(np.int8)),
            "set": (("layer", "head"), np.array(sets).reshape(n_layers, n_heads)),
            "undecided": (grid, undecided),
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


def without_last_head(table: xr.Dataset) -> xr.Dataset:
    """The same with no number for the last head of the last layer, in whatever holds numbers of heads."""
    across = "head" if "head" in table else "role"
    last = (table["layer"] == table["layer"][-1]) & (table[across] == table[across][-1])
    floats = {name: values for name, values in table.data_vars.items() if values.dtype.kind == "f"}
    of_heads = {name: values for name, values in floats.items() if set(last.dims) <= set(values.dims)}
    return table.assign({name: values.where(~last).transpose(*values.dims) for name, values in of_heads.items()})


FUNCTIONS = (
    *("Knowledge Recall", "Retrieval", "Logical Reasoning", "Decision-making"),
    *("Semantic Understanding", "Syntactic Understanding", "Inference", "Math Calculation"),
)


def grid_of(shape: Sequence[int]) -> dict[str, np.ndarray]:
    return {"layer": np.arange(shape[-2]), "head": np.arange(shape[-1])}


# ------------------------------------------------------------------------------------------- one table per figure
def scattered_scores(n_layers: int, n_heads: int) -> xr.Dataset:
    effect = np.random.default_rng(0).normal(0, 0.05, (3, n_layers, n_heads))
    return scores_of(effect, tasks=["copy", "reverse", "capital"], belongs=["Algorithmic"] * 2 + ["Knowledge"])


def scored_tasks(n_layers: int, n_heads: int) -> xr.Dataset:
    """Scores of two tasks of each of two categories; one head in eight acts on both tasks of a category."""
    draw, sweeps = np.random.default_rng(0), {}
    for category, tasks in {"Algorithmic": ("copy", "reverse"), "Knowledge": ("capital", "currency")}.items():
        effect = 0.4 * (draw.random((n_layers, n_heads)) < 1 / 8)
        sweeps[category] = {task: block(draw.normal(effect, 0.1, (24, n_layers, n_heads))) for task in tasks}
    return score(sweeps)


def scattered_positions(n_layers: int, n_heads: int) -> xr.Dataset:
    """A sweep position by position whose effects are scattered with a fixed seed; two prompts of four tokens."""
    effect = np.random.default_rng(n_layers * n_heads).normal(0, 0.2, (4, n_layers, n_heads))
    return positions_of(effect, tokens=[["<bos>", " John", " gave", " to"], ["<bos>", " Mary", " gave", " to"]])


def positions_of(
    effect: np.ndarray, *, tokens: Sequence[Sequence[str]], roles: Sequence[str] = (), base: str = "corrupted"
) -> xr.Dataset:
    """A sweep with that `effect (position, layer, head)` in shares of a gap of 2, the same for all prompts."""
    n = len(tokens)
    clean, corrupted = np.full((1, n), 3.0), np.full((1, n), 1.0)
    start, sign = (corrupted, 1) if base == "corrupted" else (clean, -1)
    return xr.Dataset(
        {
            "patched": (
                ("metric", "prompt", "position", "layer", "head"),
                start[..., None, None, None] + sign * 2 * np.broadcast_to(effect, (1, n, *effect.shape)),
            ),
            "clean": (("metric", "prompt"), clean),
            "corrupted": (("metric", "prompt"), corrupted),
        },
        coords={
            "metric": ["logit_diff"],
            "position": np.arange(len(effect)),
            "layer": np.arange(effect.shape[1]),
            "head": np.arange(effect.shape[2]),
            "token": (("prompt", "position"), np.array(tokens, dtype=object)),
            **({"role": ("position", list(roles))} if roles else {}),
        },
        attrs={"base": base, "method": "denoising_patch", "positions": "each"},
    )


def scattered_relabelling(n_layers: int, n_heads: int) -> xr.Dataset:
    """Four categories; the second relabelling in its turn has a supported one."""
    draw, n = np.random.default_rng(n_layers * n_heads), 60
    return relabelling_of(
        draw.normal(1, 1, 4), draw.normal(1, 0.4, n), supported=[True, False, False, False], turns=np.arange(n) == 1
    )


def relabelling_of(
    combined: np.ndarray, maximum: np.ndarray, *, supported: Sequence[bool], turns: np.ndarray
) -> xr.Dataset:
    """A node `relabelling` with those statistics (category) and maxima (relabelling)."""
    return xr.Dataset(
        {
            "combined": ("category", combined),
            "p": ("category", [(1 + (maximum >= value).sum()) / (1 + len(maximum)) for value in combined]),
            "maximum": ("relabelling", maximum),
            "verdict": ("category", ["supported" if called else "inconclusive" for called in supported]),
            "supported_in_turn": ("relabelling", turns),
        },
        coords={"category": list(ICL)[: len(supported)], "relabelling": np.arange(1, len(turns) + 1)},
    )


def scattered_revisions(n_layers: int, n_heads: int) -> xr.Dataset:
    """Four revisions of four categories: the first judges nothing, and heads come and go, some with a difference."""
    draw, names = np.random.default_rng(n_layers + n_heads), ["step1", "step10", "step100", "step1000"]
    grid = ("revision", "category", "layer", "head")
    shape = (len(names), len(ICL), n_layers, n_heads)
    effect = 0.1 * draw.normal(size=shape) + 0.2 * (draw.random((1, *shape[1:])) < 0.3)
    effect[0] = np.nan
    member = np.where(effect > 0.15, 1, np.where(effect > 0.1, 0, -1)) * ~np.isnan(effect)
    change = np.diff((member == 1).astype(int), axis=0, prepend=0)
    change[:2] = 0
    judged = np.array([0, 1, 1, 1])[:, None] * np.ones(len(ICL))
    counts = {"size": (member == 1).sum((2, 3)), "undecided": ((member == 0) & ~np.isnan(effect)).sum((2, 3))}
    difference = np.diff(effect, axis=0, prepend=np.nan)
    numbers = {"effect": effect, "mean_effect": effect, "mean_low": effect - 0.05, "mean_high": effect + 0.05}
    tested = {"difference": difference, "difference_q": np.where(abs(difference) > 0.15, 0.01, 0.4)}
    return xr.Dataset(
        {name: (grid, values) for name, values in (numbers | tested).items()}
        | {name: (grid[:2], np.where(judged, values, np.nan)) for name, values in counts.items()}
        | {
            "member": (grid, member.astype(np.int8)),
            "change": (grid, change.astype(np.int8)),
            "change_found": (grid, (change != 0) & (tested["difference_q"] < 0.05)),
            "n_tasks": (grid[:2], (judged * 4).astype(int) - np.array([0, 1, 0, 0])[:, None]),
            "n_skipped": (grid[:2], 4 - (judged * 4).astype(int) + np.array([0, 1, 0, 0])[:, None]),
            "before": (grid[:2], np.tile(np.array(["", "", *names[1:3]])[:, None], len(ICL))),
        },
        coords={"revision": names, "category": list(ICL), **grid_of(shape), "step": ("revision", [1.0, 10, 100, 1000])},
        attrs=attributes(ICL) | {"alpha": 0.05},
    )
