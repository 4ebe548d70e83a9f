"""The three stages of a fit from one random start: G0, and from it G+ and G-."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.papers.gradients import leaving_no_graph
from headcats.papers.head_gating.log_probs import (
    GateTexts,
    existing_heads,
    log_prob_gradient,
    mean_log_prob,
    texts_at_once,
)
from headcats.papers.head_gating.settings import GatingSettings, Stage
from headcats.statistics.random_streams import stream

Advance = Callable[[int, int, str], None]
"""Called after every update with the number of updates done, of all updates, and the name of the stage."""

# theta of a gate drawn as 0 or 1 would be infinite.
_EDGE = 1e-6
# How far a pushed stage may raise its loss less push, as a share of what pushing all gates from one end of the clamp to
# the other gains: if G0 is at the end already, the noise of batches moves it a little.
_NOISE = 0.1


class GateFit(NamedTuple):
    """Stage -> gates, NaN for missing heads; "open", "start" and stages -> NLL of held-out targets, in nats."""

    gates: dict[str, Float[Tensor, "layer head"]]
    losses: dict[str, float]


def fit_gates(
    model: HookedModel,
    texts: GateTexts,
    held_out: GateTexts,
    *,
    settings: GatingSettings,
    names: tuple[str, ...],
    seed: int,
    advance: Advance = lambda done, of, stage: None,
) -> GateFit:
    """Three stages, each with an Adam of its own; `names`, data set and number of the seed, name the random streams.

    A fit diverges (DataError) if a loss is not finite, G0 is not better than its start, or G+ or G- ends above G0.
    """
    exists = existing_heads(model)
    draws_of = partial(stream, seed, "head_gating", *names)
    with leaving_no_graph(model):
        at_once = texts_at_once(model, texts, held_out)

        def loss(measured: GateTexts, theta: Tensor) -> float:
            return -mean_log_prob(model, measured, theta.sigmoid(), at_once=at_once)

        theta = start(exists, names=names, seed=seed)
        losses = {"open": loss(held_out, torch.full_like(theta, torch.inf)), "start": loss(held_out, theta)}
        checked = texts.select(drawn(len(texts), max(settings.batch, len(held_out)), draws_of("checked")))
        thetas: dict[str, Tensor] = {}
        for number, stage in enumerate(settings.stages):

            def done(update: int, before: int = number * settings.updates, name: str = stage.name) -> None:
                advance(before + update, 3 * settings.updates, name)

            begin = thetas.get("g0", theta)
            climb = partial(_climbed, model, texts, at_once=at_once, settings=settings, names=names, done=done)
            end = climb(begin, stage, draws=draws_of(stage.name))
            thetas[stage.name], losses[stage.name] = end, loss(held_out, end)
            check_fit(losses, names=names)
            if stage.push:
                before, after = (
                    Lowered(loss(checked, theta), pushed(theta, stage.push, settings=settings, exists=exists).item())
                    for theta in (begin, end)
                )
                check_pushed(before, after, stage, settings=settings, names=names)
    missing = torch.where(exists, 0.0, torch.nan)
    return GateFit({name: theta.sigmoid() + missing for name, theta in thetas.items()}, losses)


def start(exists: Tensor, *, names: tuple[str, ...], seed: int) -> Float[Tensor, "layer head"]:
    """Gates drawn uniformly from (0, 1), as theta."""
    uniform = stream(seed, "head_gating", *names, "start").random(tuple(exists.shape)).clip(_EDGE, 1 - _EDGE)
    return torch.logit(torch.from_numpy(uniform)).float().requires_grad_()


def drawn(n: int, batch: int, draws: np.random.Generator) -> list[int]:
    """Places of the texts of one update; all of them, in random order, if there are fewer than a batch."""
    return draws.choice(n, min(batch, n), replace=False).tolist()


def _climbed(
    model: HookedModel,
    texts: GateTexts,
    begin: Float[Tensor, "layer head"],
    stage: Stage,
    *,
    draws: np.random.Generator,
    at_once: int,
    settings: GatingSettings,
    names: tuple[str, ...],
    done: Callable[[int], None],
) -> Float[Tensor, "layer head"]:
    """Theta after the updates of one stage."""
    theta, exists = begin.detach().clone().requires_grad_(), existing_heads(model)
    adam = torch.optim.Adam([theta], lr=stage.rates[0])
    for update in range(settings.updates):
        places = drawn(len(texts), settings.batch, draws)
        log_probs, uphill = log_prob_gradient(model, texts, places, theta, at_once=at_once)
        value = float(log_probs.mean())
        if not np.isfinite(value) or not bool(uphill.isfinite().all()):
            raise DataError(_diverged(names, f"the loss of update {update + 1} of {stage.name} is {-value}"))
        with torch.enable_grad():
            push = pushed(theta, stage.push, settings=settings, exists=exists)
        theta.grad = -uphill - torch.autograd.grad(push, theta)[0]
        torch.nn.utils.clip_grad_norm_([theta], settings.max_norm)
        for group in adam.param_groups:
            group["lr"] = settings.rate(update, stage.rates)
        adam.step()
        done(update + 1)
    return theta.detach()


def pushed(theta: Tensor, strength: float, *, settings: GatingSettings, exists: Tensor) -> Tensor:
    """`lambda * mean_heads clamp(theta)`, in nats: what a push of that strength takes off the loss."""
    return strength * theta.clamp(-settings.clamp, settings.clamp)[exists].mean()


def check_fit(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
    """Refuse a last loss that is not finite, and a G0 that is not better than its start."""
    stage, loss = next(reversed(losses.items()))
    if not np.isfinite(loss):
        raise DataError(_diverged(names, f"the loss of held-out texts after {stage} is {loss}"))
    if stage == "g0" and not loss < losses["start"]:
        before = f"and was {losses['start']:.4g} before"
        raise DataError(_diverged(names, f"the loss of held-out texts is {loss:.4g} nats after {stage} {before}"))


class Lowered(NamedTuple):
    """Objective of a pushed stage, in nats: the loss of fitted texts, less the push."""

    loss: float
    push: float

    def __float__(self) -> float:
        return self.loss - self.push

    def __str__(self) -> str:
        return f"{float(self):.4g} nats ({self.loss:.4g} less {self.push:.4g})"


def check_pushed(
    before: Lowered, after: Lowered, stage: Stage, *, settings: GatingSettings, names: tuple[str, ...]
) -> None:
    """Refuse G+ or G- above G0 in loss less push, on fitted texts, by more than a tenth of the most a push can gain."""
    if float(after) - float(before) <= _NOISE * 2 * abs(stage.push) * settings.clamp:
        return
    problem = f"{stage.name} ends above its start in the loss less the push: {after} after, {before} before"
    raise DataError(_diverged(names, problem))


def _diverged(names: tuple[str, ...], problem: str) -> str:
    return (
        f"The fit of gates to data set {names[0]!r}, seed {names[1]}, diverged: {problem}. Check that the model can "
        "predict these targets (open_loss of another seed); give more texts, load the model in float32, or take "
        "smaller learning rates or a smaller max_norm, or more updates if it hardly moved (GatingSettings). Other "
        "seeds are not affected."
    )
