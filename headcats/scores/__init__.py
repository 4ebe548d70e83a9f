"""Replicates to estimates: one labelled table of effects per task and head."""

from headcats.scores.always_any import always_any
from headcats.scores.blocks import approximation_of, first_exact
from headcats.scores.controls import control_blocks
from headcats.scores.function_vector import function_vector_heads
from headcats.scores.items import first_half, of_items
from headcats.scores.reach import POWER, detectable_above, over_tasks
from headcats.scores.scoring import score, screen_label
from headcats.scores.table import FLAG_EFFECT
from headcats.scores.tried_categories import drop_untried_categories, tried_categories

__all__ = [
    "FLAG_EFFECT",
    "POWER",
    "always_any",
    "approximation_of",
    "control_blocks",
    "detectable_above",
    "drop_untried_categories",
    "first_exact",
    "first_half",
    "function_vector_heads",
    "of_items",
    "over_tasks",
    "score",
    "screen_label",
    "tried_categories",
]
