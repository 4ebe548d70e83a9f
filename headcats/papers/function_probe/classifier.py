"""A classifier of functions on the features of all heads: its training, and how much each head contributes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from headcats.base.errors import DataError
from headcats.papers.function_probe.settings import FunctionProbeSettings

# Texts per backward pass of the importance.
_CHUNK = 64
# A feature whose spread over the training texts is at most this share of the largest spread shows only rounding.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class FunctionClassifier:
    """A trained probe: `logits = output(relu(hidden(flattened u)))`, where `u` is a linear map of the standardised
    feature of each head, the same for all heads.
    """

    mean: Float[Tensor, "head feature"]
    scale: Float[Tensor, "head feature"]
    """1 / standard deviation over the training texts, 0 for a feature that does not vary."""
    parameters: tuple[Tensor, ...]
    """Weights and biases of projection, hidden and output, in this order."""

    def project(self, features: Float[Tensor, "text head feature"]) -> Float[Tensor, "text head projection"]:
        """`u`: what the shared projection makes of each head's feature."""
        return functional.linear((features - self.mean) * self.scale, self.parameters[0], self.parameters[1])

    def logits(
        self, projected: Float[Tensor, "text head projection"], *, kept: Float[Tensor, "text hidden"] | None = None
    ) -> Float[Tensor, "text function"]:
        """Class logits from `u`; `kept` multiplies the hidden units (dropout, in training only)."""
        _, _, weight, bias, out_weight, out_bias = self.parameters
        hidden = functional.relu(functional.linear(projected.flatten(1), weight, bias))
        return functional.linear(hidden if kept is None else hidden * kept, out_weight, out_bias)

    @torch.no_grad()
    def predict(self, features: Float[Tensor, "text head feature"]) -> Int[Tensor, " text"]:
        """The class of the largest logit, on the CPU."""
        parts = [self.logits(self.project(part)).argmax(1).cpu() for part in features.split(_CHUNK)]
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.long)


def fit_classifier(
    features: Float[Tensor, "text head feature"],
    classes: Int[Tensor, " text"],
    *,
    n_classes: int,
    settings: FunctionProbeSettings,
    seed: int,
    advance: Callable[[float], None] = lambda share: None,
) -> FunctionClassifier:
    """Train a probe by cross-entropy, on the device of the features.

    Initial weights (those of PyTorch's linear layers), the order of the texts and the dropout come from `seed` alone. A
    DataError if the mean training loss of the last epoch is not below ln(classes), that of a constant guess.
    """
    draws = torch.Generator().manual_seed(seed)
    n, heads, width = features.shape
    device = features.device
    mean, deviation = features.mean(0), features.std(0, correction=0)
    varies = deviation > _CONSTANT * deviation.max()
    scale = torch.where(varies, 1 / torch.where(varies, deviation, 1.0), 0.0)
    sizes = ((settings.projection, width), (settings.hidden, heads * settings.projection), (n_classes, settings.hidden))
    parameters = tuple(
        _uniform(shape, fan_in, draws).to(device).requires_grad_()
        for out, fan_in in sizes
        for shape in ((out, fan_in), (out,))
    )
    probe = FunctionClassifier(mean, scale, parameters)
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)
    loss = torch.zeros(())
    for epoch in range(settings.epochs):
        total = torch.zeros((), device=device)
        for places in torch.randperm(n, generator=draws).split(settings.batch_size):
            keep = torch.rand(len(places), settings.hidden, generator=draws) >= settings.dropout
            logits = probe.logits(
                probe.project(features[places.to(device)]), kept=keep.to(device) / (1 - settings.dropout)
            )
            step_loss = functional.cross_entropy(logits, classes[places].to(device))
            optimizer.zero_grad()
            step_loss.backward()
            optimizer.step()
            total += step_loss.detach() * len(places)
        loss = total / n
        advance((epoch + 1) / settings.epochs)
    _check_converged(float(loss), n_classes, settings)
    return FunctionClassifier(mean, scale, tuple(parameter.detach() for parameter in parameters))


def head_importance(
    probe: FunctionClassifier,
    features: Float[Tensor, "text head feature"],
    classes: Int[Tensor, " text"],
    *,
    n_classes: int,
) -> Float[Tensor, "function head"]:
    """Gradient x activation of each head: mean over the texts of class c of `mean_64(d logit_c / d u * u)`.

    `u` is the head's projected feature. Signed: positive = the head speaks for the function. In units of the class
    logit, not normalised. Only texts of class c count for c, whether the probe gets them right or not; NaN for a class
    without texts.
    """
    sums = torch.zeros(n_classes, features.shape[1], dtype=torch.float64)
    for places in torch.arange(len(classes)).split(_CHUNK):
        with torch.enable_grad():
            projected = probe.project(features[places.to(features.device)]).detach().requires_grad_()
            logits = probe.logits(projected)
            class_logits = logits.gather(1, classes[places].to(features.device)[:, None]).sum()
            (gradient,) = torch.autograd.grad(class_logits, projected)
        sums.index_add_(0, classes[places], (gradient * projected.detach()).mean(2).double().cpu())
    counts = torch.bincount(classes, minlength=n_classes)
    return (sums / torch.where(counts > 0, counts.double(), torch.nan)[:, None]).float()


def _check_converged(loss: float, n_classes: int, settings: FunctionProbeSettings) -> None:
    if loss < math.log(n_classes):
        return
    advice = "Give more texts per function or more epochs, or check that the functions differ at all"
    if not math.isfinite(loss):
        advice = "Look for infinite head outputs (a 16-bit model; load it in float32)"
    raise DataError(
        f"The function probe did not converge: after {settings.epochs} epochs its training loss is {loss:.3f}, and "
        f"guessing between {n_classes} functions gives {math.log(n_classes):.3f}. {advice}; or take a smaller "
        f"learning_rate than {settings.learning_rate:g} (FunctionProbeSettings)."
    )


def _uniform(shape: tuple[int, ...], fan_in: int, draws: torch.Generator) -> Tensor:
    return (2 * torch.rand(shape, generator=draws) - 1) / math.sqrt(fan_in)
