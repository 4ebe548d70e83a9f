"""Check arguments; suggest the call that gives the right one.

`hc.load(folder)` -> results -> `hc.score` -> scores -> `hc.categorize` -> memberships, which `hc.overlap` keeps.
"""

import inspect
import os
from collections.abc import Mapping
from typing import Any

import xarray as xr

from headcats.base import registry
from headcats.base.errors import DataError, OptionError
from headcats.results.declaration import declaration_of
from headcats.results.head_axes import noun, unit_of
from headcats.results.label import parse_call
from headcats.rules.rule import Rule

FOLDER, RESULTS, SCORES, MEMBERS = "folder", "results", "scores", "memberships"
# Kind -> the call that makes it from the previous one.
_STEPS = {FOLDER: "{}", RESULTS: "hc.load({})", SCORES: "hc.score({}, method=...)", MEMBERS: "hc.categorize({})"}
_NAMED = {
    RESULTS: "the results that hc.run or hc.load returns",
    SCORES: "the scores that hc.score returns",
    MEMBERS: "the memberships that hc.categorize returns",
}


def check_is(value: Any, kind: str, *, by: str, came: str = "got") -> None:
    """Check that an argument of the function `by` is RESULTS, SCORES or MEMBERS; the error suggests a call."""
    actual = _kind(value)
    if actual == kind:
        return
    advice = _of_block(value, kind) or _advice(actual, kind)
    raise DataError(f"{by} takes {_NAMED[kind]}; {came} {described(value)}. {advice}")


def check_protocols(values: Any, *, by: str) -> None:
    """Check a dictionary, name of a protocol -> memberships; else a DataError."""
    actual = _kind(values)
    # A Dataset is a Mapping of its variables.
    if actual or not isinstance(values, Mapping) or isinstance(values, xr.Dataset):
        entries = f'"name": {_call(actual, MEMBERS) or "..."}' if actual else '"first": ..., "second": ...'
        raise DataError(
            f"{by} takes a dictionary, name of a protocol -> {_NAMED[MEMBERS]}; got {described(values)}. Write "
            f"{by}({{{entries}}})."
        )
    for name, value in values.items():
        check_is(value, MEMBERS, by=by, came=f"protocol {name!r} is")


def check_rule(rule: Any, *, by: str) -> None:
    """Check for a rule with its options, or None; an OptionError for its name, or a rule without its options."""
    if rule is None or isinstance(rule, Rule):
        return
    name = parse_call(rule)[0] if isinstance(rule, str) else getattr(rule, "__name__", "")
    call = repr(registry.lookup("rule", "fdr")())
    if name in registry.names("rule") and name != "fdr":
        options = inspect.signature(registry.lookup("rule", name)).parameters
        call = f"{name}({', '.join(f'{option}=...' for option in options)})"
    text = f"the function {name}" if callable(rule) else described(rule)
    text = f"the name {rule!r}" if isinstance(rule, str) else text
    raise OptionError(f"{by} takes a rule with its options; got {text}. Write rule=hc.rules.{call}.")


def check_same_heads(tables: Mapping[str, xr.Dataset | xr.DataArray]) -> None:
    """Check that tables of several names are of the same layers and heads."""
    first, reference = next(iter(tables.items()))
    for name, table in tables.items():
        units = [noun(unit_of(each)) for each in (reference, table)]
        if units[0] != units[1]:
            raise DataError(f"{first} judges every {units[0]}, {name} every {units[1]}: they cannot be compared.")
        for axis in ("layer", "head"):
            if reference[axis].values.tolist() != table[axis].values.tolist():
                raise DataError(
                    f"{first} and {name} have different {axis}s ({reference.sizes[axis]} and {table.sizes[axis]}): "
                    "heads of different models do not correspond."
                )


def _kind(value: Any) -> str:
    """The step that a value belongs to; "" for any other value."""
    if isinstance(value, str | os.PathLike):
        return FOLDER
    if isinstance(value, xr.DataTree):
        return RESULTS
    if not isinstance(value, xr.Dataset):
        return ""
    if "member" in value and "category" in value["member"].dims:
        return MEMBERS
    return SCORES if "effect" in value and "task" in value["effect"].dims else ""


def described(value: Any) -> str:
    """Name a value for messages."""
    kind = _kind(value)
    if kind == FOLDER:
        return f"the text {value!r}" if isinstance(value, str) else f"the path {os.fspath(value)!r}"
    if kind:
        return _NAMED[kind]
    if isinstance(value, xr.Dataset):
        names = [str(name) for name in value.data_vars]
        more = " and more" if len(names) > 5 else ""
        return f"a Dataset of {', '.join(names[:5])}{more}" if names else "an empty Dataset"
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _of_block(value: Any, kind: str) -> str:
    """The call that reads the block of a joint method that sorts heads; "" for anything else."""
    sorts = isinstance(value, xr.Dataset) and declaration_of(value).selection
    if not sorts or _kind(value):
        return ""
    call = "hc.categorize(block)"
    return f"Pass {call}." if kind == MEMBERS else f"Heads of a joint method are sorted by {call}."


def _advice(actual: str, expected: str) -> str:
    if call := _call(actual, expected):
        return f"Pass {call}."
    if actual:
        return f"Pass the {expected} that went into it."
    steps = list(_STEPS)
    return f"It is made by {_STEPS[expected].format(steps[steps.index(expected) - 1])}."


def _call(actual: str, expected: str) -> str:
    """The call that makes the expected kind from the actual one, "" if there is none."""
    steps = list(_STEPS)
    if not actual or steps.index(actual) > steps.index(expected):
        return ""
    call = actual
    for kind in steps[steps.index(actual) + 1 : steps.index(expected) + 1]:
        call = _STEPS[kind].format(call)
    return call
