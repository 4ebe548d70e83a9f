"""Rules: estimates to three outcomes, 1 in, 0 undecided, -1 out. Every file of this package is discovered.

`hc.categorize(scores, rule=hc.rules.fdr(alpha=0.05))`: a function of this page takes the options and gives a rule,
which is called on the table of scores. It judges helping heads; suppressing ones are the same rule on the negated
scores, and the two are never merged.

## Rules

`fdr` is the default, and the only one that looks at how sure an effect is. `threshold`, `top_fraction`,
`sd_above_mean` and `elbow` look at effects alone; `null_calibrated` compares them with those of a control.

## Add one

`rule` makes one of a function; below it, `with_check` checks its options, `with_cutoffs` says what a head must reach
(`Cutoffs`), and `reads` names what else it needs. `negate` turns scores round. What is called on scores is a `Rule`.
"""

import importlib
import pkgutil

from headcats import registry
from headcats.rules.by_effect import elbow, null_calibrated, sd_above_mean, threshold, top_fraction
from headcats.rules.declared import Cutoffs, reads, with_check, with_cutoffs
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule, negate, rule

__all__ = [
    "Cutoffs",
    "Rule",
    "elbow",
    "fdr",
    "negate",
    "null_calibrated",
    "reads",
    "rule",
    "sd_above_mean",
    "threshold",
    "top_fraction",
    "with_check",
    "with_cutoffs",
]

# The rules above are imported for type checkers; those of other files are bound here.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
for _name in registry.names("rule"):
    if _name not in globals():
        globals()[_name] = registry.lookup("rule", _name)
        __all__.append(_name)


def __dir__() -> list[str]:
    return sorted(__all__)
