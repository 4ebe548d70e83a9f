"""Planted truth: which head has an effect on which task, and which memberships follow from that.

Whether a head is a member depends on `min_tasks`: for r of a category's n tasks, a head is truly in a category if at
least r of its tasks are truly helped (the partial conjunction, Benjamini & Heller 2008), however small the effect. The
same with the opposite sign for suppressing heads. A head that matters in one task is therefore a true member for
`min_tasks=1` and a false one for `"half"`.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from recovery_parts.generator import Design

MIN_TASKS: tuple[int | str, ...] = (1, "half", "n")
"""`min_tasks` of every table; "n" stands for all tasks of a category."""


@dataclass(frozen=True)
class World:
    """How many heads of each kind are planted. The heads are drawn at random; the others do nothing."""

    # in which tasks of their categories members and suppressors matter: "all", or "half" of them, rounded up and
    # drawn head by head
    spread: str = "all"
    own: int = 4  # heads per category that help this category alone
    two: int = 4  # heads that help two categories, drawn
    three: int = 2  # heads that help three
    mixed: int = 2  # heads that help one category and suppress another
    suppressing: int = 1  # heads per category that suppress it
    single: int = 1  # heads per category that help one of its tasks
    short: int = 1  # heads per category that help one task fewer than half of them: the hardest non-members for "half"


def planted(design: Design, world: World, *, effect: float, rng: np.random.Generator) -> Float[np.ndarray, "task head"]:
    """Effects of `effect`, `-effect` or 0 in shares of the gap."""
    half = math.ceil(design.tasks / 2)
    full = design.tasks if world.spread == "all" else half
    kinds: list[list[tuple[int, int, int]]] = []  # per head: (category, sign, number of tasks)
    for category in range(design.categories):
        kinds += [[(category, 1, full)]] * world.own
        kinds += [[(category, -1, full)]] * world.suppressing
        kinds += [[(category, 1, 1)]] * world.single
        kinds += [[(category, 1, half - 1)]] * world.short
    for count, signs in ((world.two, (1, 1)), (world.three, (1, 1, 1)), (world.mixed, (1, -1))):
        for _ in range(count):
            drawn = rng.permutation(design.categories)[: len(signs)].tolist()
            kinds.append([(category, sign, full) for category, sign in zip(drawn, signs, strict=True)])
    if len(kinds) > design.n_heads:
        raise ValueError(f"{len(kinds)} heads are to be planted, the design has {design.n_heads}.")
    effects = np.zeros((design.n_tasks, design.n_heads))
    for head, kind in zip(rng.permutation(design.n_heads), kinds, strict=False):  # the remaining heads do nothing
        for category, sign, number in kind:
            tasks = category * design.tasks + rng.permutation(design.tasks)[:number]
            effects[tasks, head] = sign * effect
    return effects


def needed(design: Design, min_tasks: int | str) -> int:
    """The number of tasks that `min_tasks` asks for."""
    if isinstance(min_tasks, int):
        return min_tasks
    return {"half": math.ceil(design.tasks / 2), "n": design.tasks}[min_tasks]


def members(
    design: Design, effects: Float[np.ndarray, "task head"], *, min_tasks: int | str
) -> Bool[np.ndarray, "category head"]:
    """True helping memberships; suppressing ones are those of `-effects`."""
    helped = (effects > 0).reshape(design.categories, design.tasks, design.n_heads)
    return helped.sum(axis=1) >= needed(design, min_tasks)
