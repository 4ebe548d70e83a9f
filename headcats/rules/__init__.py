"""Rules: estimates to three outcomes, 1 in, 0 undecided, -1 out. Every file of this package is discovered.

`hc.categorize(scores, rule=hc.rules.fdr(alpha=0.05))`: a function of this page takes the options and returns a rule,
which is called on scores. It judges helping heads; suppressing ones are the same rule on the negated scores, and the
two are never merged.

## Rules

`fdr` is the default, and the only one that looks at how sure an effect is. `threshold`, `top_fraction`,
`sd_above_mean` and `elbow` look at effects alone.

## Add one

`rule` registers a function of the options that returns a `Rule`: what judges scores and, for a rule that looks at more
than effects, what a head must reach (`Cutoffs`).
"""

from headcats.base.registry import bind_items
from headcats.rules.by_effect import elbow, sd_above_mean, threshold, top_fraction
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Cutoffs, Rule, rule

__all__ = ["Cutoffs", "Rule", "elbow", "fdr", "rule", "sd_above_mean", "threshold", "top_fraction"]

# The rules above are imported for type checkers; those of other files are bound here.
__all__ += bind_items("rule", globals())  # noqa: PLE0605


def __dir__() -> list[str]:
    return sorted(__all__)
