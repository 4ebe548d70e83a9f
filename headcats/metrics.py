"""Metrics: logits at the last position -> one number per prompt. Higher is always better, always in fp32.

A metric is a function of the logits and the `Targets`; decorate another one with `@metric` to use it by its name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.errors import ModelError
from headcats.registry import lookup, register

Metric = Callable[[Float[Tensor, "row vocab"], "Targets"], Float[Tensor, " row"]]
AnyMetric = TypeVar("AnyMetric", bound=Metric)


@dataclass(frozen=True)
class Targets:
    """What the logits of each row are compared with.

    Attributes:
        answer: Right token.
        distractor: Token that the corrupted prompt suggests.
        clean_logits: Logits of the row's clean run, for `kl`.
    """

    answer: Int[Tensor, " row"]
    distractor: Int[Tensor, " row"]
    clean_logits: Float[Tensor, "row vocab"]

    def select(self, rows: slice) -> "Targets":
        """Some of the rows."""
        return Targets(self.answer[rows], self.distractor[rows], self.clean_logits[rows])

    def repeat(self, times: int) -> "Targets":
        """The same rows again and again, for patched copies of a batch."""
        return Targets(self.answer.repeat(times), self.distractor.repeat(times), self.clean_logits.repeat(times, 1))


def metric(function: AnyMetric) -> AnyMetric:
    """Decorator: register `f(logits, targets) -> one number per row` as a metric under its own name.

    It must be higher for a better answer and should not change when a constant is added to all logits of a row.
    """
    register("metric", function.__name__, function)
    return function


def measure(
    names: tuple[str, ...], logits: Float[Tensor, "row vocab"], targets: Targets
) -> Float[Tensor, "metric row"]:
    """Several metrics of the same logits.

    Raises:
        UnknownNameError: A name that is no registered metric.
        ModelError: NaN logits, which some metrics would read as a perfect answer.
    """
    logits = logits.float()
    if bool(logits.isnan().any()):
        raise ModelError("The model gives NaN logits: numbers overflow in this dtype. Load it in float32.")
    return torch.stack([lookup("metric", name)(logits, targets) for name in names])


@metric
def logit_diff(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Answer logit minus distractor logit, in nats. The primary metric (Wang et al. 2022, arXiv 2211.00593)."""
    return _at(logits, targets.answer) - _at(logits, targets.distractor)


@metric
def log_prob(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Log-probability of the answer, in nats; at most 0."""
    return _at(logits.log_softmax(-1), targets.answer)


@metric
def prob(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Probability of the answer, in [0, 1]."""
    return _at(logits.softmax(-1), targets.answer)


@metric
def kl(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Minus the divergence KL(p_clean || p_run), in nats: 0 for the clean run itself, else below 0."""
    clean = targets.clean_logits.float().log_softmax(-1)
    return -(clean.exp() * (clean - logits.log_softmax(-1))).sum(-1)


@metric
def rank(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """-ln(1 + number of tokens with a larger logit than the answer): 0 when the answer is on top."""
    larger = logits > _at(logits, targets.answer)[:, None]
    return -torch.log1p(larger.sum(-1).float())


@metric
def accuracy(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """1 where the answer has the largest logit of the whole vocabulary, else 0."""
    return (logits.argmax(-1) == targets.answer).float()


def _at(values: Float[Tensor, "row vocab"], ids: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
    return values.gather(-1, ids[:, None]).squeeze(-1)
