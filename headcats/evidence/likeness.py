"""Tasks whose profiles are far more alike than the rest of their category, as rewordings of one task are."""

from collections.abc import Sequence

import numpy as np
import scipy
from jaxtyping import Float, Int

from headcats.evidence.labelling_statistics import Rows, unit_rows

FAR_MORE_ALIKE = 0.2
"""Distance within a group of tasks, as a share of that to its nearest others, up to which they count as one source."""
_LEAST_NOISES = 3.0  # of the distance to others: below, no group stands out from the noise
_WITHIN_NOISE = 0.5  # noises up to which tasks count as one source, whatever the others are


def alike_sources(
    halves: tuple[Rows, Rows],
    labels: Int[np.ndarray, " task"],
    sources: Int[np.ndarray, " task"],
    *,
    apart: Sequence[bool],
) -> Int[np.ndarray, " task"]:
    """Numbers of the sources, where those of one category that are far more alike than its others have become one.

    Profiles are unit rows of effects, `u` and `v` on two halves of the items. The squared distance of two sources,
    `(u - u') (v - v')`, holds no noise on average. A group of average linkage is one source if it joins at a fifth of
    the distance at which it joins others, and that is three times the noise of a distance; or at half the noise, so
    that nothing tells its tasks apart. Left as they are: sources of several categories, and those with a task that is
    kept `apart`. `halves` (task, head).
    """
    merged = sources.copy()
    kept = set(sources[np.array(apart, dtype=bool)].tolist())
    pure = [
        source
        for source in np.unique(sources).tolist()
        if source not in kept and len(np.unique(labels[sources == source])) == 1
    ]
    if len(pure) < 2:
        return merged
    u, v = (
        unit_rows(np.stack([unit_rows(rows[sources == source]).mean(axis=0) for source in pure])) for rows in halves
    )
    cosines = u @ v.T
    within = np.diag(cosines)
    distances = np.maximum(within[:, None] + within - cosines - cosines.T, 0.0)
    noise = np.sqrt(((cosines - cosines.T)[np.triu_indices(len(pure), k=1)] ** 2).mean())
    category = np.array([labels[sources == source][0] for source in pure])
    for places in (np.flatnonzero(category == label) for label in np.unique(category)):
        for group in _groups(distances[np.ix_(places, places)], noise=noise):
            numbers = np.array(pure)[places[group]]
            merged[np.isin(sources, numbers)] = numbers.min()
    return merged


def _groups(distances: Float[np.ndarray, "source source"], *, noise: float) -> list[list[int]]:
    """Groups of sources that are alike, the smallest groups first."""
    n = len(distances)
    if n < 2:
        return []
    tree = scipy.cluster.hierarchy.linkage(distances[np.triu_indices(n, k=1)], "average")
    members = [[source] for source in range(n)]
    for left, right, *_ in tree:
        members.append(members[int(left)] + members[int(right)])
    joined_at = {int(child): row[2] for row in tree for child in row[:2]}
    return [members[n + step] for step, row in enumerate(tree) if _is_alike(row[2], joined_at.get(n + step), noise)]


def _is_alike(within: float, beyond: float | None, noise: float) -> bool:
    """True for a group that joins at a distance `within`, and others at one `beyond`; None for a whole category."""
    stands_out = beyond is not None and beyond >= _LEAST_NOISES * noise and within <= FAR_MORE_ALIKE * beyond
    return within <= _WITHIN_NOISE * noise or stands_out
