"""Replicates of one task to numbers per head. Plain arrays, no labels."""

from headcats.statistics.bootstrap import item_groups, item_weights
from headcats.statistics.multiplicity import MOST_DRAWS, benjamini_hochberg, discoveries_needed, draws_for, smallest_p
from headcats.statistics.sign_flips import sign_flip_p
from headcats.statistics.split_halves import reliability
from headcats.statistics.task import FLIPS, KEPT_RESAMPLES, Estimate, PromptEffects, estimate, mean_interval

__all__ = [
    "FLIPS",
    "KEPT_RESAMPLES",
    "MOST_DRAWS",
    "Estimate",
    "PromptEffects",
    "benjamini_hochberg",
    "discoveries_needed",
    "draws_for",
    "estimate",
    "item_groups",
    "item_weights",
    "mean_interval",
    "reliability",
    "sign_flip_p",
    "smallest_p",
]
