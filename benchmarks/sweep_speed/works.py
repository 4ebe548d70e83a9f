"""What is computed: every head of a model replaced once, in settings that differ in what can be shared."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from random_weights import random_model

from headcats.metrics import Targets
from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import find_intervention
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.sources import Replacements
from sweep_speed.shapes import Shape, random_batch

INTERVENTION = find_intervention("denoising_patch")


@dataclass(frozen=True)
class Work:
    """One line of the benchmark."""

    title: str
    metric: str = "logit_diff"
    positions: str = "last"  # where z is replaced: at "last", at "all" together, or at "each" on its own
    length: int | None = None  # tokens of a prompt; None takes the shape's own
    shared: float = 0.0  # share of the first tokens that are the same in the clean and the corrupted prompt
    one_by_one: bool = False  # whether the loop over single prompts is timed too
    answer: int = 1  # tokens of answers and distractors
    prompts: int | None = None  # number of them; None takes the shape's own


WORKS = {
    "last": Work("last position, logit difference", one_by_one=True),
    "last-log-prob": Work("last position, log-prob", metric="log_prob"),
    "last-16": Work("last position, 16 tokens", length=16),
    "last-128": Work("last position, 128 tokens", length=128),
    "last-256": Work("last position, 256 tokens", length=256),
    "answers": Work("last position, answers of 3 tokens", answer=3),
    "all-shared": Work("all positions, 2/3 of the tokens shared", positions="all", shared=2 / 3),
    "all": Work("all positions, nothing shared", positions="all"),
    "each-shared": Work("each position, 2/3 of the tokens shared", positions="each", shared=2 / 3, prompts=4),
    "each": Work("each position, nothing shared", positions="each", prompts=4),
}


def works_of(shape: str) -> list[str]:
    """Names of the works that are measured on a shape unless others are asked for."""
    # On the large shape these would take half an hour for each repetition.
    return [name for name in WORKS if not (shape == "24x16" and name in ("all", "each"))]


@dataclass(frozen=True)
class Job:
    """A work on a model, with what every side is given before the clock starts: the clean run."""

    model: HookedModel
    shape: Shape
    work: Work
    heads: Sequence[tuple[int, int]]  # heads that the slow sides replace; the fast ones replace all
    alone: Sequence[int]  # prompts that the loop over single prompts takes
    memory: str | None = None  # limit of our sweeps, as in `hc.sweep`

    @property
    def length(self) -> int:
        """Tokens of a prompt."""
        return self.work.length or self.shape.length

    @property
    def row(self) -> int:
        """Tokens of a prompt with all of an answer but its last."""
        return self.length + self.work.answer - 1

    @cached_property
    def batch(self) -> PromptBatch:
        """The prompts."""
        return random_batch(self.shape, length=self.length, shared=self.work.shared, answer=self.work.answer)

    @cached_property
    def runs(self) -> BaseRuns:
        """Our runs, of which the clean one is made."""
        runs = BaseRuns(self.model, self.batch, limit=self.memory)
        runs.clean.keep(self.first)
        assert runs.clean.logits is not None
        return runs

    @property
    def cells(self) -> list[tuple[int, int, int]]:
        """Layer, position and head of every head that slow sides replace, each at another one of the positions."""
        positions = spread(self.length, len(self.heads))
        middle = len(positions) // 2  # or early layers would have early positions
        places = [*positions[middle:], *positions[:middle]]
        return [(layer, at, head) for (layer, head), at in zip(self.heads, itertools.cycle(places), strict=False)]

    @cached_property
    def first(self) -> int:
        """First position that can change."""
        return self.replacements(BaseRuns(self.model, self.batch, limit=self.memory)).first

    def replacements(self, runs: BaseRuns) -> Replacements:
        """New values of z from the clean run."""
        mask = self.batch.positions("last" if self.work.positions == "last" else "all")
        return Replacements(runs, INTERVENTION, reference=Reference(self.batch), mask=mask)

    @cached_property
    def cache(self) -> Any:
        """TransformerLens' cache of the clean run, each answer behind its prompt; only z, which is all it reads."""
        names = [hook_z(layer) for layer in range(self.shape.n_layers)]
        rows = self.batch.continued("clean").rows
        with torch.no_grad():
            return self.model.model.run_with_cache(rows.to(self.model.device), names_filter=names)[1]

    @property
    def targets(self) -> Targets:
        """Answers and distractors."""
        return self.runs.targets

    @cached_property
    def plain(self) -> Any:
        """The same weights in plain transformers, with the attention that it takes by itself."""
        model = random_model(self.shape).to(self.model.device, self.model.dtype)
        model.set_attn_implementation("sdpa")
        return model

    def of(self, heads: Sequence[tuple[int, int]], *, alone: Sequence[int]) -> "Job":
        """The same work with other heads and single prompts for the slow sides."""
        job = replace(self, heads=heads, alone=alone)
        kept = ("batch", "runs", "first", "cache", *(["plain"] * self.work.one_by_one))
        job.__dict__.update({name: getattr(self, name) for name in kept})
        return job


def spread(total: int, count: int) -> list[int]:
    """`count` numbers below `total`, evenly spread, the first and the last among them.

    Example:
        >>> spread(144, 12)
        [0, 13, 26, 39, 52, 65, 78, 91, 104, 117, 130, 143]
    """
    count = min(count, total)
    return [round(place * (total - 1) / max(1, count - 1)) for place in range(count)]
