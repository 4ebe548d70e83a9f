"""The three stages of a fit from one random start: G0, and from it G+ and G-."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headcats.errors import DataError
from headcats.methods.head_gating.log_probs import existing_heads, log_prob_gradient, mean_log_prob, texts_at_once
from headcats.methods.head_gating.settings import GatingSettings, Stage
from headcats.methods.head_gating.texts import GateTexts
from headcats.models.adapter import HookedModel
from headcats.models.graphs import leaving_no_graph
from headcats.statistics.random_streams import stream

Advance = Callable[[int, int, str], None]
"""Called after every update with the number of updates done, of all updates, and the name of the stage."""

# theta of a gate drawn as 0 or 1 would be infinite.
_EDGE = 1e-6
# How far a pushed stage may raise its loss less push, as a share of what pushing all gates from one end of the clamp to
# the other gains: if G0 is at the end already, the noise of batches moves it a little.
_NOISE = 0.1


class GateFit(NamedTuple):
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
    advance: Advance = lambda done, of, stage: None,
) -> GateFit:
    """Three stages of Adam updates on `NLL - lambda * mean_heads clamp(theta)`, gates being sigmoid(theta).

    NLL is the mean over the target tokens of a text, then over the texts of a batch. Each stage has an Adam of its own.

    Args:
        model: The model; its weights stay as they are.
        texts: What is fitted; batches are drawn from it without replacement.
        held_out: What losses are measured on.
        settings: The constants.
        names: Data set and number of the seed, which name the random streams.
        seed: Seed of the streams.
        advance: See `Advance`.

    Raises:
        DataError: The fit diverges: a loss is not finite, G0 is not better than the random start, or G+ or G- ends
            above G0 in loss less push.
    """
    exists = existing_heads(model)
    with leaving_no_graph(model):
        theta = start(exists, names=names, seed=seed)
        at_once = texts_at_once(model, texts, held_out)
        losses = {"start": -mean_log_prob(model, held_out, theta.sigmoid(), at_once=at_once)}
        checked = texts.select(
            drawn(len(texts), max(settings.batch, len(held_out)), stream(seed, "head_gating", *names, "checked"))
        )
        thetas: dict[str, Tensor] = {}
        for number, stage in enumerate(settings.stages):
            draws = stream(seed, "head_gating", *names, stage.name)

            def gradient(theta: Tensor, draws: np.random.Generator = draws) -> tuple[float, Tensor]:
                places = drawn(len(texts), settings.batch, draws)
                return log_prob_gradient(model, texts, places, theta, at_once=at_once)

            def done(update: int, number: int = number, stage: Stage = stage) -> None:
                advance(number * settings.updates + update, 3 * settings.updates, stage.name)

            begin = thetas["g0"] if thetas else theta
            thetas[stage.name] = climb(gradient, begin, stage, settings=settings, exists=exists, names=names, done=done)
            losses[stage.name] = -mean_log_prob(model, held_out, thetas[stage.name].sigmoid(), at_once=at_once)
            check_fit(losses, names=names)
            if stage.push:
                before, after = (
                    Lowered(
                        -mean_log_prob(model, checked, theta.sigmoid(), at_once=at_once),
                        pushed(theta, stage.push, settings=settings, exists=exists),
                    )
                    for theta in (begin, thetas[stage.name])
                )
                check_pushed(before, after, stage, settings=settings, names=names)
    missing = torch.where(exists, 0.0, float("nan"))
    return GateFit({name: theta.sigmoid() + missing for name, theta in thetas.items()}, losses)


def start(exists: Tensor, *, names: tuple[str, ...], seed: int) -> Float[Tensor, "layer head"]:
    """Gates drawn uniformly from (0, 1), as theta."""
    uniform = stream(seed, "head_gating", *names, "start").random(tuple(exists.shape)).clip(_EDGE, 1 - _EDGE)
    return torch.logit(torch.from_numpy(uniform)).float().requires_grad_()


def drawn(n: int, batch: int, draws: np.random.Generator) -> list[int]:
    """Places of the texts of one update; all of them, in random order, if there are fewer than a batch."""
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
    """Theta after the updates of one stage.

    Args:
        gradient: theta -> the value to raise, and its gradient.
        begin: theta before the first update.
        stage: Push and learning rates.
        settings: Constants.
        exists: True for existing heads.
        names: Data set and number of the seed, for the message.
        done: Called after every update with the number of updates.

    Raises:
        DataError: The value or its gradient is not finite.
    """
    theta = begin.detach().clone().requires_grad_()
    adam = torch.optim.Adam([theta], lr=stage.rates[0])
    for update in range(settings.updates):
        value, uphill = gradient(theta)
        if not np.isfinite(value) or not bool(uphill.isfinite().all()):
            raise DataError(_diverged(names, f"the loss of update {update + 1} of {stage.name} is {-value}"))
        with torch.enable_grad():
            push = _push(theta, stage.push, settings=settings, exists=exists)
        theta.grad = -uphill - torch.autograd.grad(push, theta)[0]
        torch.nn.utils.clip_grad_norm_([theta], settings.max_norm)
        for group in adam.param_groups:
            group["lr"] = settings.rate(update, stage.rates)
        adam.step()
        done(update + 1)
    return theta.detach()


def _push(theta: Tensor, strength: float, *, settings: GatingSettings, exists: Tensor) -> Tensor:
    return strength * theta.clamp(-settings.clamp, settings.clamp)[exists].mean()


def pushed(theta: Tensor, strength: float, *, settings: GatingSettings, exists: Tensor) -> float:
    """`lambda * mean_heads clamp(theta)`, in nats: what a push of that strength takes off the loss."""
    return float(_push(theta.detach(), strength, settings=settings, exists=exists))


def check_fit(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
    """Raises DataError if the last loss is not finite, or G0 is not better than its start."""
    stage, loss = next(reversed(losses.items()))
    if not np.isfinite(loss):
        raise DataError(_diverged(names, f"the loss of held-out texts after {stage} is {loss}"))
    if stage == "g0":
        check_better(losses["start"], loss, quantity="the loss of held-out texts", stage=stage, names=names)


def check_better(before: float, after: float, *, quantity: str, stage: str, names: tuple[str, ...]) -> None:
    """Raises DataError if a quantity to be lowered is not below its value at the random start."""
    if not after < before:
        raise DataError(_diverged(names, f"{quantity} is {after:.4g} nats after {stage} and was {before:.4g} before"))


class Lowered(NamedTuple):
    """What a pushed stage lowers, in nats: the loss of fitted texts, less the push."""

    loss: float
    push: float

    @property
    def value(self) -> float:
        """The loss less the push."""
        return self.loss - self.push

    def __str__(self) -> str:
        return f"{self.value:.4g} nats ({self.loss:.4g} less {self.push:.4g})"


def check_pushed(
    before: Lowered, after: Lowered, stage: Stage, *, settings: GatingSettings, names: tuple[str, ...]
) -> None:
    """Raises DataError if G+ or G- ends above G0 in loss less push.

    The loss alone may rise, but not by more than the push gains. A tenth of the most that the push can gain, `2 *
    lambda * clamp`, passes as noise. Texts are fitted ones: what does not generalise is no divergence.
    """
    if after.value - before.value <= _NOISE * 2 * abs(stage.push) * settings.clamp:
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
