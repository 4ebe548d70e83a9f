"""Metrics: logits that predict an answer -> one number per prompt. Higher is always better, always in fp32.

A study names them: `hc.run(model, metrics=["logit_diff", "prob"])`.

## Metrics

`logit_diff` is the primary one. `log_prob` and `prob` look at the answer alone, `kl` at all tokens, `rank`,
`accuracy` and `pair_accuracy` count. Of an answer of several tokens they take the sum of the log-probabilities of its
tokens, each given those before it; `kl` takes the first token alone.

## Add one

A metric is a function of the logits and the `Targets`; decorate another one with `metric` to use it by its name.
"""

from headcats.base.registry import bind_items
from headcats.metrics.definition import Metric, Targets, metric
from headcats.metrics.rest import Rest
from headcats.metrics.standard import accuracy, kl, log_prob, logit_diff, pair_accuracy, prob, rank

__all__ = [
    "Metric",
    "Rest",
    "Targets",
    "accuracy",
    "kl",
    "log_prob",
    "logit_diff",
    "metric",
    "pair_accuracy",
    "prob",
    "rank",
]

# The metrics above are imported for type checkers; those of other files are bound here.
__all__ += bind_items("metric", globals())  # noqa: PLE0605


def __dir__() -> list[str]:
    return sorted(__all__)
