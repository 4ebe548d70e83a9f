"""Fits from several random starts, one after another: none shares a computation or a random stream with another."""

import warnings
from collections.abc import Callable
from typing import TypeVar

from headcats.errors import DataError, OptionError, StatisticsWarning

T = TypeVar("T")


def fit_each(fit: Callable[[int], T], n_seeds: int) -> dict[int, T]:
    """Number of a seed -> its fit, without those that diverge, which are named in a warning.

    Batching seeds would save nothing: gates act from the first layer on, so no two seeds have an activation in common.

    Raises:
        OptionError: Fewer than one seed.
        DataError: Every fit diverges; the message of the first.
    """
    if n_seeds < 1:
        raise OptionError(f"n_seeds must be at least 1, got {n_seeds}.")
    fits: dict[int, T] = {}
    problems: list[DataError] = []
    for number in range(n_seeds):
        try:
            fits[number] = fit(number)
        except DataError as problem:
            problems.append(problem)
    if not fits:
        raise problems[0]
    for left_out in problems:
        warnings.warn(f"Left out: {left_out}", StatisticsWarning, stacklevel=3)
    return fits
