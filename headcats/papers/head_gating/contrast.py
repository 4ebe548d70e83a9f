"""Contrastive gates: which heads one data set needs and another does not."""

import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.errors import StatisticsWarning
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.graphs import leaving_no_graph
from headcats.papers.head_gating.log_probs import existing_heads, log_prob_gradient, text_log_probs, texts_at_once
from headcats.papers.head_gating.pairing import paired, unpaired
from headcats.papers.head_gating.random_starts import fit_each
from headcats.papers.head_gating.settings import N_SEEDS, PRESETS, GatingSettings, Stage
from headcats.papers.head_gating.stages import check_better, climb, drawn, pushed, start
from headcats.papers.head_gating.texts import GateTexts, NextTokenData, gate_texts
from headcats.registry import preset_of
from headcats.statistics.random_streams import stream

_NAME = "contrastive_gates"


def contrastive_gates(
    model: Any,
    retain: NextTokenData,
    forget: NextTokenData,
    *,
    preset: str | GatingSettings = "chg2025",
    n_seeds: int = N_SEEDS,
    seed: int = 0,
) -> xr.Dataset:
    """Gates under which a model keeps one kind of text and forgets another; a gate near 0 marks a head of the latter.

    Gates `G = sigmoid(theta)` multiply z of every head at all positions, and Adam lowers
    `mean_pairs [-logp_retain + clamp(logp_forget - stopgrad(logp_retain), min=-5)] - 0.1 mean_heads clamp(theta, -4,
    4)` from G ~ U(0, 1): 500 updates, learning rate .1 to .01, 64 pairs of a text of each kind. `logp` is the mean over
    the target tokens of a text. A text is forgotten until it is 5 nats less likely than the one of its pair that is
    retained, and heads that neither kind needs stay on.

    Texts of the same item (the same question, asked in two ways) are a pair, as in the paper, and held out together,
    whatever their order and lengths; their tasks may differ. Texts without an item are the same by their place, if both
    kinds have as many. What has no partner is left out. Where that leaves less than half of the smaller kind, pairs are
    drawn at random from all texts.

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
        gates at the start, and with the fitted ones; `retain_batch` and `forget_batch (seed, update)`, that of the
        texts of each update, before it. Seeds that diverge are left out, with a warning: a loss is not finite, or the
        loss on held-out texts is not below that of the random start. `hc.figures.gate_contrast` draws it.

    Raises:
        DataError: Texts that the model cannot take, fewer than two items of a kind, or every seed diverges.
        UnknownNameError, OptionError: Unknown preset, or fewer than one seed.
        ModelError: A model without gradients, or that fails the checks.

    Warns:
        StatisticsWarning: Pairs at random, texts without a partner, texts that the model cannot take, or seeds that
            diverge.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> keep = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> drop = hc.methods.task_texts("plural", n_prompts=16, n_demos=0)
        >>> fit = hc.papers.head_gating.contrastive_gates(hc.load_model("mini"), keep, drop, preset=few, n_seeds=1)
        >>> fit.gate.dims, bool(0 <= fit.gate.min() and fit.gate.max() <= 1)
        (('seed', 'layer', 'head'), True)

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.
    """
    settings, adapted = preset_of("head_gating", preset, PRESETS), adapt(model)
    check_model(adapted)
    read = {kind: gate_texts(adapted, data, name=kind) for kind, data in (("retain", retain), ("forget", forget))}
    pairs = paired(**read)
    chosen = dict(zip(read, pairs, strict=True)) if pairs else read
    # The same streams give the same draws: texts of the same items stay together.
    streams = {kind: "pairs" if pairs else kind for kind in read}
    kinds = {
        kind: texts.split(settings.held_out, stream(seed, _NAME, streams[kind], "held out"))
        for kind, texts in chosen.items()
    }
    messages = [f"Texts to {kind}: {texts.left_out}." for kind, texts in read.items() if texts.left_out]
    for message in filter(None, [*messages, unpaired(**read, both=pairs)]):
        warnings.warn(message, StatisticsWarning, stacklevel=2)
    fits = fit_each(lambda number: _fit(adapted, kinds, streams, settings=settings, number=number, seed=seed), n_seeds)
    provenance = {"method": _NAME, "model": adapted.name, "settings": repr(settings), "seed": str(seed)}
    provenance |= {"pairs": "of the same items" if pairs else "at random"}
    log_probs = {
        name: (("seed", dim), np.array([getattr(fit, side)[kind] for fit in fits.values()]))
        for side, dim, suffix in (("held_out", "when", ""), ("batches", "update", "_batch"))
        for kind, name in ((kind, kind + suffix) for kind in kinds)
    }
    return xr.Dataset(
        {"gate": (("seed", "layer", "head"), torch.stack([fit.gates for fit in fits.values()]).numpy()), **log_probs},
        coords={
            "seed": list(fits),
            **adapted.axes,
            "when": ["open", "start", "fitted"],
            "update": np.arange(1, settings.updates + 1),
        },
        attrs={"method": _NAME, "provenance": json.dumps(provenance)},
    )


class _Fit(NamedTuple):
    """Gates from one start; by kind the mean log-probabilities of held-out texts, and of the batch of each update."""

    gates: Float[Tensor, "layer head"]
    held_out: dict[str, list[float]]
    batches: dict[str, list[float]]


def _fit(
    model: HookedModel,
    kinds: dict[str, tuple[GateTexts, GateTexts]],
    streams: dict[str, str],
    *,
    settings: GatingSettings,
    number: int,
    seed: int,
) -> _Fit:
    exists, names = existing_heads(model), ("contrast", str(number))
    draws = {kind: stream(seed, _NAME, streams[kind], str(number)) for kind in kinds}
    batch = min(settings.batch, *(len(fitted) for fitted, _ in kinds.values()))
    stage = Stage("contrast", settings.push, settings.first_rates)
    batches: dict[str, list[float]] = {kind: [] for kind in kinds}
    with leaving_no_graph(model):
        begin = start(exists, names=names, seed=seed)
        at_once = {kind: texts_at_once(model, *both) for kind, both in kinds.items()}

        def of_batch(kind: str, theta: Tensor, least: Tensor | None = None) -> tuple[Tensor, Tensor]:
            fitted, _ = kinds[kind]
            places = drawn(len(fitted), batch, draws[kind])
            log_probs, gradient = log_prob_gradient(model, fitted, places, theta, at_once=at_once[kind], least=least)
            batches[kind].append(float(log_probs.mean()))
            return log_probs, gradient

        def gradient(theta: Tensor) -> tuple[float, Tensor]:
            retained, retain_gradient = of_batch("retain", theta)
            # Below the floor the clamp is flat: the text is forgotten.
            forgotten, forget_gradient = of_batch("forget", theta, retained + settings.forget_floor)
            return -_lowered(retained, forgotten, settings.forget_floor), retain_gradient - forget_gradient

        theta = climb(gradient, begin, stage, settings=settings, exists=exists, names=names, done=lambda updates: None)
        gates = (torch.ones_like(theta), begin.detach().sigmoid(), theta.sigmoid())
        log_probs = {
            kind: [text_log_probs(model, held_out, gate, at_once=at_once[kind]) for gate in gates]
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
    means = {kind: [float(values.mean()) for values in of_kind] for kind, of_kind in log_probs.items()}
    return _Fit(gates[-1] + torch.where(exists, 0.0, float("nan")), means, batches)


def _lowered(kept: Float[Tensor, " text"], lost: Float[Tensor, " other"], floor: float) -> float:
    """The loss without the push, from the log-probabilities of both kinds; as many pairs as the smaller has texts."""
    n = min(len(kept), len(lost))
    return float((lost[:n] - kept[:n]).clamp(min=floor).mean() - kept.mean())
