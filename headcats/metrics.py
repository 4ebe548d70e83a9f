"""Metrics: logits at the last position -> one number per prompt. Higher is always better, always in fp32.

A study names them: `hc.run(model, metrics=["logit_diff", "prob"])`.

## Metrics

`logit_diff` is the primary one. `log_prob` and `prob` look at the answer alone, `kl` at all tokens, `rank` and
`accuracy` count.

## Add one

A metric is a function of the logits and the `Targets`; decorate another one with `metric` to use it by its name. It
declares its `MetricTraits`, which `metric_traits` looks up; `measure` computes several.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.errors import ModelError, OptionError, UnknownNameError
from headcats.registry import lookup, register, unknown_name_message

__all__ = [
    "Metric",
    "MetricTraits",
    "Targets",
    "accuracy",
    "kl",
    "log_prob",
    "logit_diff",
    "measure",
    "metric",
    "metric_traits",
    "prob",
    "rank",
]

Metric = Callable[[Float[Tensor, "row vocab"], "Targets"], Float[Tensor, " row"]]
AnyMetric = TypeVar("AnyMetric", bound=Metric)
READS = ("vocabulary", "pair")
LOGITS_AT_A_TIME = 2**22
"""Numbers whose metrics are computed together: temporaries of more would leave a processor's caches."""


class MetricTraits(NamedTuple):
    """What a metric declares about itself.

    Attributes:
        smooth: It has a useful gradient with respect to the logits; False for counts and ranks.
        reads: Which logits it looks at: the whole "vocabulary", or the "pair" of answer and distractor alone.

    Example:
        >>> import headcats as hc
        >>> hc.metrics.metric_traits("accuracy")
        MetricTraits(smooth=False, reads='vocabulary')
    """

    smooth: bool = True
    reads: str = "vocabulary"


@dataclass(frozen=True)
class Targets:
    """What the logits of each row are compared with.

    Attributes:
        answer: Right token, `[row]`.
        distractor: Token that the corrupted prompt suggests, `[row]`.
        clean_logits: Logits of the row's clean run, for `kl`, `[row, vocab]`.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> targets.select(slice(1, 2)).answer
        tensor([2])
    """

    answer: Int[Tensor, " row"]
    distractor: Int[Tensor, " row"]
    clean_logits: Float[Tensor, "row vocab"]

    def select(self, rows: slice) -> "Targets":
        """Some of the rows.

        Args:
            rows: Which ones.

        Returns:
            The targets of these.
        """
        return Targets(self.answer[rows], self.distractor[rows], self.clean_logits[rows])

    def at(self, rows: Int[Tensor, " place"]) -> "Targets":
        """Rows by number, each as often as it is named.

        Args:
            rows: Their numbers.

        Returns:
            The targets of these.
        """
        rows = rows.to(self.answer.device)
        return Targets(self.answer[rows], self.distractor[rows], self.clean_logits[rows.to(self.clean_logits.device)])

    def to(self, device: torch.device) -> "Targets":
        """The same on another device.

        Args:
            device: Where.

        Returns:
            The targets, not copied where they are there already.
        """
        return Targets(self.answer.to(device), self.distractor.to(device), self.clean_logits.to(device))


@overload
def metric(function: AnyMetric) -> AnyMetric: ...
@overload
def metric(*, smooth: bool = ..., reads: str = ...) -> Callable[[AnyMetric], AnyMetric]: ...
def metric(
    function: AnyMetric | None = None, *, smooth: bool = True, reads: str = "vocabulary"
) -> AnyMetric | Callable[[AnyMetric], AnyMetric]:
    """Decorator: register `f(logits, targets) -> one number per row` as a metric under its own name.

    It must be higher for a better answer and should not change when a constant is added to all logits of a row. Written
    `@metric` or `@metric(smooth=False)`.

    Args:
        function: The metric.
        smooth: See `MetricTraits`; methods that use gradients refuse a metric that is not.
        reads: See `MetricTraits`.

    Returns:
        The function as it came, or the decorator.

    Raises:
        UnknownNameError: `reads` is neither "vocabulary" nor "pair".

    Example:
        >>> import headcats as hc
        >>> @hc.metrics.metric(reads="vocabulary")
        ... def top_logit(logits, targets):
        ...     return logits.max(-1).values
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> ds = hc.sweep(hc.load_model("mini"), batch, "zero_ablation", metrics=["top_logit"])
        >>> ds.metric.values.tolist()
        ['top_logit']
    """
    if reads not in READS:
        raise UnknownNameError(unknown_name_message("choice of logits that a metric reads", reads, READS))

    def decorate(function: AnyMetric) -> AnyMetric:
        function.traits = MetricTraits(smooth, reads)  # type: ignore[attr-defined]
        register("metric", function.__name__, function)
        return function

    return decorate if function is None else decorate(function)


def metric_traits(name: str) -> MetricTraits:
    """What the metric of that name declares; the defaults where it was registered without `@metric`.

    Args:
        name: Name of a metric.

    Returns:
        The traits.

    Raises:
        UnknownNameError: A name that is no registered metric.

    Example:
        >>> import headcats as hc
        >>> hc.metrics.metric_traits("logit_diff").reads
        'pair'
    """
    return getattr(lookup("metric", name), "traits", MetricTraits())


def measure(
    names: tuple[str, ...],
    logits: Float[Tensor, "row vocab"],
    targets: Targets,
    *,
    of: Int[Tensor, " row"] | None = None,
) -> Float[Tensor, "metric row"]:
    """Several metrics of the same logits, computed a part of the rows at a time.

    Args:
        names: Metrics.
        logits: In any dtype.
        targets: What rows are compared with.
        of: The row of `targets` that belongs to each row of logits; None: as they stand.

    Returns:
        One row of numbers per metric, each in its own unit.

    Raises:
        UnknownNameError: A name that is no registered metric.
        OptionError: A metric that gives anything but one number per row.
        ModelError: NaN logits, which some metrics would read as a perfect answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.measure(("logit_diff", "accuracy"), logits, targets)
        tensor([[ 2., -2.],
                [ 1.,  0.]])
    """
    metrics: list[Metric] = [lookup("metric", name) for name in names]
    # The logits of a model that is spread over devices need not be where its tokens are.
    targets = targets.to(logits.device)
    size = max(1, LOGITS_AT_A_TIME // logits.shape[1])
    parts = []
    for start in range(0, len(logits), size):
        rows = slice(start, start + size)
        part = logits[rows].float()
        if bool(part.amax(-1).isnan().any()):
            raise ModelError("The model gives NaN logits: numbers overflow in this dtype. Load it in float32.")
        theirs = targets.select(rows) if of is None else targets.at(of[rows])
        values = [metric(part, theirs) for metric in metrics]
        for name, value in zip(names, values, strict=True):
            if value.shape != part.shape[:1]:
                raise OptionError(
                    f"Metric {name!r} must give one number per row, shape ({len(part)},); got {tuple(value.shape)}."
                )
        parts.append(torch.stack(values))
    return torch.cat(parts, 1)


@metric(reads="pair")
def logit_diff(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Answer logit minus distractor logit, in nats. The primary metric.

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `answer` and `distractor` are read.

    Returns:
        A number per row, in nats; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.logit_diff(logits, targets)
        tensor([ 2., -2.])

    References:
        Wang et al. (2022), arXiv 2211.00593, and Zhang & Nanda (2024), arXiv 2309.16042.
    """
    return _at(logits, targets.answer) - _at(logits, targets.distractor)


@metric
def log_prob(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Log-probability of the answer, in nats; at most 0.

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `answer` is read.

    Returns:
        A number per row, in nats; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.log_prob(logits, targets)
        tensor([-0.4076, -2.1698])

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, on how metrics differ.
    """
    return _at(logits.log_softmax(-1), targets.answer)


@metric
def prob(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Probability of the answer, in [0, 1].

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `answer` is read.

    Returns:
        A number per row, in [0, 1]; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.prob(logits, targets)
        tensor([0.6652, 0.1142])

    References:
        Todd et al. (2024), arXiv 2310.15213, and Zhang & Nanda (2024), arXiv 2309.16042, on the heads it
        misses.
    """
    return _at(logits.softmax(-1), targets.answer)


@metric
def kl(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Minus the divergence KL(p_clean || p_run), in nats: 0 for the clean run itself, else below 0.

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `clean_logits` are read.

    Returns:
        A number per row, in nats; larger is nearer to the clean run.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> bool((hc.metrics.kl(logits.flip(0), targets) < 0).all())  # logits of another run
        True

    References:
        Conmy et al. (2023), Automated circuit discovery, arXiv 2304.14997.
    """
    clean = targets.clean_logits.float().log_softmax(-1)
    return -(clean.exp() * (clean - logits.log_softmax(-1))).sum(-1)


@metric(smooth=False)
def rank(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """-ln(1 + number of tokens with a larger logit than the answer): 0 when the answer is on top.

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `answer` is read.

    Returns:
        A number per row, without unit, at most 0; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.rank(logits, targets).exp()  # 1 / (1 + tokens above the answer)
        tensor([1.0000, 0.5000])

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, on how metrics differ.
    """
    larger = logits > _at(logits, targets.answer)[:, None]
    return -torch.log1p(larger.sum(-1).float())


@metric(smooth=False)
def accuracy(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """1 where the answer has the largest logit of the whole vocabulary, else 0.

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `answer` is read.

    Returns:
        0 or 1 per row.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.accuracy(logits, targets)
        tensor([1., 0.])

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, on why a count hides what a head does.
    """
    return (logits.argmax(-1) == targets.answer).float()


def _at(values: Float[Tensor, "row vocab"], ids: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
    return values.gather(-1, ids[:, None]).squeeze(-1)


def __dir__() -> list[str]:
    return sorted(__all__)
