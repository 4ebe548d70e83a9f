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
from typing import Any, Concatenate, ParamSpec

import numpy as np
import xarray as xr

from headcats.errors import DataError, OptionError
from headcats.registry import register
from headcats.rules.declared import Cutoffs, effect_cutoffs

Options = ParamSpec("Options")


@dataclass(frozen=True)
class Rule:
    """A rule with its options settled: call it on scores. Its repr is the call that makes it, defaults included.

    Scores are a table with `effect` and, as the rule needs them, `low`, `high`, `p_value` over
    `(task | category, layer, head)`; what comes back has one outcome for each of its heads.

    Attributes:
        name: Its registered name.
        options: Name -> value, defaults included.
        judge: The function that was decorated.

    Example:
        >>> import headcats as hc
        >>> rule = hc.rules.fdr(alpha=0.05)
        >>> rule
        fdr(alpha=0.05, min_effect=0.05)
        >>> outcome = rule(hc.score(hc.load("results/mini-icl"), method="denoising_patch"))
        >>> outcome.dims, set(outcome.values.ravel().tolist()) <= {1, 0, -1}
        (('task', 'layer', 'head'), True)
    """

    name: str
    options: Mapping[str, Any]
    judge: Callable[..., xr.DataArray]

    def __call__(self, scores: xr.Dataset) -> xr.DataArray:
        """Outcome of every head: int8 with the dims of `scores.effect`, 1 in, 0 undecided (NaN included), -1 out.

        Args:
            scores: What `hc.score` returns, or a table like it.

        Returns:
            As described.

        Raises:
            DataError: The rule gives something else than 1, 0 and -1, or whatever it refuses itself.
        """
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

        Args:
            scores: As in a call.

        Returns:
            One number per row of the table.
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

    Args:
        judge: `f(scores, *, options)`: from a table with `effect` and more over `(task | category, layer, head)` to 1,
            0 or -1 for each of its cells.

    Returns:
        A function of the options that gives a `Rule`.

    Raises:
        DataError: A name that cannot be one of results or files.
        OptionError: By what it returns: a value that is no number, or that the check refuses.
        TypeError: By what it returns: an option that does not exist.

    Example:
        >>> import headcats as hc
        >>> import xarray as xr
        >>> @hc.rules.rule
        ... def sure(scores, *, low=0.0):
        ...     return xr.where(scores.low > low, 1, xr.where(scores.high < low, -1, 0))
        >>> sure(low=0.1)
        sure(low=0.1)
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> hc.categorize(scores, rule=sure(low=0.1)).member.dims
        ('category', 'layer', 'head')
    """
    name = judge.__name__
    signature = inspect.signature(judge)
    known = list(signature.parameters)[1:]
    signature = signature.replace(parameters=[signature.parameters[key] for key in known], return_annotation=Rule)

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


def negate(scores: xr.Dataset) -> xr.Dataset:
    """The same scores asked the opposite way: effect, low, high become -effect, -high, -low; two-sided p stays.

    Task-specific effects likewise.

    `rule(negate(scores))` finds suppressing heads.

    Args:
        scores: What `hc.score` returns.

    Returns:
        The same variables with the same dims, in the same unit.

    Raises:
        DataError: rows are categories, whose p values are one-sided; `hc.categorize` judges both directions itself.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> bool((hc.rules.negate(scores).effect == -scores.effect).all())
        True
        >>> suppressing = hc.rules.fdr()(hc.rules.negate(scores))  # 1: the head hurts
    """
    if "category" in scores["effect"].dims:
        raise DataError(
            "Category rows hold one-sided p values and cannot be negated; use `suppressing` of hc.categorize."
        )
    mirrored = {"low": "high", "high": "low", "specific_low": "specific_high", "specific_high": "specific_low"}
    mirrored |= {name: name for name in ("effect", "specific_effect", "null_effect", "resampled", "flipped")}
    return scores.assign({name: -scores[other] for name, other in mirrored.items() if name in scores})
