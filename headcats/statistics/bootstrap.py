"""Resampling of query items within strata."""

import numpy as np
from jaxtyping import Float, Int, Shaped


def item_groups(
    cluster: Int[np.ndarray, " prompt"], distractor: Shaped[np.ndarray, " prompt"]
) -> list[Int[np.ndarray, " _"]]:
    """Items that may stand in for each other in a resample: those seen with the same set of distractor tasks.

    Where each item meets one distractor task, the groups are the distractor tasks; where every item meets all of them,
    there is one group; in both cases each resample keeps the balance over distractor tasks. An item alone in its group
    would add no variance at all, so single items are pooled (collapsed strata), which makes intervals wider rather
    than too narrow.
    """
    met: dict[int, set[str]] = {}
    for index, name in zip(cluster.tolist(), distractor.tolist(), strict=True):
        met.setdefault(index, set()).add(str(name))
    by_set: dict[tuple[str, ...], list[int]] = {}
    for index in sorted(met):
        by_set.setdefault(tuple(sorted(met[index])), []).append(index)
    groups = [by_set[key] for key in sorted(by_set) if len(by_set[key]) > 1]
    single = sorted(index for group in by_set.values() if len(group) == 1 for index in group)
    if len(single) == 1 and groups:
        max(groups, key=len).extend(single)
    elif single:
        groups.append(single)
    return [np.array(sorted(group)) for group in groups]


def item_weights(
    groups: list[Int[np.ndarray, " _"]], *, draws: int, rng: np.random.Generator
) -> Float[np.ndarray, "draw item"]:
    """Bootstrap weight of every item in every draw, summing to the group's size within each of `groups`.

    From a group of m items m - 1 are drawn with replacement and weigh m / (m - 1) each: drawing m would understate the
    variance by (m - 1) / m, a quarter of it where 4 items share a distractor task.

    References:
        Rao & Wu (1988), J. Am. Stat. Assoc. 83, 231-241.
    """
    weights = np.ones((draws, sum(len(group) for group in groups)))
    for group in groups:
        m = len(group)
        if m > 1:
            cells = rng.integers(m, size=(draws, m - 1)) + m * np.arange(draws)[:, None]
            counts = np.bincount(cells.ravel(), minlength=draws * m).reshape(draws, m)
            weights[:, group] = counts * (m / (m - 1))
    return weights
