"""Heads that stand in for each other, or need each other: which method sees them alone, and which together."""

from typing import Any

import numpy as np
import xarray as xr

import headcats as hc
from headcats.models.head import Head
from headcats.papers.planted.planted_tasks import Jobs, Kind, of_kind
from recovery_parts.toy_recovery import Toy, scored

METHODS = ("denoising_patch", "noising_patch", "mean_ablation")
PAIRS: tuple[Kind, ...] = ("helping", "or", "and")
"""`helping`: two heads that work side by side, for comparison."""


def pair_of(jobs: Jobs, kind: Kind) -> list[Head]:
    """The pair of this kind; of the helping heads, the first two that serve one category."""
    return [head for head in of_kind(jobs, kind) if len(jobs[head].categories) == 1][:2]


def pairs(*, effect: float, noise: float, prompts: int, seed: int) -> list[dict[str, Any]]:
    """One row per method and pair of one toy; effects are means over the category's tasks, in shares of the gap.

    `called`: share of the pair's heads that `fdr(alpha=0.05, min_effect=0)` calls members; `single`, `sum`, `joint`:
    effect of one head, of both added, of both at once.
    """
    toy = Toy.make(effect=effect, noise=noise, prompts=prompts, seed=seed)
    rows = []
    for method in METHODS:
        table = scored(toy.sweeps(method), prompts=prompts, seed=seed, method=method)
        members = hc.categorize(table, rule=hc.rules.fdr(alpha=0.05, min_effect=0.0))
        for kind in PAIRS:
            found = _measured(toy, pair_of(toy.jobs, kind), table, members, method=method)
            rows.append({"method": method, "pair": kind, **found})
    return rows


def _measured(toy: Toy, heads: list[Head], table: xr.Dataset, members: xr.Dataset, *, method: str) -> dict[str, float]:
    job = toy.jobs[heads[0]]
    single = [
        float(table["effect"].sel(task=list(job.tasks), layer=head.layer, head=head.head).mean()) for head in heads
    ]
    called = [
        int(members["member"].sel(category=job.categories[0], layer=head.layer, head=head.head)) == 1 for head in heads
    ]
    together = [
        _effect(
            hc.evidence.joint_sweep(
                toy.model, toy.batch(task), method, [heads], positions="last", reference=toy.reference
            )
        )
        for task in job.tasks
    ]
    return {
        "called": float(np.mean(called)),
        "single": float(np.mean(single)),
        "sum": float(np.sum(single)),
        "joint": float(np.mean(together)),
    }


def _effect(ds: xr.Dataset) -> float:
    ds = ds.isel(metric=0, set=0)
    difference = ds.patched - ds.corrupted if ds.attrs["base"] == "corrupted" else ds.clean - ds.patched
    return float(difference.mean() / (ds.clean - ds.corrupted).mean())
