"""Estimates of tasks as one labelled table."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from headcats import statistics
from headcats.scores.blocks import Grid
from headcats.statistics.task import Estimate, PromptEffects

# Signs per distractor task are flagged for heads with at least this effect.
FLAG_EFFECT = 0.1


class Scored(NamedTuple):
    """One task: its prompts and the estimates from them."""

    category: str
    prompts: PromptEffects
    estimate: Estimate


def scores_table(scored: dict[str, Scored], grid: Grid) -> xr.Dataset:
    """Estimates of all tasks, labelled, with q values over heads x tasks and effects per distractor task."""
    shape = (len(grid["layer"]), len(grid["head"]))
    estimates = [s.estimate for s in scored.values()]
    per_head = {
        name: np.stack([getattr(e, name).reshape(shape) for e in estimates])
        for name in ("effect", "low", "high", "p_value", "raw", "standard_error")
    }
    table = xr.Dataset(
        {name: (("task", "layer", "head"), values) for name, values in per_head.items()}
        | {
            name: ("task", np.array([getattr(e, name) for e in estimates]))
            for name in ("n", "n_items", "gap", "gap_low", "gap_high", "reliability", "smallest_p")
        },
        coords={
            "task": list(scored),
            "category": ("task", [s.category for s in scored.values()]),
            "layer": grid["layer"],
            "head": grid["head"],
        },
    )
    for name, draw in (("resampled", "resample"), ("flipped", "flip")):
        effects = np.stack([getattr(e, name).reshape(-1, *shape) for e in estimates], axis=1)
        table[name] = ((draw, "task", "layer", "head"), effects)
    table["q_value"] = table["p_value"].copy(data=statistics.benjamini_hochberg(table["p_value"].values))
    distractors = sorted({str(d) for s in scored.values() for d in s.prompts.distractor} - {""})
    by_distractor = np.full((len(scored), len(distractors), *shape), np.nan)
    for row, s in enumerate(scored.values()):
        for column, name in enumerate(distractors):
            rows = s.prompts.distractor == name
            if rows.any() and s.estimate.gap_low > 0:
                by_distractor[row, column] = (s.prompts.effect[rows].mean(axis=0) / s.estimate.gap).reshape(shape)
    differs = (by_distractor > 0).any(axis=1) & (by_distractor < 0).any(axis=1)
    table["sign_differs"] = table["effect"].copy(data=differs & (np.abs(per_head["effect"]) >= FLAG_EFFECT))
    if distractors:
        table["distractor_effect"] = (("task", "distractor", "layer", "head"), by_distractor)
        table = table.assign_coords(distractor=distractors)
    return table
