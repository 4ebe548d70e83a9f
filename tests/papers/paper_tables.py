"""Small labelled tables as the papers' methods return them, and what `figures/registered.py` asks of their figures."""

import json
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
            "suppression_null": ("task", np.array(null, dtype=float)),
            "suppression_threshold": ("task", np.maximum(0.15, null)),
        },
        coords={"task": list(tasks), "category": ("task", list(belongs)), **grid_of(score.shape)},
        attrs=attributes({name: ICL[name] for name in names}) | {"method": "ov_relation"},
    )


def scattered_probe(n_layers: int, n_heads: int) -> xr.Dataset:
    draws = np.random.default_rng(0).standard_t(3, (2, 3, n_layers, n_heads))
    return probe_of(4e-4 * draws, functions=FUNCTIONS[:3])


def scattered_scaling(n_layers: int, n_heads: int) -> xr.Dataset:
    """Heads of three functions scaled, the first of which loses its own answers; ten random sets, none for the last."""
    draw, names = np.random.default_rng(n_layers * n_heads), list(FUNCTIONS[:3])
    log_prob = -draw.uniform(0.1, 0.6, (3, 3)) - 3 * np.eye(3)[:, :1] * np.eye(3)[:1]
    control = -draw.uniform(0.1, 0.9, (3, 3, 10))
    control[2] = np.nan
    return scaling_of(log_prob, control, functions=names, p=[1 / 11, 0.5, np.nan])


def scaling_of(
    log_prob: np.ndarray, control: np.ndarray, *, functions: Sequence[str], p: Sequence[float]
) -> xr.Dataset:
    """Scaled heads with these log-probabilities `(function, target)` and `(function, target, control)`."""
    pair = ("function", "target")
    numbers = {"log_prob": log_prob, "accuracy": np.exp(log_prob)}
    randoms = {"control_log_prob": control, "control_accuracy": np.exp(control)}
    clean = np.full(len(functions), -0.05)
    return xr.Dataset(
        {name: (pair, values) for name, values in numbers.items()}
        | {name: ((*pair, "control"), values) for name, values in randoms.items()}
        | {"clean_log_prob": ("target", clean), "clean_accuracy": ("target", np.exp(clean))}
        | {"n_heads": ("function", np.arange(1, 1 + len(functions)))}
        | {"n_controls": ("function", (~np.isnan(control[:, 0])).sum(-1))}
        | {"p": ("function", list(p)), "p_specific": ("function", list(p))},
        coords={"function": list(functions), "target": list(functions), "control": np.arange(control.shape[-1])},
        attrs={"scale": 1e-4},
    )


def scattered_gates(n_layers: int, n_heads: int) -> xr.Dataset:
    draws = np.random.default_rng(0).random((2, 2, 3, n_layers, n_heads))
    return gates_of(*draws, datasets=["Syntactic Understanding", "Math Calculation"])


def scattered_token_map(n_layers: int, n_heads: int) -> xr.Dataset:
    return token_map_of(np.random.default_rng(0).uniform(0.45, 0.95, (n_layers, len(ROLES))))


def scattered_relations(n_layers: int, n_heads: int) -> xr.Dataset:
    score = np.random.default_rng(0).beta(0.3, 4, (8, n_layers, n_heads))
    tasks = [f"relation_{i}" for i in range(8)]
    return relations_of(score, tasks=tasks, belongs=np.repeat(list(ICL), 2).tolist(), k=[10] * 8, null=[0.05] * 8)


def scattered_dynamic(n_layers: int, n_heads: int) -> xr.Dataset:
    """Three relations of 40 pairs in two templates, with scores near those of the weights."""
    draw, tasks = np.random.default_rng(0), ["copying", "capital", "plural"]
    static = (40 * draw.beta(0.3, 4, (3, n_layers, n_heads))).round() / 40
    noise = draw.integers(-2, 3, (2, 2, *static.shape)) / 40
    return dynamic_of(static, (static + noise).clip(0, 1), tasks=tasks, belongs=list(ICL)[:3])


def dynamic_of(static: np.ndarray, dynamic: np.ndarray, *, tasks: Sequence[str], belongs: Sequence[str]) -> xr.Dataset:
    """A dynamic check with those scores `(task, layer, head)` and `(context, template, task, layer, head)`, and r.

    Suppression is half of the score.
    """
    grid = ("context", "template", "task", "layer", "head")
    n_templates = dynamic.shape[1]
    beside = np.tile(static.reshape(len(tasks), -1), n_templates)
    pooled = np.moveaxis(dynamic, 1, 2).reshape(2, len(tasks), -1)
    sides = [beside - beside.mean(-1, keepdims=True), pooled - pooled.mean(-1, keepdims=True)]
    size = np.sqrt((sides[0] ** 2).sum(-1) * (sides[1] ** 2).sum(-1))
    r = np.divide((sides[0] * sides[1]).sum(-1), size, where=size > 0, out=np.full_like(size, np.nan))
    return xr.Dataset(
        {
            "score": (grid, dynamic),
            "static": (grid[2:], static),
            "pooled_r": (("context", "task"), r),
            "suppression": (grid, dynamic / 2),
            "suppression_static": (grid[2:], static / 2),
            "suppression_pooled_r": (("context", "task"), r),
        },
        coords={
            "context": ["with", "without"],
            "template": [f"<X> {number}" for number in range(n_templates)],
            "task": list(tasks),
            "category": ("task", list(belongs)),
            **grid_of(static.shape),
        },
        attrs=attributes({name: ICL[name] for name in ICL if name in belongs}) | {"method": "dynamic_relation"},
    )


def scattered_ablation(n_layers: int, n_heads: int) -> xr.Dataset:
    """Three relations whose heads and controls are not equally many, the last one without controls."""
    longest, draw = min(150, n_layers * n_heads), np.random.default_rng(0)
    n_heads_of = np.array([longest, max(1, longest // 2), longest])

    def falling(*shape: int, to: float) -> np.ndarray:
        steps = draw.random((3, *shape, longest)) * 2 * (0.9 - to) / longest
        curves = np.concatenate([np.full((3, *shape, 1), 0.9), 0.9 - steps.cumsum(-1)], -1).clip(0, 1)
        beyond = np.arange(longest + 1) > n_heads_of.reshape(3, *[1] * (len(shape) + 1))
        return np.where(beyond, np.nan, curves)

    return ablation_of(
        falling(to=0.1), falling(5, to=0.8), falling(5, to=0.7), n_controls=[5, 2, 0], belongs=list(ICL)[:3]
    )


def ablation_of(
    accuracy: np.ndarray, random: np.ndarray, control: np.ndarray, *, n_controls: Sequence[int], belongs: Sequence[str]
) -> xr.Dataset:
    """An ablation with curves over `(task, k)`, `(task, sequence, k)` and `(task, other, k)`, NaN beyond their ends."""
    n_tasks, _, n_k = random.shape
    has_control = np.arange(control.shape[1]) < np.array(n_controls)[:, None]
    heads = np.array(["", *(f"L{k // 4}H{k % 4}" for k in range(n_k - 1))])
    n_heads = (~np.isnan(accuracy)).sum(-1) - 1
    zero = (accuracy == 0).any(-1)
    return xr.Dataset(
        {
            "accuracy": (("task", "k"), accuracy),
            "random": (("task", "sequence", "k"), random),
            "control": (("task", "other", "k"), np.where(has_control[..., None], control, np.nan)),
            "head": (("task", "k"), np.where(np.isnan(accuracy), "", heads)),
            "random_head": (("task", "sequence", "k"), np.where(np.isnan(random), "", heads)),
            "control_task": (("task", "other"), np.where(has_control, list("abcde")[: control.shape[1]], "")),
            "n_heads": ("task", n_heads),
            "n_removed": ("task", np.where(zero, (accuracy == 0).argmax(-1), n_heads)),
        },
        coords={
            "task": [f"relation_{number}" for number in range(n_tasks)],
            "category": ("task", list(belongs)),
            "k": np.arange(n_k),
        },
        attrs=attributes({name: ICL[name] for name in ICL if name in belongs}) | {"method": "relation_ablation"},
    )


def scattered_toggles(n_layers: int, n_heads: int) -> xr.Dataset:
    """Curves of two data sets and three seeds, one of which was not measured on the second."""
    draw, n = np.random.default_rng(n_layers + n_heads), n_layers * n_heads
    shape = (2, 3, 3, n + 1)
    slope = np.array([4.0, 0.5, 0.1])[:, None] / n
    order = np.concatenate(
        [np.full((*shape[:3], 1), -1), draw.permuted(np.tile(np.arange(n), (*shape[:3], 1)), axis=-1)], -1
    )
    curves = toggles_of(-slope * np.arange(n + 1) * draw.uniform(0.8, 1.2, shape), order, n_heads=n_heads)
    unmeasured = (curves["dataset"] == "Math Calculation") & (curves["seed"] == 2)
    return curves.assign({name: curves[name].where(~unmeasured) for name in ("log_prob", "change")})


def toggles_of(log_prob: np.ndarray, order: np.ndarray, *, n_heads: int) -> xr.Dataset:
    """Toggle curves with that `log_prob (dataset, seed, score, heads_off)`; a third of the heads has a high score."""
    dims, n_high = ("dataset", "seed", "score", "heads_off"), (log_prob.shape[-1] - 1) // 3
    layer, head = (np.where(order < 0, -1, part) for part in np.divmod(order, n_heads))
    return xr.Dataset(
        {"log_prob": (dims, log_prob), "layer_off": (dims, layer), "head_off": (dims, head)}
        | {
            "change": (dims[:3], log_prob[..., n_high] - log_prob[..., 0]),
            "n_high": (dims[:3], np.full(log_prob.shape[:3], n_high)),
        },
        coords={
            "dataset": ["Syntactic Understanding", "Math Calculation"][: len(log_prob)],
            "seed": np.arange(log_prob.shape[1]),
            "score": ["facilitation", "irrelevance", "interference"],
            "heads_off": np.arange(log_prob.shape[-1]),
        },
        attrs={"method": "toggle_curves", "provenance": json.dumps({"threshold": "0.5"})},
    )


TABLES = {
    "importance": scattered_probe,
    "scaled": scattered_scaling,
    "gates": scattered_gates,
    "relations": scattered_relations,
    "dynamic": scattered_dynamic,
    "ablated": scattered_ablation,
    "token_map": scattered_token_map,
    "toggles": scattered_toggles,
}
HEAD_GRIDS = ("importance_grid", "always_any")
TURNED = (*HEAD_GRIDS, "layer_token")
MAPS = ("ov_map",)
MEANS = ("mean over seeds", "relation heads, control task")
"""Traces of means of what the numbers have one by one."""
