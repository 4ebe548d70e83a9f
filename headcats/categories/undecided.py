"""What counts of shared heads could become if undecided memberships were settled: bounds, not confidence intervals.

A head is in a category, out of it, or undecided. Counting the undecided as out makes a head that serves everything look
exclusive wherever the data do not suffice. Least and most are over every way of settling each head and category.
"""

import numpy as np
from jaxtyping import Bool, Float, Int


def count_bounds(
    inside: Bool[np.ndarray, "*draw category head"], undecided: Bool[np.ndarray, "*draw category head"]
) -> tuple[Int[np.ndarray, "*draw k"], Int[np.ndarray, "*draw k"]]:
    """Least and most heads in exactly k = 1..n categories: those that must be, and those that can be."""
    certain = inside.sum(axis=-2)[..., None, :]
    possible = certain + undecided.sum(axis=-2)[..., None, :]
    ks = np.arange(1, inside.shape[-2] + 1)[:, None]
    can_be = (certain <= ks) & (ks <= possible)
    return (can_be & (certain == possible)).sum(axis=-1), can_be.sum(axis=-1)


def jaccard_bounds(
    inside: Bool[np.ndarray, "category head"], undecided: Bool[np.ndarray, "category head"]
) -> tuple[Float[np.ndarray, "category category"], Float[np.ndarray, "category category"]]:
    """Least and most heads in both of two categories as a share of those in either; NaN where neither can have any.

    Least: undecided heads are in one of both and not in the other. Most: they are in wherever the head can be in both,
    else out.
    """
    possible = inside | undecided
    n_inside, n_possible = (rows.astype(np.float64) @ rows.T for rows in (inside, possible))
    in_one = inside.astype(np.float64) @ ~possible.T
    can_be_in_one = possible.sum(axis=1)[:, None] + possible.sum(axis=1) - n_possible
    must_be_in_one = n_possible + in_one + in_one.T
    nobody = can_be_in_one == 0
    least, most = (
        np.where(nobody, np.nan, both / np.maximum(either, 1))
        for both, either in ((n_inside, can_be_in_one), (n_possible, must_be_in_one))
    )
    for bound in (least, most):
        np.fill_diagonal(bound, np.where(np.diag(nobody), np.nan, 1.0))
    return least, most
