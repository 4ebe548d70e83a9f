"""Nulls with skewed noise, and the null of a real run: is anything called, and is it marked?"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.results.loading import load
from headcats.results.run_results import RunResults
from headcats.rules.discovery_rate import fdr
from headcats.statistics.multiplicity import benjamini_hochberg
from recovery_parts.analysis import calls_and_marks, scored
from recovery_parts.generator import METHOD, Design, results
from recovery_parts.null import ALPHA, TASKS, wilson

ITEMS = (16, 32)
NOISES = ("normal", "log-normal", "spikes")
LABEL = f"{METHOD}@last"
STRICT = 0.001


@dataclass(frozen=True)
class SkewedNull:
    """One null world: simulated noise, or the residuals of a run."""

    noise: str  # kind of noise, as in `Design`, or "residuals"
    items: int  # query items per task, one prompt each (of a run: drawn from its items, with their prompts)
    folder: Path | None = None  # results of a run, for "residuals"

    @property
    def name(self) -> str:
        """For reading."""
        return f"{self.noise}, {self.items} items"


@dataclass(frozen=True)
class NullStudy:
    """What is said of heads that do nothing: of helping and of suppressing ones, then of those that are not marked."""

    calls: dict[str, tuple[bool, ...]]  # way of calling -> whether any is called
    size: tuple[float, ...]  # share of heads x tasks with a one-sided p of at most `STRICT`


def one_null(world: SkewedNull, design: Design, rng: np.random.Generator) -> NullStudy:
    """One study of a world without effects, through the whole pipeline."""
    if world.folder is None:
        design = replace(design, noise=world.noise, prompts=world.items, items=(world.items, world.items))
        tree = results(design, np.zeros((design.n_tasks, design.n_heads)), rng=rng)
    else:
        tree = residuals(world.folder, items=world.items, rng=rng)
    scores = scored(tree, rng=rng)
    rule = fdr(alpha=ALPHA, min_effect=0)
    calls = {f"min_tasks={m}": calls_and_marks(scores, rule=rule, min_tasks=m) for m in (1, "half")}
    p_value = scores["p_value"].values
    calls[f"q, {TASKS}"] = tuple(bool(cells.any()) for cells in _by_sign(scores, benjamini_hochberg(p_value) <= ALPHA))
    size = tuple(float(cells.mean()) for cells in _by_sign(scores, p_value <= 2 * STRICT))
    return NullStudy(calls, size)


def _by_sign(scores: xr.Dataset, cells: Bool[np.ndarray, "*cells"]) -> list[Bool[np.ndarray, "*cells"]]:
    marked = (False, scores["doubtful"].values)
    return [cells & (sign * scores["effect"].values > 0) & ~np.array(mark) for mark in marked for sign in (1, -1)]


def residuals(folder: Path, *, items: int, rng: np.random.Generator) -> xr.DataTree:
    """A study in which nothing has an effect and the noise is that of a run: of each task `items` of its query items,
    drawn with replacement, with what their prompts deviate from the mean effect of every head.
    """
    nodes: dict[str, xr.Dataset] = {}
    for path, block in _centred(folder).items():
        if not path.endswith(LABEL):
            nodes[path] = block
            continue
        names = block["item"].values
        drawn = rng.choice(np.unique(names), size=items)
        places = [np.flatnonzero(names == name) for name in drawn]
        renamed = np.repeat([f"item {place}" for place in range(items)], list(map(len, places)))
        nodes[path] = block.isel(prompt=np.concatenate(places)).assign_coords(item=("prompt", renamed))
    return xr.DataTree.from_dict(nodes)


@functools.cache
def _centred(folder: Path) -> dict[str, xr.Dataset]:
    tree = load(folder)
    nodes = {"/": tree.to_dataset()}
    run = RunResults(tree)
    for task, labels in run.tasks.items():
        if LABEL in labels:
            block = run.block(task, LABEL).sel(metric=["logit_diff"]).load()
            difference, gap = block["patched"] - block["corrupted"], block["clean"] - block["corrupted"]
            effect = difference.mean("prompt") / gap.mean("prompt")
            centred = difference - effect * gap + block["corrupted"]
            nodes[f"/{task}"] = tree[task].to_dataset()
            nodes[f"/{task}/{LABEL}"] = block.assign(patched=centred.transpose(*block["patched"].dims))
    return nodes


def rows(world: SkewedNull, found: list[NullStudy]) -> list[dict[str, Any]]:
    """Per way of calling, the shares of studies in which anything is called, and anything unmarked."""
    made = []
    for way in found[0].calls:
        hits = np.array([study.calls[way] for study in found]).sum(axis=0).tolist()
        row: dict[str, Any] = {"world": world.name, "called by": way, "studies": len(found)}
        for name, n in zip(("helping", "suppressing", "helping, unmarked", "suppressing, unmarked"), hits, strict=True):
            row[name] = n / len(found)
            row[f"{name}_interval"] = wilson(n, len(found))
        made.append(row)
    return made
