"""Toggle curves: do gate scores predict what happens when heads are switched off?"""

import json
from typing import Any

import numpy as np
import torch
import xarray as xr

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.papers.head_gating.log_probs import NextTokenData, gate_texts, mean_log_prob, texts_at_once
from headcats.papers.head_gating.settings import THRESHOLD
from headcats.sweeps.gradients import leaving_no_graph
from headcats.sweeps.labels import check_axes

SCORES = ("facilitation", "irrelevance", "interference")


def toggle_curves(model: Any, data: NextTokenData, gates: xr.Dataset, *, threshold: float = THRESHOLD) -> xr.Dataset:
    """Log-probability of the targets while heads are switched off one after another, largest score first.

    The curve starts with the gates G+, under which only interfering heads are down; every step sets one more gate to 0.
    If the scores are right, it falls for facilitation, stays for irrelevance and rises (or stays, where heads were off
    already) for interference, as long as scores are high.

    Args:
        model: The model that the gates were fitted to.
        data: Texts, preferably not the fitted ones, as in `hc.methods.head_gating`.
        gates: What `head_gating` returns, for one data set: `gates.sel(dataset="...")`.
        threshold: Score from which a head counts for `change`.

    Returns:
        `log_prob (seed, score, heads_off)` in nats, mean over the target tokens of a text, then over texts; `layer_off,
        head_off (seed, score, heads_off)`, the head switched off last (-1 for none); `change (seed, score)`, log_prob
        with all heads of at least `threshold` off, minus that of G+; `n_high (seed, score)`, their number. NaN for
        seeds without gates. Coordinate `dataset` where the gates have one.

    Raises:
        DataError: Gates of several data sets or of another grid than the model's, or data that the model cannot take.

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> texts = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> gates = hc.methods.head_gating(model, texts, preset=few, n_seeds=1)
        >>> new_texts = hc.methods.task_texts("plural", n_prompts=2, n_demos=1, seed=1)
        >>> curves = hc.papers.head_gating.toggle_curves(model, new_texts, gates)
        >>> curves.log_prob.dims, curves.sizes["heads_off"]  # none off, one off, ... all 48
        (('seed', 'score', 'heads_off'), 49)
    """
    adapted = adapt(model)
    check_model(adapted)
    gates = _gates_of_one(adapted, gates)
    texts, n_heads = gate_texts(adapted, data, name="toggled"), len(adapted.heads)
    with leaving_no_graph(adapted):
        at_once = texts_at_once(adapted, texts)
    shape = (gates.sizes["seed"], len(SCORES), n_heads + 1)
    values = np.full(shape, np.nan)
    places = np.full((*shape, 2), -1)
    high = np.zeros(shape[:2], dtype=int)
    change = np.full(shape[:2], np.nan)
    for row, seed in enumerate(gates.seed.values):
        fitted = gates.sel(seed=seed).transpose("layer", "head", ...)
        if not bool(fitted.g_plus.notnull().any()):
            continue
        for column, score in enumerate(SCORES):
            scores = fitted[score].values
            # Ties in the order of layers and heads; NaN goes last.
            order = np.argsort(-scores, axis=None, kind="stable")[: int(np.isfinite(scores).sum())]
            layers, heads = np.unravel_index(order, scores.shape)
            opened = torch.from_numpy(np.nan_to_num(fitted.g_plus.values).astype(np.float32))
            curve = [mean_log_prob(adapted, texts, opened, at_once=at_once)]
            for layer, head in zip(layers, heads, strict=True):
                opened[layer, head] = 0
                curve.append(mean_log_prob(adapted, texts, opened, at_once=at_once))
            values[row, column] = curve
            places[row, column, 1:] = np.stack([np.array(adapted.layers)[layers], heads], axis=-1)
            high[row, column] = int((scores >= threshold).sum())
            change[row, column] = curve[high[row, column]] - curve[0]
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
        coords={
            "seed": gates.seed.values,
            "score": list(SCORES),
            "heads_off": list(range(n_heads + 1)),
            **({"dataset": str(gates.dataset.item())} if "dataset" in gates.coords else {}),
        },
        attrs={"method": "toggle_curves", "provenance": json.dumps(provenance)},
    )


def _gates_of_one(model: HookedModel, gates: xr.Dataset) -> xr.Dataset:
    missing = [name for name in ("g_plus", *SCORES) if name not in gates]
    if missing:
        raise DataError(f"toggle_curves takes what head_gating returns; {missing[0]!r} is missing.")
    if gates.sizes.get("dataset", 1) != 1:
        names = ", ".join(map(str, gates.dataset.values))
        raise DataError(f'Gates of one data set at a time: gates.sel(dataset="..."), one of {names}.')
    gates = gates.squeeze("dataset") if "dataset" in gates.dims else gates
    gates = gates if "seed" in gates.dims else gates.expand_dims("seed")
    check_axes(gates, model)
    return gates
