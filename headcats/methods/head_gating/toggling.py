"""Toggle curves: whether the scores of gates say what happens when heads are switched off."""

import json
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headcats.errors import DataError
from headcats.methods.head_gating.log_probs import existing_heads, mean_log_prob, texts_at_once
from headcats.methods.head_gating.texts import GateTexts, NextTokenData, gate_texts
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.graphs import leaving_no_graph

SCORES = ("facilitation", "irrelevance", "interference")


def toggle_curves(model: Any, data: NextTokenData, gates: xr.Dataset, *, threshold: float = 0.5) -> xr.Dataset:
    """Log-probability of the targets while heads are switched off one after another, those of the largest score first.

    The run starts with the gates G+, under which no head is down but those that interfere; every step sets one more
    gate to 0. For scores that are right the curve falls for facilitation, stays for irrelevance, and rises (or stays,
    where the heads were off already) for interference, as long as the scores are high.

    Args:
        model: The model that the gates were fitted to.
        data: Texts, best not those that were fitted: as in `hc.methods.head_gating`.
        gates: What `head_gating` returns, of one data set: `gates.sel(dataset="...")`.
        threshold: A score from which on a head counts for `change`.

    Returns:
        `log_prob (seed, score, heads_off)` in nats, mean over the target tokens of a text, then over texts;
        `layer_off, head_off (seed, score, heads_off)`, the head switched off last (-1 where none was); `change
        (seed, score)`, log_prob with all heads of at least `threshold` off, minus that of G+; `n_high (seed, score)`,
        how many these are. NaN for seeds without gates.

    Raises:
        DataError: Gates of several data sets or of another grid than the model's, or data that it cannot take.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> few = hc.methods.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> texts = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> gates = hc.methods.head_gating(model, texts, preset=few, n_seeds=1)
        >>> new_texts = hc.methods.task_texts("plural", n_prompts=2, n_demos=1, seed=1)
        >>> curves = hc.methods.head_gating.toggle_curves(model, new_texts, gates)
        >>> curves.log_prob.dims, curves.sizes["heads_off"]  # none off, one off, ... all 48
        (('seed', 'score', 'heads_off'), 49)

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.
    """
    adapted = adapt(model)
    check_model(adapted)
    gates = _of_one_data_set(adapted, gates)
    texts, n_heads = gate_texts(adapted, data, name="toggled"), int(existing_heads(adapted).sum())
    with leaving_no_graph(adapted):
        at_once = texts_at_once(adapted, texts)
    shape = (gates.sizes["seed"], len(SCORES), n_heads + 1)
    values = np.full(shape, np.nan)
    places = np.full((*shape, 2), -1)
    high = np.zeros(shape[:2], dtype=int)
    change = np.full(shape[:2], np.nan)
    for row, seed in enumerate(gates.seed.values):
        fitted = gates.sel(seed=seed)
        if not bool(fitted.g_plus.notnull().any()):
            continue
        for column, score in enumerate(SCORES):
            scores = fitted[score].transpose("layer", "head").values
            order = _descending(scores)
            opened = torch.from_numpy(_filled(fitted.g_plus))
            values[row, column] = _curve(adapted, texts, opened, order, at_once=at_once)
            places[row, column, 1:] = [(adapted.layers[layer], head) for layer, head in order]
            high[row, column] = int((scores[tuple(order.T)] >= threshold).sum())
            change[row, column] = values[row, column, high[row, column]] - values[row, column, 0]
    axes = ("seed", "score", "heads_off")
    provenance = {"method": "toggle_curves", "model": adapted.name, "n": str(len(texts)), "threshold": str(threshold)}
    return xr.Dataset(
        {
            "log_prob": (axes, values),
            "layer_off": (axes, places[..., 0]),
            "head_off": (axes, places[..., 1]),
            "change": (axes[:2], change),
            "n_high": (axes[:2], high),
        },
        coords={"seed": gates.seed.values, "score": list(SCORES), "heads_off": list(range(n_heads + 1))},
        attrs={"method": "toggle_curves", "provenance": json.dumps(provenance)},
    )


def _of_one_data_set(model: HookedModel, gates: xr.Dataset) -> xr.Dataset:
    missing = [name for name in ("g_plus", *SCORES) if name not in gates]
    if missing:
        raise DataError(f"toggle_curves takes what head_gating returns; {missing[0]!r} is missing.")
    if gates.sizes.get("dataset", 1) != 1:
        names = ", ".join(map(str, gates.dataset.values))
        raise DataError(f'Gates of one data set at a time: gates.sel(dataset="..."), one of {names}.')
    gates = gates.squeeze("dataset") if "dataset" in gates.dims else gates
    gates = gates if "seed" in gates.dims else gates.expand_dims("seed")
    if gates.layer.values.tolist() != list(model.layers) or gates.sizes["head"] != model.max_heads:
        raise DataError(f"The gates have another grid of layers and heads than model {model.name!r}.")
    return gates


def _filled(gates: xr.DataArray) -> np.ndarray:
    # Places of heads that a layer lacks are never read.
    return np.nan_to_num(gates.transpose("layer", "head").values).astype(np.float32)


def _descending(scores: np.ndarray) -> np.ndarray:
    """Row and head of each existing head, the largest score first; ties in the order of layers and heads."""
    order = np.argsort(-scores, axis=None, kind="stable")  # NaN goes last
    places = np.stack(np.unravel_index(order, scores.shape), axis=1)
    return places[: int(np.isfinite(scores).sum())]


def _curve(model: HookedModel, texts: GateTexts, gates: Tensor, order: np.ndarray, *, at_once: int) -> list[float]:
    values = [mean_log_prob(model, texts, gates, at_once=at_once)]
    for layer, head in order:
        gates[layer, head] = 0
        values.append(mean_log_prob(model, texts, gates, at_once=at_once))
    return values
