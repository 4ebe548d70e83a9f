"""The fit of gates to one data set, from one random start: G0, and from it G+ and G-."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headcats.errors import DataError
from headcats.gates.log_probs import existing_heads, log_prob_gradient, mean_log_prob, texts_at_once
from headcats.gates.settings import GatingSettings, Stage
from headcats.gates.texts import GateTexts
from headcats.models import HookedModel
from headcats.models.graphs import leaving_no_graph
from headcats.streams import stream

Advance = Callable[[int, int, str], None]
"""Called after every update with the number of updates done, of all updates, and the name of the stage."""

# theta of a gate drawn as 0 or 1 would be infinite.
_EDGE = 1e-6


def no_progress(done: int, of: int, stage: str) -> None:
    """For fits that nobody watches."""


@dataclass(frozen=True)
class GateFit:
    """Gates fitted from one start.

    Attributes:
        gates: Stage -> gates in [0, 1], NaN for heads that a layer lacks.
        losses: "start" and each stage -> mean negative log-probability of the held-out targets, in nats.
    """

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
    advance: Advance = no_progress,
) -> GateFit:
    """Three stages of Adam updates on `NLL - lambda * mean_heads clamp(theta)`, gates being sigmoid(theta).

    NLL is the mean over the target tokens of a text, then over the texts of a batch. Each stage has an Adam of its own.

    Args:
        model: The model; its weights stay as they are.
        texts: What is fitted; each batch is drawn from it without replacement.
        held_out: What losses are measured on.
        settings: The constants.
        names: Data set and number of the fit: they name the random streams, so that a fit does not depend on others.
        seed: Seed of the streams.
        advance: See `Advance`.

    Raises:
        DataError: The fit diverges: a loss is no number, or G0 is not better than the random start.
    """
    exists = existing_heads(model)
    with leaving_no_graph(model):
        theta = start(exists, names=names, seed=seed)
        at_once = texts_at_once(model, texts, held_out)
        losses = {"start": -mean_log_prob(model, held_out, theta.sigmoid(), at_once=at_once)}
        found: dict[str, Tensor] = {}
        for number, stage in enumerate(settings.stages):
            draws = stream(seed, "head_gating", *names, stage.name)

            def gradient(theta: Tensor, draws: np.random.Generator = draws) -> tuple[float, Tensor]:
                places = drawn(len(texts), settings.batch, draws)
                return log_prob_gradient(model, texts, places, theta, at_once=at_once)

            def done(update: int, number: int = number, stage: Stage = stage) -> None:
                advance(number * settings.updates + update, 3 * settings.updates, stage.name)

            begin = found["g0"] if found else theta
            found[stage.name] = climb(gradient, begin, stage, settings=settings, exists=exists, names=names, done=done)
            losses[stage.name] = -mean_log_prob(model, held_out, found[stage.name].sigmoid(), at_once=at_once)
            check_fit(losses, names=names)
    missing = torch.where(exists, 0.0, float("nan"))
    return GateFit({name: theta.sigmoid() + missing for name, theta in found.items()}, losses)


def start(exists: Tensor, *, names: tuple[str, ...], seed: int) -> Float[Tensor, "layer head"]:
    """Gates drawn evenly from (0, 1), as theta."""
    uniform = stream(seed, "head_gating", *names, "start").random(tuple(exists.shape)).clip(_EDGE, 1 - _EDGE)
    return torch.logit(torch.from_numpy(uniform)).float().requires_grad_()


def drawn(n: int, batch: int, draws: np.random.Generator) -> list[int]:
    """Places of the texts of one update; all of them, in random order, where there are fewer than a batch."""
    return draws.choice(n, min(batch, n), replace=False).tolist()


def climb(
    gradient: Callable[[Tensor], tuple[float, Tensor]],
    begin: Float[Tensor, "layer head"],
    stage: Stage,
    *,
    settings: GatingSettings,
    exists: Tensor,
    names: tuple[str, ...],
    done: Callable[[int], None],
) -> Float[Tensor, "layer head"]:
    """The updates of one stage; returns theta after them.

    Args:
        gradient: theta -> what is to be raised, and its gradient.
        begin: theta before the first update.
        stage: Push and learning rates.
        settings: Constants.
        exists: Heads that there are.
        names: For the message.
        done: Called after every update with the number of updates.

    Raises:
        DataError: What is to be raised is no number any more.
    """
    theta = begin.detach().clone().requires_grad_()
    adam = torch.optim.Adam([theta], lr=stage.rates[0])
    for update in range(settings.updates):
        value, uphill = gradient(theta)
        if not np.isfinite(value) or not bool(uphill.isfinite().all()):
            raise DataError(_diverged(names, f"the loss of update {update + 1} of {stage.name} is {-value}"))
        with torch.enable_grad():
            push = stage.push * theta.clamp(-settings.clamp, settings.clamp)[exists].mean()
        theta.grad = -uphill - torch.autograd.grad(push, theta)[0]
        torch.nn.utils.clip_grad_norm_([theta], settings.max_norm)
        for group in adam.param_groups:
            group["lr"] = settings.rate(update, stage.rates)
        adam.step()
        done(update + 1)
    return theta.detach()


def check_fit(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
    """Refuse a fit whose last loss is no number, or whose G0 is not better than its start.

    Raises:
        DataError: The message names the losses.
    """
    stage, loss = next(reversed(losses.items()))
    if not np.isfinite(loss):
        raise DataError(_diverged(names, f"the loss of held-out texts after {stage} is {loss}"))
    if stage == "g0" and not loss < losses["start"]:
        before = f"the loss of held-out texts is {loss:.4g} nats after {stage} and was {losses['start']:.4g} before"
        raise DataError(_diverged(names, before))


def _diverged(names: tuple[str, ...], what: str) -> str:
    return (
        f"The fit of gates to data set {names[0]!r}, seed {names[1]}, diverged: {what}. Look whether the model can "
        "predict these targets (open_loss of another seed); give more texts, load the model in float32, or take "
        "smaller learning rates (GatingSettings). Other seeds are not touched."
    )
