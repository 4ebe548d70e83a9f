"""Nulls with skewed noise, and the null of a real run: is anything called, and is it marked?"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headcats.results.folder import load
from headcats.results.run_results import RunResults
from headcats.rules.discovery_rate import fdr
from headcats.statistics.multiplicity import benjamini_hochberg
from recovery_parts.analysis import scored, skewed_calls
from recovery_parts.generator import METHOD, Design, results
from recovery_parts.null import ALPHA, TASKS, wilson

ITEMS = (16, 32)
NOISES = ("normal", "log-normal", "spikes")
LABEL = f"{METHOD}@last"


@dataclass(frozen=True)
class SkewedNull:
    """One null world: simulated noise, or the residuals of a run.

    Attributes:
        noise: Kind of noise, as in `Design`, or "residuals".
        items: Query items per task, one prompt each (of a run: drawn from its items, with their prompts).
        folder: Results of a run, for "residuals".
    """

    noise: str
    items: int
    folder: Path | None = None

    @property
    def name(self) -> str:
        """For reading."""
        return f"{self.noise}, {self.items} items"


def one_null(world: SkewedNull, design: Design, rng: np.random.Generator) -> dict[str, tuple[bool, ...]]:
    """Per way of calling: whether any is called, helping or suppressing, then whether any of these is not marked."""
    if world.folder is None:
        design = replace(design, noise=world.noise, prompts=world.items, items=(world.items, world.items))
        tree = results(design, np.zeros((design.n_tasks, design.n_heads)), rng=rng)
    else:
        tree = residuals(world.folder, items=world.items, rng=rng)
    scores = scored(tree, rng=rng)
    found = {}
    for min_tasks in (1, "half"):
        rule = fdr(alpha=ALPHA, min_effect=0)
        found[f"min_tasks={min_tasks}"] = skewed_calls(scores, rule=rule, min_tasks=min_tasks)
    called, doubtful = benjamini_hochberg(scores["p_value"].values) <= ALPHA, scores["doubtful"].values
    by_sign = [called & (sign * scores["effect"].values > 0) for sign in (1, -1)]
    found[f"q, {TASKS}"] = tuple(bool((cells & ~mark).any()) for mark in (False, doubtful) for cells in by_sign)
    return found


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
    for task, node in RunResults(tree).tasks.items():
        if LABEL in node.children:
            block = node[LABEL].to_dataset().sel(metric=["logit_diff"]).load()
            difference, gap = block["patched"] - block["corrupted"], block["clean"] - block["corrupted"]
            effect = difference.mean("prompt") / gap.mean("prompt")
            centred = difference - effect * gap + block["corrupted"]
            nodes[f"/{task}"] = node.to_dataset()
            nodes[f"/{task}/{LABEL}"] = block.assign(patched=centred.transpose(*block["patched"].dims))
    return nodes


def rows(world: SkewedNull, found: list[dict[str, tuple[bool, ...]]]) -> list[dict[str, Any]]:
    """Per way of calling, the shares of studies in which anything is called, and anything unmarked."""
    made = []
    for way in found[0]:
        hits = np.array([study[way] for study in found]).sum(axis=0).tolist()
        row: dict[str, Any] = {"world": world.name, "called by": way, "studies": len(found)}
        for name, n in zip(("helping", "suppressing", "helping, unmarked", "suppressing, unmarked"), hits, strict=True):
            row[name] = n / len(found)
            row[f"{name}_interval"] = wilson(n, len(found))
        made.append(row)
    return made
