"""Contrastive gates: which heads one data set needs and another does not."""

import json
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headcats.methods.head_gating.log_probs import existing_heads, log_prob_gradient, mean_log_prob, texts_at_once
from headcats.methods.head_gating.random_starts import fit_each
from headcats.methods.head_gating.settings import PRESETS, GatingSettings, Stage
from headcats.methods.head_gating.stages import check_better, climb, drawn, pushed, start
from headcats.methods.head_gating.texts import GateTexts, NextTokenData, gate_texts
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.graphs import leaving_no_graph
from headcats.registry import preset_of
from headcats.statistics.random_streams import stream

_NAME = "contrastive_gates"


def contrastive_gates(
    model: Any,
    retain: NextTokenData,
    forget: NextTokenData,
    *,
    preset: str | GatingSettings = "chg2025",
    n_seeds: int = 10,
    seed: int = 0,
) -> xr.Dataset:
    """Gates under which a model keeps one kind of text and forgets another; a gate near 0 marks a head of the latter.

    Gates `G = sigmoid(theta)` multiply z of every head at all positions, and Adam lowers
    `-logp_retain + clamp(logp_forget - stopgrad(logp_retain), min=-5) - 0.1 mean_heads clamp(theta, -4, 4)` from
    G ~ U(0, 1): 500 updates, learning rate .1 to .01, 64 texts of each kind. `logp` is the mean over the target tokens
    of a text, then over the texts of the batch. Texts are forgotten until they are 5 nats less likely than those
    retained, and heads that neither kind needs stay on.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        retain: Texts to keep: `AnsweredText`s, or `AnsweredBatch`es for a model without tokenizer.
        forget: Texts to forget, likewise.
        preset: "chg2025", "chg-mini" or `GatingSettings`.
        n_seeds: Random starts, numbered from 0, independent of each other.
        seed: Seed of every random choice.

    Returns:
        `gate (seed, layer, head)` in [0, 1], NaN for heads that a layer lacks; `retain` and `forget (seed, when)`, the
        mean log-probability in nats of held-out texts (an eighth of the items) with all gates open, with the random
        gates at the start, and with the fitted ones. Seeds that diverge are left out, with a warning: a loss is not
        finite, or the loss on held-out texts is not below that of the random start.

    Raises:
        DataError: Texts that the model cannot take, fewer than two items of a kind, or every seed diverges.
        UnknownNameError, OptionError: Unknown preset, or fewer than one seed.
        ModelError: A model without gradients, or that fails the checks.

    Example:
        >>> import headcats as hc
        >>> few = hc.methods.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> keep = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> drop = hc.methods.task_texts("country_capital", n_prompts=16, n_demos=2)
        >>> fit = hc.methods.head_gating.contrastive_gates(hc.load_model("mini"), keep, drop, preset=few, n_seeds=1)
        >>> fit.gate.dims, bool(0 <= fit.gate.min() and fit.gate.max() <= 1)
        (('seed', 'layer', 'head'), True)

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.
    """
    settings, adapted = preset_of("head_gating", preset, PRESETS), adapt(model)
    check_model(adapted)
    kinds = {
        kind: gate_texts(adapted, data, name=kind).split(settings.held_out, stream(seed, _NAME, kind, "held out"))
        for kind, data in (("retain", retain), ("forget", forget))
    }
    fits = fit_each(lambda number: _fit(adapted, kinds, settings=settings, number=number, seed=seed), n_seeds)
    provenance = {"method": _NAME, "model": adapted.name, "settings": repr(settings), "seed": str(seed)}
    probs = {kind: (("seed", "when"), np.array([log_probs[kind] for _, log_probs in fits.values()])) for kind in kinds}
    return xr.Dataset(
        {"gate": (("seed", "layer", "head"), torch.stack([gates for gates, _ in fits.values()]).numpy()), **probs},
        coords={"seed": list(fits), **adapted.axes, "when": ["open", "start", "fitted"]},
        attrs={"method": _NAME, "provenance": json.dumps(provenance)},
    )


def _fit(
    model: HookedModel,
    kinds: dict[str, tuple[GateTexts, GateTexts]],
    *,
    settings: GatingSettings,
    number: int,
    seed: int,
) -> tuple[Tensor, dict[str, list[float]]]:
    exists, names = existing_heads(model), ("contrast", str(number))
    draws = {kind: stream(seed, _NAME, kind, str(number)) for kind in kinds}
    stage = Stage("contrast", settings.push, settings.first_rates)
    with leaving_no_graph(model):
        begin = start(exists, names=names, seed=seed)
        at_once = {kind: texts_at_once(model, *both) for kind, both in kinds.items()}

        def gradient(theta: Tensor) -> tuple[float, Tensor]:
            (retained, retain_gradient), (forgotten, forget_gradient) = (
                log_prob_gradient(
                    model, texts, drawn(len(texts), settings.batch, draws[kind]), theta, at_once=at_once[kind]
                )
                for kind, (texts, _) in kinds.items()
            )
            apart = forgotten - retained
            # Below the floor the clamp is flat: the texts are forgotten.
            pull = forget_gradient if apart >= settings.forget_floor else torch.zeros_like(forget_gradient)
            return -_lowered(retained, forgotten, settings.forget_floor), retain_gradient - pull

        theta = climb(gradient, begin, stage, settings=settings, exists=exists, names=names, done=lambda updates: None)
        gates = (torch.ones_like(theta), begin.detach().sigmoid(), theta.sigmoid())
        log_probs = {
            kind: [mean_log_prob(model, held_out, gate, at_once=at_once[kind]) for gate in gates]
            for kind, (_, held_out) in kinds.items()
        }
        before, after = (
            _lowered(log_probs["retain"][when], log_probs["forget"][when], settings.forget_floor)
            - pushed(gate, stage.push, settings=settings, exists=exists).item()
            for when, gate in ((1, begin), (2, theta))
        )
        quantity = (
            "the loss on held-out texts (of retained texts, plus the difference to forgotten ones, less the push)"
        )
        check_better(before, after, quantity=quantity, stage=stage.name, names=names)
    return gates[-1] + torch.where(exists, 0.0, float("nan")), log_probs


def _lowered(kept: float, lost: float, floor: float) -> float:
    """The loss without the push, from the mean log-probabilities of both kinds."""
    apart = lost - kept
    # NaN must not pass for a difference below the floor.
    return (max(apart, floor) if np.isfinite(apart) else apart) - kept
