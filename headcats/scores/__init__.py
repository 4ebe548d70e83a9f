"""Replicates to estimates: one labelled table of effects per task and head."""

from headcats.scores.blocks import CONTROLS, PATCH, WRONG_TASK, first_exact
from headcats.scores.items import first_half, of_items
from headcats.scores.reach import POWER, detectable_above, over_tasks
from headcats.scores.scoring import score, screen_label
from headcats.scores.table import FLAG_EFFECT

__all__ = [
    "CONTROLS",
    "FLAG_EFFECT",
    "PATCH",
    "POWER",
    "WRONG_TASK",
    "detectable_above",
    "first_exact",
    "first_half",
    "of_items",
    "over_tasks",
    "score",
    "screen_label",
]
