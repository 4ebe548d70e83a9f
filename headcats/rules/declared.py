"""What a rule declares beside its judgement: the range of its options, what a head must reach, what else it reads."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import xarray as xr
from jaxtyping import Float

Judge = TypeVar("Judge", bound=Callable[..., xr.DataArray])


class Cutoffs(NamedTuple):
    """What a head must reach to be `in`, as the whole table set it: fixed numbers for resampled effects.

    A head is in where its effect, the low end of its interval and its p value reach all three. Each has one number per
    row of the table.

    Attributes:
        effect: Smallest effect of a member, per row; as many numbers as the table has tasks or categories.
        low: Smallest low end of its interval.
        p_value: Largest p value.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> hc.rules.threshold(value=0.1).cutoffs(scores).effect
        array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    """

    effect: Float[np.ndarray, " row"]
    low: Float[np.ndarray, " row"]
    p_value: Float[np.ndarray, " row"]


def with_check(check: Callable[..., None]) -> Callable[[Judge], Judge]:
    """Decorator, below `@rule`: `check(*, options)` raises an OptionError for values out of range.

    It runs when the options are given, so that a wrong one does not wait for the scores.

    Args:
        check: Gets the options by name, defaults included.

    Returns:
        The decorator.

    Example:
        >>> import headcats as hc
        >>> def in_range(*, least):
        ...     if least < 0:
        ...         raise hc.errors.OptionError(f"least must be 0 or more; got {least}.")
        >>> @hc.rules.rule
        ... @hc.rules.with_check(in_range)
        ... def at_least(scores, *, least=0.1):
        ...     return (scores.effect >= least) * 2 - 1
        >>> at_least(least=-1)
        Traceback (most recent call last):
        headcats.errors.OptionError: least must be 0 or more; got -1.
    """

    def mark(judge: Judge) -> Judge:
        judge.check = check  # type: ignore[attr-defined]
        return judge

    return mark


def with_cutoffs(cutoffs: Callable[..., Cutoffs]) -> Callable[[Judge], Judge]:
    """Decorator, below `@rule`: `cutoffs(scores, *, options)` says what a head must reach to be in.

    Args:
        cutoffs: Gets the scores and the options by name, and returns `Cutoffs`.

    Returns:
        The decorator.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> def reached(scores, *, least):
        ...     rows = np.full(scores.sizes["task"], least)
        ...     return hc.rules.Cutoffs(effect=rows, low=rows, p_value=np.full(len(rows), np.inf))
        >>> @hc.rules.rule
        ... @hc.rules.with_cutoffs(reached)
        ... def low_at_least(scores, *, least=0.1):
        ...     return (scores.low >= least) * 2 - 1
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> low_at_least().cutoffs(scores).low
        array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    """

    def mark(judge: Judge) -> Judge:
        judge.cutoffs = cutoffs  # type: ignore[attr-defined]
        return judge

    return mark


def reads(*variables: str) -> Callable[[Judge], Judge]:
    """Decorator, below `@rule`: variables of the scores that the rule needs beside effects, intervals and p values.

    In `hc.categorize` only tasks that have numbers of all of them count.

    Args:
        *variables: Their names.

    Returns:
        The decorator.

    Example:
        >>> import headcats as hc
        >>> hc.rules.null_calibrated().reads
        ('null_effect',)
    """

    def mark(judge: Judge) -> Judge:
        judge.reads = variables  # type: ignore[attr-defined]
        return judge

    return mark


def effect_cutoffs(effects: Float[np.ndarray, " row"]) -> Cutoffs:
    """Cut-offs of a rule that looks at effects alone."""
    return Cutoffs(effects, np.full(len(effects), -np.inf), np.full(len(effects), np.inf))
