"""Small labelled tables as `hc.overlap`, `hc.categorize` and `hc.score` return them, with values chosen by hand."""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr
from simulated import block

from headcats.figures import reads
from headcats.figures.panels.grid import PanelGrid
from headcats.registry import lookup, names
from headcats.scores.scoring import score

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


FUNCTIONS = (
    *("Knowledge Recall", "Retrieval", "Logical Reasoning", "Decision-making"),
    *("Semantic Understanding", "Syntactic Understanding", "Inference", "Math Calculation"),
)
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
            **_grid(importance.shape),
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
        coords={"dataset": list(datasets), "seed": np.arange(facilitation.shape[1]), **_grid(facilitation.shape)},
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


def agreement_of(rank: np.ndarray, *, groups: Sequence[str], methods: Sequence[str]) -> xr.Dataset:
    """An agreement with those ranks `(group, method, layer, head)`; correlations and overlaps follow from them."""
    flat = rank.reshape(*rank.shape[:2], -1)
    # Without warnings where a method ranks a single head or none.
    centred = flat - flat.mean(-1, keepdims=True)
    size = np.sqrt((centred**2).sum(-1))
    scale = size[:, :, None] * size[:, None, :]
    products = centred @ np.swapaxes(centred, -1, -2)
    top = (flat <= 2).astype(float)
    both = top @ np.swapaxes(top, -1, -2)
    pair = ("group", "method", "other")
    return xr.Dataset(
        {
            "rank_correlation": (pair, np.divide(products, scale, where=scale > 0, out=np.full_like(scale, np.nan))),
            "top_overlap": (pair, both / np.maximum(top.sum(-1)[:, :, None] + top.sum(-1)[:, None, :] - both, 1)),
            "top_chance": (pair, np.full(products.shape, 0.2)),
            "rank": (("group", "method", "layer", "head"), rank),
            "spread": (("group", "layer", "head"), rank.max(1) - rank.min(1)),
        },
        coords={"group": list(groups), "method": list(methods), "other": list(methods), **_grid(rank.shape)},
        attrs={"top": 2},
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
        coords={"task": list(tasks), "category": ("task", list(belongs)), **_grid(score.shape)},
        attrs=attributes({name: ICL[name] for name in names}) | {"method": "ov_relation"},
    )


def _grid(shape: Sequence[int]) -> dict[str, np.ndarray]:
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


def scattered_agreement(n_layers: int, n_heads: int) -> xr.Dataset:
    draws = np.random.default_rng(0).random((2, 3, n_layers * n_heads))
    rank = draws.argsort(-1).argsort(-1).reshape(2, 3, n_layers, n_heads) + 1.0
    return agreement_of(rank, groups=["Knowledge", "Translation"], methods=["denoising_patch", "ov_relation", "gates"])


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
            **_grid(static.shape),
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


def whole_overlap(n_layers: int, n_heads: int) -> xr.Dataset:
    """With what chance gives, by which `hc.overlap` marks its results."""
    return mixed_overlap(n_layers, n_heads).assign(expected=("k", np.zeros(len(ICL))))


def scattered_curves(n_layers: int, n_heads: int) -> xr.Dataset:
    """Damage that grows with the heads; the last task drops out at the last head. At most twelve heads, as in a run."""
    longest, draw = min(12, n_layers * n_heads), np.random.default_rng(0)
    shape = (len(ICL), 2, longest)
    steps = draw.random(shape) * np.array([0.06, 0.02])[:, None]
    random = draw.normal(0.01, 0.01, (*shape, 10)).cumsum(axis=2)
    n_tasks = np.broadcast_to(np.array([3, 9])[:, None] - (np.arange(longest) == 11), shape)
    return curves_of(steps.cumsum(axis=2), random, n_tasks=n_tasks)


def curves_of(damage: np.ndarray, random: np.ndarray, *, n_tasks: np.ndarray) -> xr.Dataset:
    """Curves with that `damage, n_tasks (category, side, k)` and `random (category, side, k, sequence)`."""
    dims = ("category", "side", "k")
    return xr.Dataset(
        {"damage": (dims, damage), "random": ((*dims, "sequence"), random), "n_tasks": (dims, n_tasks)},
        coords={"category": list(ICL)[: len(damage)], "side": ["own", "others"], "k": np.arange(damage.shape[2]) + 1},
    )


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
    """Two tests of four categories; the second relabelling in its turn has a supported one."""
    draw, n = np.random.default_rng(n_layers * n_heads), 60
    return relabelling_of(
        {test: draw.normal(1, 1, 4) for test in ("signature", "causal")},
        {test: draw.normal(1, 0.4, n) for test in ("signature", "causal")},
        supported=[True, False, False, False],
        turns=np.arange(n) == 1,
    )


def relabelling_of(
    observed: Mapping[str, np.ndarray],
    maxima: Mapping[str, np.ndarray],
    *,
    supported: Sequence[bool],
    turns: np.ndarray,
) -> xr.Dataset:
    """A node `relabelling` with those statistics (category) and maxima (relabelling)."""
    p = {
        test: [(1 + (maxima[test] >= value).sum()) / (1 + len(maxima[test])) for value in values]
        for test, values in observed.items()
    }
    return xr.Dataset(
        {
            **{test: ("category", values) for test, values in observed.items()},
            **{f"{test}_p": ("category", values) for test, values in p.items()},
            **{f"{test}_maximum": ("relabelling", values) for test, values in maxima.items()},
            "verdict": ("category", ["supported" if called else "inconclusive" for called in supported]),
            "turn_supported": ("relabelling", turns),
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
        coords={"revision": names, "category": list(ICL), **_grid(shape), "step": ("revision", [1.0, 10, 100, 1000])},
        attrs=attributes(ICL) | {"alpha": 0.05},
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


TABLES: dict[str, Callable[[int, int], xr.Dataset]] = {
    "overlap": whole_overlap,
    "members": mixed_overlap,
    "scores": scattered_scores,
    "curves": scattered_curves,
    "relabelling": scattered_relabelling,
    "agreement": scattered_agreement,
    "importance": scattered_probe,
    "scaled": scattered_scaling,
    "gates": scattered_gates,
    "relations": scattered_relations,
    "dynamic": scattered_dynamic,
    "ablated": scattered_ablation,
    "token_map": scattered_token_map,
    "revisions": scattered_revisions,
    "by_position": scattered_positions,
    "toggles": scattered_toggles,
}
"""What a figure reads -> such a table, for a model of so many layers and heads."""
REGISTERED = {name: lookup("figure", name) for name in names("figure")}
# Those drawn as a `PanelGrid`; of others nothing is asked but that they give a figure.
FIGURES = [name for name, draw in REGISTERED.items() if draw.__wrapped__.__annotations__.get("return") is PanelGrid]
EXAMPLES = {name: TABLES[reads(REGISTERED[name])] for name in FIGURES} | {"head_tasks": scored_tasks}
"""Name of a figure -> a table that it reads."""
