"""What a metric is, what it declares, how it is registered and checked, and several metrics of the same logits."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import ModelError, OptionError, UnknownNameError, unknown_name_message
from headcats.base.guard import Guard, function_name, is_built_in
from headcats.base.registry import check_name, lookup, names, register
from headcats.metrics.rest import NO_REST, Rest
from headcats.models.replay.recording import LOGITS_AT_A_TIME

Metric = Callable[[Float[Tensor, "row vocab"], "Targets"], Float[Tensor, " row"]]
Metrics = tuple[str | Metric, ...]
"""Names of registered metrics, and functions, which need not be registered."""
AnyMetric = TypeVar("AnyMetric", bound=Metric)
READS = ("vocabulary", "pair")
_FORM = "f(logits, targets), with logits [row, vocab] at the last position and hc.metrics.Targets"


class MetricTraits(NamedTuple):
    """Traits that a metric declares (see `metric`)."""

    smooth: bool = True
    reads: str = "vocabulary"


@dataclass(frozen=True)
class Targets:
    """Tokens that the logits of each row are compared with, and what the later tokens of its answers add.

    Attributes:
        answer: First token of the right answer, `[row]`.
        distractor: First token of what the corrupted prompt suggests, `[row]`.
        clean_logits: Logits of the row's clean run, for `kl`, `[row, vocab]`.
        rest: Of answers of several tokens; zeros where every answer is one token.

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
    rest: Rest = NO_REST

    def select(self, rows: slice | Int[Tensor, " place"]) -> "Targets":
        """Some of the rows.

        Args:
            rows: A slice of them, or their numbers, each as often as it is named.
        """
        return Targets(self.answer[rows], self.distractor[rows], self.clean_logits[rows], self.rest.select(rows))

    def copied(self) -> "Targets":
        """Copy in memory of its own."""
        rest = Rest(*(getattr(self.rest, field.name).clone() for field in fields(self.rest)))
        return Targets(self.answer.clone(), self.distractor.clone(), self.clean_logits.clone(), rest)

    def to(self, device: torch.device) -> "Targets":
        """Copy on another device.

        Args:
            device: The device.
        """
        parts = (self.answer.to(device), self.distractor.to(device), self.clean_logits.to(device))
        return Targets(*parts, self.rest.to(device))


@overload
def metric(function: AnyMetric) -> AnyMetric: ...
@overload
def metric(*, smooth: bool = ..., reads: str = ...) -> Callable[[AnyMetric], AnyMetric]: ...
def metric(
    function: AnyMetric | None = None, *, smooth: bool = True, reads: str = "vocabulary"
) -> AnyMetric | Callable[[AnyMetric], AnyMetric]:
    """Decorator: register `f(logits, targets) -> one number per row` as a metric under its own name.

    `logits` are those that predict the first token of answers, and `targets.rest` is what their later tokens add. It
    must be higher for a better answer and should not change when a constant is added to all logits of a row. Written
    `@metric` or `@metric(smooth=False)`.

    Args:
        function: The metric.
        smooth: It has a useful gradient with respect to the logits, unlike counts and ranks; methods that use
            gradients refuse a metric that is not.
        reads: Which logits it looks at: the whole "vocabulary", or the "pair" of answer and distractor alone.

    Returns:
        The function as it came, or the decorator.

    Raises:
        UnknownNameError: `reads` is neither "vocabulary" nor "pair".
        OptionError: A function without a name, such as a lambda.

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
        name = function_name("metric", function)
        function.traits = MetricTraits(smooth, reads)  # type: ignore[attr-defined]
        register("metric", name, function)
        return function

    return decorate if function is None else decorate(function)


def metric_name(metric: str | Metric) -> str:
    """Name of a metric in results: its registered name, or that of the function."""
    return metric if isinstance(metric, str) else str(getattr(metric, "__name__", ""))


def metric_traits(name: str | Metric) -> MetricTraits:
    """Traits of the metric of that name; the defaults where it was not decorated with `@metric`."""
    return getattr(lookup("metric", name) if isinstance(name, str) else name, "traits", MetricTraits())


def reads_vocabulary(names: Metrics) -> bool:
    """True if some of these metrics looks at more than the logits of answer and distractor."""
    return any(metric_traits(name).reads == "vocabulary" for name in names)


def measure(
    names: Metrics,
    logits: Float[Tensor, "row vocab"],
    targets: Targets,
    *,
    rest: Rest | None = None,
    of: Int[Tensor, " row"] | None = None,
) -> Float[Tensor, "metric row"]:
    """Several metrics of the same logits, computed a part of the rows at a time."""
    metrics: list[Metric] = [lookup("metric", name) if isinstance(name, str) else name for name in names]
    # The logits of a model that is spread over devices need not be where its tokens are.
    targets = targets.to(logits.device)
    size = max(1, LOGITS_AT_A_TIME // logits.shape[1])
    parts = []
    for start in range(0, len(logits), size):
        rows = slice(start, start + size)
        part = logits[rows].float()
        if bool(part.amax(-1).isnan().any()):
            raise ModelError("The model gives NaN logits: numbers overflow in this dtype. Load it in float32.")
        theirs = targets.select(rows if of is None else of[rows].to(logits.device))
        theirs = theirs if rest is None else replace(theirs, rest=rest.select(rows).to(logits.device))
        parts.append(torch.stack([_values(metric, part, theirs) for metric in metrics]))
    return torch.cat(parts, 1)


def _values(metric: Metric, logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    name = metric_name(metric)
    # Somebody else's may work in place, on copies: neither other metrics nor later sweeps may see it.
    guard = Guard("Metric", name, metric)
    values = guard(metric, logits, targets)
    expected = f"one real number per row, a tensor of shape ({len(logits)},)"
    if not isinstance(values, Tensor):
        raise guard.refusal(expected, values)
    if values.shape != logits.shape[:1] or values.is_complex():
        raise guard.refusal(expected, f"shape {tuple(values.shape)}, {values.dtype}")
    if not is_built_in(metric) and (n_wrong := int((~values.isfinite()).sum())):
        raise guard.refusal(expected, f"NaN or infinity in {n_wrong} rows")
    return values.to(logits.device, logits.dtype)


def check_metrics(metrics: Any) -> Metrics:
    """The metrics of a sweep."""
    if isinstance(metrics, str) or callable(metrics) or not metrics:
        raise OptionError(
            f"metrics must be a list of names or functions, such as ['logit_diff'] or [my_metric]; got {metrics!r}."
        )
    by_name: dict[str, Any] = {}
    for metric in metrics:
        name, function = metric_name(metric), lookup("metric", metric) if isinstance(metric, str) else metric
        if not isinstance(metric, str):
            _check_function(metric)
        if by_name.setdefault(name, function) is not function:
            raise OptionError(f"Two metrics are called {name!r}: results tell them apart by name, so rename one.")
    return tuple(metrics)


def registered_name(metric: str | Metric) -> str:
    """The name by which a study knows a metric; a function is registered under its own, as `@metric` does."""
    if isinstance(metric, str):
        lookup("metric", metric)
        return metric
    _check_function(metric)
    name = metric.__name__
    known = lookup("metric", name) if name in names("metric") else metric
    if known is not metric and is_built_in(known):
        raise OptionError(f"headcats has a metric {name!r} of its own, so a study cannot call yours that: rename it.")
    register("metric", name, metric)
    return name


def _check_function(metric: Any) -> None:
    name = metric_name(metric)
    if not callable(metric) or not name or name == "<lambda>":
        raise OptionError(f"A metric is a name or a function with a name, {_FORM}; got {metric!r}.")
    check_name("metric", name)
    try:
        inspect.signature(metric).bind(None, None)
    except TypeError:
        raise OptionError(f"A metric is {_FORM}; {name} takes {inspect.signature(metric)}.") from None
    except ValueError:
        return  # of a builtin there is no signature to look at
