"""Studies with known truth on a planted model: which heads serve which category is set by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import xarray as xr
from planted import planted_model, slot_batch

import headcats as hc
from headcats.evidence.held_out import HeldOut
from headcats.models.adapter import HookedModel, adapt
from headcats.prompts.batch import PromptBatch
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, TaskRecord
from headcats.results.stored_run import tree
from headcats.sweeps.reference import Reference

N_LAYERS = 4
OWN = {(layer, 0): 1 for layer in range(3)} | {(layer, 1): 2 for layer in range(3)}
"""Heads L0H0, L1H0, L2H0 read slot 1, L0H1, L1H1, L2H1 slot 2; each category has three heads, in three layers."""
SLOTS = {"Knowledge": (1,), "Linguistic": (2,)}
COLOURS = {"Knowledge": "#ff7f0e", "Linguistic": "#2ca02c", "Translation": "#d62728"}


def tasks_of(*categories: str, each: int = 4) -> dict[str, str]:
    """Task -> category."""
    return {f"{category.lower()}{number}": category for category in categories for number in range(each)}


def batches(
    tasks: Mapping[str, str], *, slots: Mapping[str, Sequence[int]], first_seed: int, n: int = 20
) -> dict[str, PromptBatch]:
    """Prompts of every task, whose answers stand in the slots of its category; corrupted prompts show, in turn, the
    tasks of the other categories."""
    made = {}
    for place, (task, category) in enumerate(tasks.items()):
        others = [name for name, of in tasks.items() if of != category] or ["nothing"]
        batch = slot_batch(*slots[category], n=n, seed=first_seed + place, task=task)
        made[task] = replace(batch, distractor_tasks=tuple(others[row % len(others)] for row in range(n)))
    return made


def scores_of(model: HookedModel, tasks: Mapping[str, str], chosen: Mapping[str, PromptBatch]) -> xr.Dataset:
    """Denoising effects on some prompts."""
    manifest = Manifest(
        tasks={task: TaskRecord(category) for task, category in tasks.items()},
        categories=tuple(CategoryRecord(name, COLOURS[name]) for name in dict.fromkeys(tasks.values())),
    )
    blocks = {
        (task, "denoising_patch@last"): hc.sweep(model, batch, "denoising_patch") for task, batch in chosen.items()
    }
    return hc.score(tree(blocks, manifest), method="denoising_patch")


def study(
    heads: Mapping[tuple[int, int], int] = OWN,
    *,
    tasks: Mapping[str, str] | None = None,
    slots: Mapping[str, Sequence[int]] = SLOTS,
) -> tuple[Any, HeldOut, tuple[xr.Dataset, xr.Dataset]]:
    """Model, held-out prompts and scores of other prompts, as of two halves of the items."""
    tasks = tasks_of(*slots) if tasks is None else tasks
    model = adapt(planted_model(heads, n_layers=N_LAYERS))
    held = HeldOut(
        batches={task: (batch,) for task, batch in batches(tasks, slots=slots, first_seed=100).items()},
        category_of=tasks,
        source_of={task: task for task in tasks},
        linked=dict.fromkeys(tasks, ()),
        grouped=tasks,  # else all of a category were one source, as they have the same heads
        covariates={},
        reference=Reference(list(batches(tasks, slots=slots, first_seed=200, n=40).values()), name="suite"),
    )
    first, second = (scores_of(model, tasks, batches(tasks, slots=slots, first_seed=seed)) for seed in (0, 50))
    return model, held, (first, second)
