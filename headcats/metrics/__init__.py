"""Metrics: logits at the last position -> one number per prompt. Higher is always better, always in fp32.

A study names them: `hc.run(model, metrics=["logit_diff", "prob"])`.

## Metrics

`logit_diff` is the primary one. `log_prob` and `prob` look at the answer alone, `kl` at all tokens, `rank` and
`accuracy` count.

## Add one

A metric is a function of the logits and the `Targets`; decorate another one with `metric` to use it by its name. It
declares its `MetricTraits`, which `metric_traits` looks up; `measure` computes several.
"""

import importlib
import pkgutil

from headcats import registry
from headcats.metrics.definition import Metric, MetricTraits, Targets, measure, metric, metric_traits
from headcats.metrics.standard import accuracy, kl, log_prob, logit_diff, prob, rank

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

# The metrics above are imported for type checkers; those of other files are bound here.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
for _name in registry.names("metric"):
    if _name not in globals():
        globals()[_name] = registry.lookup("metric", _name)
        __all__.append(_name)


def __dir__() -> list[str]:
    return sorted(__all__)
