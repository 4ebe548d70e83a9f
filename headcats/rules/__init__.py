"""Rules: estimates to three outcomes. See `headcats.rules.rule`."""

from headcats.rules.by_effect import elbow, null_calibrated, sd_above_mean, threshold, top_fraction
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Cutoffs, Rule, negate, rule

__all__ = [
    "Cutoffs",
    "Rule",
    "elbow",
    "fdr",
    "negate",
    "null_calibrated",
    "rule",
    "sd_above_mean",
    "threshold",
    "top_fraction",
]
