"""Sources as replicates: differences between categories that are called, and intervals for a new task that hold."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from sections import Table

from headcats.categories.differences import effect_differences
from headcats.categories.task_tests import new_task_effects
from recovery_parts.null import wilson
from recovery_parts.tables import Part

CATEGORIES = "ABCD"
HEADS = 64
OWN = 8
ITEMS, ERROR = 32, 0.03
LEVEL = 0.05
Repeated = Callable[[Callable[[np.random.Generator], Any], str], list[Any]]


@dataclass(frozen=True)
class Sources:
    """Effects of generic heads, .1 to .4 on average, on tasks of some sources in each of four categories."""

    kind: str  # how a head's effects vary between sources
    sources: int
    tasks: int = 2  # of a source
    own: float = 0.0  # what the first heads add in the first category

    def scores(self, rng: np.random.Generator, *, sources: int) -> xr.Dataset:
        """Scores of a study with so many sources in a category."""
        shape = (len(CATEGORIES), sources, HEADS)
        size = rng.uniform(0.1, 0.4, size=HEADS)
        effects = {
            "normal": lambda: size + 0.1 * rng.normal(size=shape),
            "log-normal": lambda: size * np.exp(0.6 * rng.normal(size=shape)),
            "0 or .2": lambda: 0.2 * (rng.random(shape) < 2 * size),
            "0 or .5, rarely": lambda: 0.5 * (rng.random(shape) < 0.05),
        }[self.kind]()
        effects[0, :, :OWN] += self.own * np.exp(0.6 * rng.normal(size=(sources, OWN)))
        by_task = effects[:, :, None] + 0.03 * rng.normal(size=(*shape[:2], self.tasks, HEADS))
        return scores_of(by_task + ERROR * rng.normal(size=by_task.shape))


def scores_of(effects: Float[np.ndarray, "category source task head"]) -> xr.Dataset:
    """Scores with these effects, all tasks with the same error."""
    flat = effects.reshape(-1, 1, HEADS)
    names, per = [*CATEGORIES[: len(effects)]], effects.shape[1] * effects.shape[2]
    return xr.Dataset(
        {
            "effect": (("task", "layer", "head"), flat),
            "standard_error": (("task", "layer", "head"), np.full(flat.shape, ERROR)),
            "n_items": ("task", np.full(len(flat), ITEMS)),
        },
        coords={
            "task": [f"task {place}" for place in range(len(flat))],
            "category": ("task", np.repeat(names, per)),
            "independent_source": ("task", [f"source {place // effects.shape[2]}" for place in range(len(flat))]),
            "layer": [0],
            "head": np.arange(HEADS),
        },
        attrs={"categories": json.dumps([{"name": name, "colour": "#000000"} for name in names])},
    )


def called(world: Sources, rng: np.random.Generator) -> tuple[bool, float]:
    """True if a difference is called where there is none, and share of the true differences that are called."""
    tested = effect_differences(world.scores(rng, sources=world.sources))["p_value"].values[..., 0, :] <= LEVEL
    true = np.zeros(tested.shape, dtype=bool)
    true[0, 1:, :OWN] = true[1:, 0, :OWN] = bool(world.own)
    return bool((tested & ~true).any()), float(tested[0, 1:, :OWN].mean())


def held(world: Sources, rng: np.random.Generator) -> float:
    """Share of heads whose interval holds the effect on a task of a source that was left out."""
    scores = world.scores(rng, sources=world.sources + 1)
    by_source = np.arange(scores.sizes["task"]).reshape(len(CATEGORIES), -1, world.tasks)
    effects = scores["effect"].values[by_source[:, -1, 0], 0]
    over = new_task_effects(scores.isel(task=by_source[:, :-1].ravel())).isel(layer=0)
    return float(((over["new_task_low"] <= effects) & (effects <= over["new_task_high"])).values.mean())


def report(repeated: Repeated) -> Part:
    """Rows for null differences, differences and intervals."""
    rows = []
    for kind in ("normal", "log-normal", "0 or .2", "0 or .5, rarely"):
        for sources in (4, 5, 8):
            found = repeated(partial(called, Sources(kind, sources)), f"no difference, {kind}, {sources}")
            rows.append(_row(kind, sources, 2, "no difference: studies with any call", *_share(found)))
    for kind in ("normal", "log-normal"):
        for own, sources in ((0.2, 5), (0.4, 5), (0.2, 10), (0.4, 10)):
            found = repeated(partial(called, Sources(kind, sources, own=own)), f"{own:g}, {kind}, {sources}")
            claim = f"differences of {own:g} that are called"
            rows.append(_row(kind, sources, 2, claim, *_mean([share for _, share in found])))
            rows.append(_row(kind, sources, 2, f"beside those of {own:g}: studies with a wrong call", *_share(found)))
    for kind in ("normal", "log-normal"):
        for tasks, per_source in ((4, 1), (6, 1), (10, 1), (6, 2), (10, 2)):
            world = Sources(kind, tasks // per_source, tasks=per_source)
            found = repeated(partial(held, world), f"new task, {kind}, {tasks}, {per_source}")
            claim = "intervals that hold a new task's effect"
            rows.append(_row(kind, world.sources, per_source, claim, *_mean(found)))
    return Part([_table(rows)], rows)


def _row(kind: str, sources: int, tasks: int, claim: str, figure: float, interval: str) -> dict[str, Any]:
    return {
        "effects": kind, "sources": sources, "tasks": tasks, "claim": claim, "figure": figure, "interval": interval
    }  # fmt: skip


def _share(found: list[tuple[bool, float]]) -> tuple[float, str]:
    hits = sum(wrong for wrong, _ in found)
    return hits / len(found), "{:.3f} to {:.3f}".format(*wilson(hits, len(found)))


def _mean(shares: list[float]) -> tuple[float, str]:
    mean, half = float(np.mean(shares)), 1.96 * float(np.std(shares)) / len(shares) ** 0.5
    return mean, f"{max(0.0, mean - half):.3f} to {min(1.0, mean + half):.3f}"


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = ("effects between sources", "sources per category", "tasks per source", "claim", "found", "95 % interval")
    cells = [
        (row["effects"], str(row["sources"]), str(row["tasks"]), row["claim"], f"{row['figure']:.3f}", row["interval"])
        for row in rows
    ]
    note = (
        f"Four categories, {HEADS} heads. Intervals: Wilson's for shares of studies, over studies for means of shares. "
        "With 4 tasks in 2 sources no interval for a new task is given."
    )
    return Table("Sources as replicates", columns, cells, note)
