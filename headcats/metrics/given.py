"""Metrics as a caller hands them in: names, or functions that need not be registered."""

import inspect
from typing import Any

from headcats.base.errors import OptionError
from headcats.base.guard import is_built_in
from headcats.base.registry import check_name, lookup, names, register
from headcats.metrics.definition import Metric, Metrics, metric_name

_FORM = "f(logits, targets), with logits [row, vocab] at the last position and hc.metrics.Targets"


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
