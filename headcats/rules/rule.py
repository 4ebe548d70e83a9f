"""Rules: estimates to three outcomes. 1 = in, 0 = undecided, -1 = out.

A rule takes a table with dims `(task | category, layer, head)` and judges helping heads, so members have positive
effects. Suppressing heads are the same rule on `negate(scores)`; the two are never merged. A head without a number is
undecided.

Two-sided and one-sided p: the tables of `hc.score` hold two-sided p values, and `fdr` takes the sign from `low >=
min_effect`. `hc.categorize` hands rules a table whose p values are already one-sided for the direction asked about.
"""

import functools
import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.errors import DataError, OptionError
from headcats.registry import register

Options = ParamSpec("Options")
Judge = TypeVar("Judge", bound=Callable[..., xr.DataArray])


class Cutoffs(NamedTuple):
    """What a head must reach to be `in`, as the whole table set it: fixed numbers for resampled effects.

    A head is in where its effect, the low end of its interval and its p value reach all three. Each has one number per
    row of the table.
    """

    effect: Float[np.ndarray, " row"]
    low: Float[np.ndarray, " row"]
    p_value: Float[np.ndarray, " row"]


@dataclass(frozen=True)
class Rule:
    """A rule with its options settled: call it on scores. Its repr is the call that makes it, defaults included."""

    name: str
    options: Mapping[str, Any]
    judge: Callable[..., xr.DataArray]

    def __call__(self, scores: xr.Dataset) -> xr.DataArray:
        """Outcome of every head: int8 with the dims of `scores.effect`, 1 in, 0 undecided (NaN included), -1 out."""
        effect = scores["effect"]
        outcome = self.judge(scores, **self.options).transpose(*effect.dims)
        if outcome.shape != effect.shape or not np.isin(outcome.values, (-1, 0, 1)).all():
            raise DataError(
                f"Rule {self.name!r} must return 1, 0 or -1 for each of the {dict(effect.sizes)} cells of `effect`; "
                f"it returned {dict(outcome.sizes)} with values {np.unique(outcome.values)[:5].tolist()}."
            )
        judged = np.where(np.isnan(effect.values), 0, outcome.values).astype(np.int8)
        return effect.copy(data=judged).rename("outcome")

    @property
    def reads(self) -> tuple[str, ...]:
        """Variables it needs beside effects, intervals and p values; a task without them cannot be judged by it."""
        return getattr(self.judge, "reads", ())

    def cutoffs(self, scores: xr.Dataset) -> Cutoffs:
        """What a head had to reach in these scores.

        Rules that look at intervals and p values say it themselves (`with_cutoffs`); of others it is the smallest
        effect among the members of a row, infinite where there is none.
        """
        own = getattr(self.judge, "cutoffs", None)
        if own is not None:
            return own(scores, **self.options)
        effect = scores["effect"]
        rows = [dim for dim in effect.dims if dim not in ("layer", "head")]
        values = effect.where(self(scores) == 1).transpose(*rows, "layer", "head").values
        return effect_cutoffs(np.fmin.reduce(values, axis=(1, 2), initial=np.inf))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options.items())})"


def rule(judge: Callable[Concatenate[xr.Dataset, Options], xr.DataArray]) -> Callable[Options, Rule]:
    """Register `f(scores, *, options)` as a rule: `f(*, options)` then gives a `Rule`, a callable on scores.

    The registered name is the function's. Options not in its signature raise a TypeError that names them; values are
    checked at once: numbers to be numbers, and what the rule's own check says (`with_check`).
    """
    name = judge.__name__
    signature = inspect.signature(judge)
    known = list(signature.parameters)[1:]
    signature = signature.replace(parameters=[signature.parameters[key] for key in known])

    @functools.wraps(judge)
    def make(*args: Options.args, **options: Options.kwargs) -> Rule:
        unknown = [key for key in options if key not in known]
        if unknown or args:
            wrong = ", ".join(map(repr, unknown)) or f"{len(args)} by position"
            raise TypeError(f"{name}() got the options {wrong}; it takes {', '.join(known) or 'none'}, by name.")
        bound = signature.bind(**options)
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if signature.parameters[key].annotation in (float, float | int) and not _is_number(value):
                raise OptionError(f"{name}({key}) needs a number, got {value!r}.")
        check = getattr(judge, "check", None)
        if check is not None:
            check(**bound.arguments)
        return Rule(name, dict(bound.arguments), judge)

    make.__signature__ = signature  # type: ignore[attr-defined]
    register("rule", name, make)
    return make


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def with_check(check: Callable[..., None]) -> Callable[[Judge], Judge]:
    """Decorator, below `@rule`: `check(*, options)` raises an OptionError for values out of range.

    It runs when the options are given, so that a wrong one does not wait for the scores.
    """

    def mark(judge: Judge) -> Judge:
        judge.check = check  # type: ignore[attr-defined]
        return judge

    return mark


def with_cutoffs(cutoffs: Callable[..., Cutoffs]) -> Callable[[Judge], Judge]:
    """Decorator, below `@rule`: `cutoffs(scores, *, options)` says what a head must reach to be in."""

    def mark(judge: Judge) -> Judge:
        judge.cutoffs = cutoffs  # type: ignore[attr-defined]
        return judge

    return mark


def reads(*variables: str) -> Callable[[Judge], Judge]:
    """Decorator, below `@rule`: variables of the scores that the rule needs beside effects, intervals and p values.

    In `hc.categorize` only tasks that have numbers of all of them count.
    """

    def mark(judge: Judge) -> Judge:
        judge.reads = variables  # type: ignore[attr-defined]
        return judge

    return mark


def effect_cutoffs(effects: Float[np.ndarray, " row"]) -> Cutoffs:
    """Cut-offs of a rule that looks at effects alone."""
    return Cutoffs(effects, np.full(len(effects), -np.inf), np.full(len(effects), np.inf))


def negate(scores: xr.Dataset) -> xr.Dataset:
    """The same scores asked the opposite way: effect, low, high become -effect, -high, -low; two-sided p stays.

    Task-specific effects likewise.

    `rule(negate(scores))` finds suppressing heads.

    Raises:
        DataError: rows are categories, whose p values are one-sided; `hc.categorize` judges both directions itself.
    """
    if "category" in scores["effect"].dims:
        raise DataError(
            "Category rows hold one-sided p values and cannot be negated; use `suppressing` of hc.categorize."
        )
    mirrored = {"low": "high", "high": "low", "specific_low": "specific_high", "specific_high": "specific_low"}
    mirrored |= {name: name for name in ("effect", "specific_effect", "null_effect", "resampled", "flipped")}
    return scores.assign({name: -scores[other] for name, other in mirrored.items() if name in scores})
