"""Rules: estimates to three outcomes. 1 = in, 0 = undecided, -1 = out.

A rule takes a table with dims `(task | category, layer, head)` and judges helping heads, so members have positive
effects. Suppressing heads are the same rule on `negate(scores)`; the two are never merged. A head without a number is
undecided.

The tables of `hc.score` hold two-sided p values of "no effect". `hc.categorize` hands rules a table whose p values are
one-sided and test what the rule asks for.
"""

import functools
import inspect
import json
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, ParamSpec

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import DataError, HeadcatsError, OptionError, UnknownNameError, unknown_name_message
from headcats.base.guard import Guard, function_name, is_built_in
from headcats.base.registry import lookup, register
from headcats.results.label import format_call, parse_call
from headcats.scores.testing import mirrored

Options = ParamSpec("Options")


class Cutoffs(NamedTuple):
    """Numbers that a head must reach to be `in`, set by the whole table: fixed for resampled effects.

    A head is in where its effect, the low end of its interval and its p value reach all three.

    Attributes:
        effect: Smallest effect of a member, one number per row of the table (task or category), like the others.
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


@dataclass(frozen=True)
class Rule:
    """A rule with its options settled: call it on scores. Its repr is the call that makes it, defaults included.

    Scores are a table with `effect` and, as the rule needs them, `low`, `high`, `p_value` over
    `(task | category, layer, head)`; what comes back has one outcome for each of its heads.

    Attributes:
        judge: Scores -> 1, 0 or -1 for each of their cells.
        cutoffs_of: Scores -> `Cutoffs`, for a rule that looks at more than effects; None: see `cutoffs`.
        name: Its registered name; given by `rule`, like `options`.
        options: Name -> value, defaults included.
        least_effect: The effect that the p values of its table are to test; set by a rule that tests another than 0.
        takes_draws: Whether `judge` also takes a table with a dim `draw` and judges each draw by itself. Not needed,
            but faster: a rule is called on 100 draws without effects.

    Example:
        >>> import headcats as hc
        >>> rule = hc.rules.fdr(alpha=0.05)
        >>> rule
        fdr(alpha=0.05, min_effect=0.05)
        >>> outcome = rule(hc.score(hc.load("results/mini-icl"), method="denoising_patch"))
        >>> outcome.dims, set(outcome.values.ravel().tolist()) <= {1, 0, -1}
        (('task', 'layer', 'head'), True)
    """

    judge: Callable[[xr.Dataset], xr.DataArray] = field(compare=False)
    cutoffs_of: Callable[[xr.Dataset], Cutoffs] | None = field(default=None, compare=False)
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    takes_draws: bool = field(default=False, compare=False)
    least_effect: float = 0.0

    def __call__(self, scores: xr.Dataset) -> xr.DataArray:
        """Outcome of every head: int8 with the dims of `scores.effect`, 1 in, 0 undecided (NaN included), -1 out."""
        effect = scores["effect"]
        guard = Guard("Rule", self.name, self.judge)
        outcome = guard(self.judge, scores)
        if came := _no_outcome(outcome, effect):
            raise guard.refusal(f"1, 0 or -1 for each of the {dict(effect.sizes)} cells of `effect`", came)
        values = np.where(np.isnan(effect.values), 0, outcome.transpose(*effect.dims).values).astype(np.int8)
        return effect.copy(data=values).rename("outcome")

    def cutoffs(self, scores: xr.Dataset) -> Cutoffs:
        """Cutoffs of these scores: `cutoffs_of`, or the smallest effect among the members of a row.

        Args:
            scores: As in a call.

        Returns:
            One number per row of the table; infinite where a row has no member.

        Raises:
            ExtensionError: A rule of yours whose `cutoffs_of` raises something, or gives anything else.
        """
        effect = scores["effect"]
        rows = [dim for dim in effect.dims if dim not in ("layer", "head")]
        if self.cutoffs_of is not None:
            guard = Guard("Rule", self.name, self.cutoffs_of)
            return _checked_cutoffs(guard(self.cutoffs_of, scores), guard, n=effect.sizes[rows[0]])
        values = effect.where(self(scores) == 1).transpose(*rows, "layer", "head").values
        return effect_cutoffs(np.fmin.reduce(values, axis=(1, 2), initial=np.inf))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options.items())})"


def _no_outcome(outcome: Any, effect: xr.DataArray) -> str:
    """Problem of what a rule returned in place of an outcome for every cell; "" if there is none."""
    if not isinstance(outcome, xr.DataArray):
        return f"a {type(outcome).__name__}, no DataArray"
    if dict(outcome.sizes) != dict(effect.sizes):
        return str(dict(outcome.sizes))
    if any(not index.equals(effect.indexes[dim]) for dim, index in outcome.indexes.items() if dim in effect.indexes):
        return "other coordinates"
    if outcome.dtype.kind not in "iuf" or not np.isin(outcome.values, (-1, 0, 1)).all():
        return f"{outcome.dtype} values, such as {outcome.values.ravel()[0]!r:.40}"
    return ""


def _checked_cutoffs(cutoffs: Any, guard: Guard, *, n: int) -> Cutoffs:
    expected = f"Cutoffs of {n} numbers each, one per row of the table"
    if not isinstance(cutoffs, Cutoffs):
        raise guard.refusal(expected, cutoffs)
    arrays = [np.asarray(values) for values in cutoffs]
    if any(values.dtype.kind not in "iuf" or values.shape != (n,) or np.isnan(values).any() for values in arrays):
        raise guard.refusal(expected, f"shapes {[values.shape for values in arrays]}, or NaN or no numbers in them")
    return cutoffs


def effect_cutoffs(effects: Float[np.ndarray, " row"]) -> Cutoffs:
    """Cut-offs of a rule that looks at effects alone."""
    return Cutoffs(effects, np.full(len(effects), -np.inf), np.full(len(effects), np.inf))


def rule(make: Callable[Options, Rule]) -> Callable[Options, Rule]:
    """Register `f(*, options)`, which checks its options and returns a `Rule`, under the function's name.

    Options not in its signature raise a TypeError that names them; what is annotated as a number must be one.

    Args:
        make: Returns `Rule(judge)`, where `judge(scores)` gives 1, 0 or -1 for each cell of the scores' `effect`.

    Returns:
        The function; its rules know their name and options.

    Raises:
        DataError: A name that cannot be one of results or files.
        OptionError: A function without a name. By what it returns: a value that is no number, or that it refuses.
        ExtensionError: By what it returns: your function raises something, or returns no `Rule`.
        TypeError: By what it returns: an option that does not exist.

    Example:
        >>> import headcats as hc
        >>> import xarray as xr
        >>> @hc.rules.rule
        ... def sure(*, low=0.0):
        ...     if low < 0:
        ...         raise hc.errors.OptionError(f"low must be 0 or more; got {low}.")
        ...     return hc.rules.Rule(lambda scores: xr.where(scores.low > low, 1, xr.where(scores.high < low, -1, 0)))
        >>> sure(low=0.1)
        sure(low=0.1)
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> hc.categorize(scores, rule=sure(low=0.1)).member.dims
        ('category', 'layer', 'head')
    """
    name, signature = function_name("rule", make), inspect.signature(make)
    guard = Guard("Rule", name, make)

    @functools.wraps(make)
    def named(*args: Options.args, **options: Options.kwargs) -> Rule:
        unknown = [key for key in options if key not in signature.parameters]
        if unknown or args:
            wrong = ", ".join(map(repr, unknown)) or f"{len(args)} by position"
            names = ", ".join(signature.parameters) or "none"
            raise TypeError(f"{name}() got the options {wrong}; it takes {names}, by name.")
        bound = signature.bind(**options)
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if signature.parameters[key].annotation in (float, float | int) and not _is_number(value):
                raise OptionError(f"{name}({key}) needs a number, got {value!r}.")
        made = guard(make, **options)
        if not isinstance(made, Rule):
            raise guard.refusal("a rule, hc.rules.Rule(judge)", made)
        return replace(made, name=name, options=dict(bound.arguments))

    register("rule", name, named)
    return named


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def negate(scores: xr.Dataset) -> xr.Dataset:
    """Scores of the opposite sign: effect, low, high become -effect, -high, -low; two-sided p stays."""
    if "category" in scores["effect"].dims:
        raise DataError(
            "Category rows hold one-sided p values and cannot be negated; use `suppressing` of hc.categorize."
        )
    sources = {"low": "high", "high": "low", "specific_low": "specific_high", "specific_high": "specific_low"}
    sources |= {name: name for name in ("effect", "specific_effect", "resampled", "null_effect_t")}
    turned = scores.assign({name: -scores[source] for name, source in sources.items() if name in scores})
    if "null_t" in scores:
        turned["null_t"] = mirrored(scores["null_t"])
    return turned


def rule_text(rule: Rule) -> str:
    """A rule as it is written on the command line."""
    return format_call(rule.name, rule.options.items())


def parse_rule(text: str | Rule) -> Rule:
    """Read `fdr:alpha=0.05,min_effect=0.1` as a rule, checked by name, option and value; a rule stays as it is."""
    if isinstance(text, Rule):
        return text
    name, assignments = parse_call(text)
    make = lookup("rule", name)
    parameters = inspect.signature(make).parameters
    options: dict[str, Any] = {}
    for key, value in assignments.items():
        if key not in parameters:
            raise UnknownNameError(unknown_name_message(f"option of rule {name}", key, parameters))
        try:
            options[key] = json.loads(value)
            if not _is_number(options[key]):
                raise ValueError(value)
        except ValueError:
            raise OptionError(
                f"Option {key} of rule {name} must be a number, got {value!r}: write {name}:{key}=0.05."
            ) from None
    try:
        rule: Rule = make(**options)
    except TypeError as error:
        raise OptionError(f"Rule {text!r}: {error}. Options: {', '.join(parameters) or 'none'}.") from None
    return rule


def is_registered(rule: Rule) -> bool:
    """True if a rule is what headcats registers under its name, so that its name and options say all that it does."""
    try:
        registered = parse_rule(rule_text(rule))
    except HeadcatsError:
        return False
    codes = (lookup("rule", rule.name), rule.judge, rule.cutoffs_of)
    return rule == registered and all(is_built_in(code) for code in codes if code is not None)
