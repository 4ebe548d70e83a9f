"""Toys through the whole tool: sweep, score, categorize, overlap; and what came back of what was planted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
import xarray as xr
from torch import Tensor

import headcats as hc
from headcats.papers.planted.planted_model import planted_model
from headcats.papers.planted.planted_tasks import (
    BOS,
    CATEGORIES,
    N_HEADS,
    N_LAYERS,
    NUMBERS,
    ROLES,
    TASKS,
    WORDS,
    Jobs,
    Kind,
    PlannedJobs,
    place,
    prompt_pairs,
)
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, TaskRecord
from headcats.results.stored_run import tree
from headcats.rules.rule import Rule
from headcats.sweeps.reference import Reference

RULES: tuple[Rule, ...] = (
    hc.rules.fdr(alpha=0.05, min_effect=0.0),
    hc.rules.fdr(alpha=0.05, min_effect=0.05),
    hc.rules.threshold(value=0.05),
    hc.rules.top_fraction(p=0.1),
    hc.rules.elbow(),
)
METHOD = "denoising_patch"
REFERENCE_PROMPTS = 100
MANIFEST = Manifest(
    tasks={task: TaskRecord(category) for task, category in TASKS.items()},
    categories=tuple(CategoryRecord(name, colour) for name, colour in CATEGORIES.items()),
)
_A, _K, _L, _T = CATEGORIES
JOBS: PlannedJobs = (
    ("helping", (_A,), 3), ("helping", (_K,), 3), ("helping", (_L,), 3), ("helping", (_T,), 3),
    ("helping", (_A, _K), 1), ("helping", (_L, _T), 1), ("helping", (_A, _L), 1), ("helping", (_K, _L, _T), 1),
    ("suppressing", (_A,), 1), ("suppressing", (_L, _T), 1),
    ("one task", (_A,), 1), ("one task", (_L,), 1),
    ("or", (_K,), 2), ("and", (_T,), 2),
    ("none", (), 8),
)  # fmt: skip
"""24 of 32 heads have a job."""


@dataclass
class Tally:
    """Counts over toys; a membership is one head in one category. Redundant pairs are not counted."""

    right: int = 0  # memberships that were planted and found
    false: int = 0  # found, not planted
    missed: int = 0  # planted, not found
    shared: int = 0  # heads planted in two or three categories
    shared_right: int = 0  # those with exactly the planted set
    suppressing: int = 0  # suppressing head x category planted
    suppressing_right: int = 0  # those found as suppressing
    suppressing_false: int = 0  # found as suppressing, not planted
    suppressing_as_members: int = 0  # suppressing heads found as members of anything

    @property
    def precision(self) -> float:
        """Share of the memberships found that were planted; NaN where none was found."""
        return self.right / (self.right + self.false) if self.right + self.false else float("nan")

    @property
    def recall(self) -> float:
        """Share of the memberships planted that were found."""
        return self.right / (self.right + self.missed)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def add(self, overlap: xr.Dataset, jobs: Jobs) -> None:
        """Count one toy."""
        categories = overlap["category"].values.tolist()
        member, suppressing = (
            overlap[name].transpose("layer", "head", "category").values == 1 for name in ("member", "suppressing")
        )
        for head, job in jobs.items():
            if job.kind in ("or", "and"):
                continue
            served = np.array([category in job.categories for category in categories])
            for_answer, against = served & (job.kind == "helping"), served & (job.kind == "suppressing")
            found, hurts = member[head], suppressing[head]
            self.right += int((found & for_answer).sum())
            self.false += int((found & ~for_answer).sum())
            self.missed += int((for_answer & ~found).sum())
            self.suppressing += int(against.sum())
            self.suppressing_right += int((hurts & against).sum())
            self.suppressing_false += int((hurts & ~against).sum())
            if job.kind == "helping" and len(job.categories) > 1:
                self.shared += 1
                self.shared_right += int((found == served).all())
            self.suppressing_as_members += int(job.kind == "suppressing" and found.any())


def toy_batch(task: str, *, n: int, seed: int) -> hc.PromptBatch:
    """`prompt_pairs` as tokens."""
    pairs, ids = prompt_pairs(task, n=n, seed=seed), {word: place for place, word in enumerate(WORDS)}

    def tokens(texts: Iterable[str]) -> Tensor:
        return torch.tensor([[ids[word] for word in text.split()] for text in texts])

    return hc.PromptBatch(
        clean=tokens(f"{WORDS[BOS]} {pair.clean}" for pair in pairs),
        corrupted=tokens(f"{WORDS[BOS]} {pair.corrupted}" for pair in pairs),
        answer=tokens(pair.answer for pair in pairs)[:, 0],
        distractor=tokens(pair.distractor for pair in pairs)[:, 0],
        keys=tuple(pair.key for pair in pairs),
        items=tuple(pair.item for pair in pairs),
        distractor_tasks=("blank",) * n,
        labels=(ROLES,) * n,
        corrupted_labels=(ROLES,) * n,
        task=task,
    )


@dataclass(frozen=True)
class Toy:
    """A model with planted heads and its prompts."""

    model: Any
    jobs: Jobs
    seed: int  # of places, noise and prompts
    prompts: int

    @classmethod
    def make(cls, *, effect: float, noise: float, prompts: int, seed: int) -> "Toy":
        """A toy whose planted effects all have one size; see `place` and `planted_model`."""
        jobs = place(effect=effect, seed=seed, jobs=JOBS)
        return cls(planted_model(jobs, noise=noise, seed=seed), jobs, seed, prompts)

    def batch(self, task: str) -> hc.PromptBatch:
        """The prompts of a task."""
        return toy_batch(task, n=self.prompts, seed=self.seed)

    @cached_property
    def reference(self) -> Reference:
        """Held-out prompts of all tasks, to take a mean from; patches do not look at them."""
        batches = [toy_batch(task, n=REFERENCE_PROMPTS, seed=-1 - self.seed) for task in TASKS]
        return Reference(batches, name="suite")

    def sweeps(self, method: str = METHOD) -> dict[str, xr.Dataset]:
        """Task -> what `hc.sweep` returns, by the path it chooses; at the last token, the only one heads work at."""
        return {
            task: hc.sweep(self.model, self.batch(task), method, positions="last", reference=self.reference)
            for task in TASKS
        }


def scored(sweeps: Mapping[str, xr.Dataset], *, prompts: int, seed: int, method: str = METHOD) -> xr.Dataset:
    """`hc.score` on the first prompts of every task, without the draws that only sizes and probabilities need."""
    first = slice(prompts)
    blocks = {(task, f"{method}@last"): ds.isel(prompt=first) for task, ds in sweeps.items()}
    table = hc.score(tree(blocks, MANIFEST), method=method, seed=seed)
    return table.drop_vars(["null_effect_t", "resampled"], errors="ignore")


def true_effect(jobs: Jobs, *, base: Literal["clean", "corrupted"]) -> xr.DataArray:
    """(task, layer, head): the effect of patching each head alone, in shares of the gap.

    Into the corrupted run (`base="corrupted"`) an `or` head brings the whole effect of its pair and an `and` head none;
    out of the clean run it is the other way round.
    """
    unseen: Kind = "and" if base == "corrupted" else "or"
    values = np.zeros((len(TASKS), N_LAYERS, N_HEADS))
    for head, job in jobs.items():
        for task in job.tasks:
            values[NUMBERS[task], head.layer, head.head] = 0.0 if job.kind == unseen else job.effect
    return xr.DataArray(values, dims=("task", "layer", "head"), coords={"task": list(TASKS)})


def recovered(*, effect: float, noise: float, prompts: Sequence[int], seed: int) -> dict[tuple[int, str], Tally]:
    """One toy, swept once: (prompts, rule) -> what the rule gets from so many prompts per task."""
    toy = Toy.make(effect=effect, noise=noise, prompts=max(prompts), seed=seed)
    sweeps = toy.sweeps()
    tallies = {}
    for n in prompts:
        table = scored(sweeps, prompts=n, seed=seed)
        for rule in RULES:
            tally = tallies[n, repr(rule)] = Tally()
            tally.add(hc.overlap(hc.categorize(table, rule=rule, min_tasks="half")), toy.jobs)
    return tallies
