"""Accuracy with a vector added to the residual stream."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from scipy import stats
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.function_vector.prompts import Rows
from headcats.statistics.task import PromptEffects, estimate, intervals

_ROWS = 256  # prompts, each once for every vector, in one forward pass


def function_vectors(
    model: HookedModel, batches: Sequence[Tensor], sets: Sequence[Sequence[Head]]
) -> Float[Tensor, "set d_model"]:
    """For each set of heads, the sum of their mean outputs `z @ W_O` at the last position, in fp32 on the CPU.

    The mean is over the prompts `[prompt, pos]` of all batches.
    """
    sums: dict[int, Tensor] = {}
    for batch in batches:
        for tokens in batch.split(_ROWS):
            for layer, z in model.capture(tokens, first=-1)[1].items():
                total = z[:, 0].float().sum(0).cpu()
                sums[layer] = sums[layer] + total if layer in sums else total
    n = sum(map(len, batches))
    W_O = {layer: model.W_O(layer).float().cpu() for layer in {head.layer for heads in sets for head in heads}}
    outputs = [[sums[head.layer][head.head] / n @ W_O[head.layer][head.head] for head in heads] for heads in sets]
    return torch.stack([torch.stack(of_set).sum(0) for of_set in outputs])


def right_answers(
    model: HookedModel, tokens: Tensor, answer: Tensor, vectors: Float[Tensor, "set d_model"], *, layer: int
) -> Bool[Tensor, "set prompt"]:
    """True where the largest logit is the answer's, with each vector added after block `layer` at the last position."""
    parts = []
    size = max(1, _ROWS // len(vectors))
    for rows, answers in zip(tokens.split(size), answer.split(size), strict=True):

        def add(stream: Tensor, n: int = len(rows)) -> Tensor:
            stream = stream.clone()
            stream[:, -1] += vectors.repeat_interleave(n, 0).to(stream.device, stream.dtype)
            return stream

        logits = model.run(rows.repeat(len(vectors), 1), hooks={f"blocks.{layer}.hook_resid_post": add})
        parts.append(logits.argmax(-1).cpu().unflatten(0, (len(vectors), len(rows))) == answers)
    return torch.cat(parts, 1)


def steered_task(
    model: HookedModel,
    few_shot: Sequence[Rows],
    zero_shot: Sequence[Rows],
    sets: Sequence[Sequence[Head]],
    *,
    task: str,
    seed: int,
) -> xr.Dataset:
    """One task of what `steer` returns; the first of `sets` is tested, the others are random.

    Vectors are made of the few-shot prompts and added to the zero-shot ones; `task` and `seed` name the bootstrap.
    """
    vectors = function_vectors(model, [rows.tokens for rows in few_shot], sets)
    layers = range(model.n_layers)
    by_layer = [
        torch.cat([right_answers(model, *rows[:2], vectors, layer=layer) for rows in zero_shot], 1).numpy()
        for layer in layers
    ]
    right = np.stack(by_layer, axis=-1).astype(np.float64)  # [set, prompt, layer]
    base, demonstrated = (_unsteered(model, batches) for batches in (zero_shot, few_shot))
    steered, random = right[0], right[1:]
    differences = np.concatenate([steered - base[:, None], steered - random.mean(0)], axis=1)
    items = np.array([item for rows in zero_shot for item in rows.items])
    effects = PromptEffects(differences, np.ones(len(items)), items, np.full(len(items), ""))
    estimated = estimate(effects, task=task, seed=seed)
    low, high = intervals({task: estimated}, seed=seed)[task]
    gains = {
        f"{name}{suffix}": ("layer", half)
        for suffix, values in (("", estimated.effect), ("_low", low), ("_high", high))
        for name, half in zip(("gain", "excess"), np.split(values, 2), strict=True)
    }
    p_value = np.maximum(*np.split(_sign_test(differences), 2))
    bounds = np.array([_wilson(column) for column in steered.T])
    norms = vectors.norm(dim=-1).double().numpy()
    return xr.Dataset(
        {
            "accuracy": ("layer", steered.mean(0)),
            "low": ("layer", bounds[:, 0]),
            "high": ("layer", bounds[:, 1]),
            "base": base.mean(),
            "base_low": _wilson(base)[0],
            "base_high": _wilson(base)[1],
            "control": (("layer", "draw"), random.mean(1).T),
            "few_shot": demonstrated.mean(),
            **gains,
            "p_value": ("layer", p_value),
            "norm": norms[0],
            "control_norm": ("draw", norms[1:]),
            "n": len(items),
            "n_reference": sum(len(rows.tokens) for rows in few_shot),
        },
        coords={"layer": list(layers), "draw": np.arange(len(random))},
    )


def _unsteered(model: HookedModel, batches: Sequence[Rows]) -> Float[np.ndarray, " prompt"]:
    right = [
        model.logits(tokens).argmax(-1).cpu() == answers
        for rows in batches
        for tokens, answers in zip(rows.tokens.split(_ROWS), rows.answer.split(_ROWS), strict=True)
    ]
    return torch.cat(right).numpy().astype(np.float64)


def _sign_test(differences: Float[np.ndarray, "prompt column"]) -> Float[np.ndarray, " column"]:
    """One-sided p that no more prompts are above 0 than below; ties are left out."""
    above, below = (differences > 0).sum(0), (differences < 0).sum(0)
    return stats.binom.sf(above - 1, above + below, 0.5)


def _wilson(right: Float[np.ndarray, " prompt"]) -> tuple[float, float]:
    bounds = stats.binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    return float(bounds.low), float(bounds.high)
