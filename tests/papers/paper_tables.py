"""Small labelled tables as the papers' methods return them, and what `figures/registered.py` asks of their figures."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from figures.examples import FUNCTIONS, ICL, attributes, grid_of

ROLES = (
    *("last_q", "first_answer", "exact_answer_before_first", "exact_answer_first", "exact_answer_last"),
    *("exact_answer_after_last", "-2", "-1"),
)


def probe_of(importance: np.ndarray, *, functions: Sequence[str] = FUNCTIONS, verdict: str = "") -> xr.Dataset:
    """A function probe with that `importance (seed, function, layer, head)`, held-out accuracy .9, left out .6."""
    n_seeds = len(importance)
    one = np.ones(n_seeds)
    accuracies = {"accuracy": 0.9, "accuracy_low": 0.85, "accuracy_high": 0.95, "chance": 1 / len(functions)}
    accuracies |= {"left_out_accuracy": 0.6, "left_out_low": 0.5, "left_out_high": 0.7}
    return xr.Dataset(
        {
            "importance": (("seed", "function", "layer", "head"), importance),
            **{name: ("seed", value * one) for name, value in accuracies.items()},
            "task_left_out_accuracy": (("seed", "task"), np.full((n_seeds, 2), 0.25)),
        },
        coords={
            "seed": np.arange(n_seeds),
            "function": list(functions),
            **grid_of(importance.shape),
            "task": ["one", "two"],
            "task_function": ("task", [functions[0]] * 2),
        },
        attrs={"verdict": verdict or "separates functions"},
    )


def gates_of(facilitation: np.ndarray, interference: np.ndarray, *, datasets: Sequence[str]) -> xr.Dataset:
    """Gates with those scores `(dataset, seed, layer, head)`; irrelevance as their product gives it."""
    dims = ("dataset", "seed", "layer", "head")
    scores = {"facilitation": facilitation, "interference": interference}
    scores["irrelevance"] = (1 - interference) * (1 - facilitation)
    return xr.Dataset(
        {name: (dims, values) for name, values in scores.items()},
        coords={"dataset": list(datasets), "seed": np.arange(facilitation.shape[1]), **grid_of(facilitation.shape)},
    )


def token_map_of(auc: np.ndarray, *, roles: Sequence[str] = ROLES) -> xr.Dataset:
    """A token probe with that `auc (layer, role)`, intervals of +- .05, .5 for shuffled labels."""
    dims = ("layer", "role")
    return xr.Dataset(
        {
            "auc": (dims, auc),
            "low": (dims, auc - 0.05),
            "high": (dims, auc + 0.05),
            "within_task": (dims, auc - 0.1),
            "shuffled": (dims, np.full(auc.shape, 0.5)),
            "task_baseline": 0.625,
            "n": 400,
            "n_wrong": 150,
        },
        coords={"layer": np.arange(len(auc)), "role": list(roles)},
        attrs={"exact_roles": "\n".join(role for role in roles if role.startswith("exact_answer_"))},
    )


def relations_of(
    score: np.ndarray, *, tasks: Sequence[str], belongs: Sequence[str], k: Sequence[int], null: Sequence[float]
) -> xr.Dataset:
    """OV relations with that `score (task, layer, head)`; threshold = max(.15, null)."""
    names = [name for name in ICL if name in belongs]
    return xr.Dataset(
        {
            "score": (("task", "layer", "head"), score),
            "suppression": (("task", "layer", "head"), np.zeros_like(score)),
            "n": ("task", np.full(len(tasks), 100)),
            "k": ("task", np.array(k)),
            "null": ("task", np.array(null, dtype=float)),
            "threshold": ("task", np.maximum(0.15, null)),
            "by_chance": ("task", np.full(len(tasks), 0.05)),
            "suppression_null": ("task", np.array(null, dtype=float)),
            "suppression_threshold": ("task", np.maximum(0.15, null)),
        },
        coords={"task": list(tasks), "category": ("task", list(belongs)), **grid_of(score.shape)},
        attrs=attributes({name: ICL[name] for name in names}) | {"method": "ov_relation"},
    )


def scattered_probe(n_layers: int, n_heads: int) -> xr.Dataset:
    draws = np.random.default_rng(0).standard_t(3, (2, 3, n_layers, n_heads))
    return probe_of(4e-4 * draws, functions=FUNCTIONS[:3])


def scattered_gates(n_layers: int, n_heads: int) -> xr.Dataset:
    draws = np.random.default_rng(0).random((2, 2, 3, n_layers, n_heads))
    return gates_of(*draws, datasets=["Syntactic Understanding", "Math Calculation"])


def scattered_token_map(n_layers: int, n_heads: int) -> xr.Dataset:
    return token_map_of(np.random.default_rng(0).uniform(0.45, 0.95, (n_layers, len(ROLES))))


def scattered_relations(n_layers: int, n_heads: int) -> xr.Dataset:
    score = np.random.default_rng(0).beta(0.3, 4, (8, n_layers, n_heads))
    tasks = [f"relation_{i}" for i in range(8)]
    return relations_of(score, tasks=tasks, belongs=np.repeat(list(ICL), 2).tolist(), k=[10] * 8, null=[0.05] * 8)


TABLES = {
    "importance": scattered_probe,
    "gates": scattered_gates,
    "relations": scattered_relations,
    "token_map": scattered_token_map,
}
HEAD_GRIDS = ("importance_grid", "always_any")
TURNED = (*HEAD_GRIDS, "layer_token")
MAPS = ("ov_map",)
