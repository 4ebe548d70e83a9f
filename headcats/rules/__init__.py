"""Rules: estimates to three outcomes (see `headcats.rules.rule`). Every file of this package is discovered."""

import importlib
import pkgutil

from headcats import registry
from headcats.rules.by_effect import elbow, null_calibrated, sd_above_mean, threshold, top_fraction
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Cutoffs, Rule, negate, reads, rule, with_check, with_cutoffs

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
