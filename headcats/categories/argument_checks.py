"""What a function was to be handed, what came, and which call makes the one of the other: one wording for all of them.

The road is `hc.load(folder)` -> results -> `hc.score` -> scores -> `hc.categorize` -> memberships -> `hc.overlap` ->
overlap. An overlap holds the memberships, so it passes for these.
"""

import inspect
import os
from collections.abc import Mapping
from typing import Any

import xarray as xr

from headcats import registry
from headcats.errors import DataError, OptionError
from headcats.results.label import parse_call
from headcats.rules import Rule, fdr

FOLDER, RESULTS, SCORES, MEMBERS, OVERLAP = "folder", "results", "scores", "memberships", "overlap"
# Kind -> how it is made from the one before.
_STEPS = {
    FOLDER: "{}",
    RESULTS: "hc.load({})",
    SCORES: "hc.score({}, method=...)",
    MEMBERS: "hc.categorize({})",
    OVERLAP: "hc.overlap({})",
}
_NAMED = {
    RESULTS: "the results that hc.run or hc.load returns",
    SCORES: "the scores that hc.score returns",
    MEMBERS: "the memberships that hc.categorize returns",
    OVERLAP: "the overlap that hc.overlap returns",
}


def check_is(value: Any, kind: str, *, by: str, came: str = "got") -> None:
    """Is this what the function takes?

    Args:
        value: What the function was handed.
        kind: What it takes: one of RESULTS, SCORES, MEMBERS, OVERLAP.
        by: Who asks: "hc.overlap".
        came: How it came, where that is no argument: "judge returned".

    Raises:
        DataError: It is something else; says what, and the call that leads from there to what was expected.
    """
    held = _kind(value)
    if held == kind or (held, kind) == (OVERLAP, MEMBERS):
        return
    raise DataError(f"{by} takes {_NAMED[kind]}; {came} {_said(value)}. {_way(held, kind)}")


def check_named(values: Any, kind: str, *, by: str, of: str) -> None:
    """Is this a dictionary of what the function takes?

    Args:
        values: What the function was handed.
        kind: What each value has to be, as in `check_is`.
        by: Who asks.
        of: What the names are names of: "run".

    Raises:
        DataError: No dictionary, or a value of it that is something else.
    """
    held = _kind(values)
    # Labelled data are mappings too: of their variables.
    if held or not isinstance(values, Mapping) or isinstance(values, xr.Dataset):
        listed = f'"name": {_call(held, kind) or "..."}' if held else '"first": ..., "second": ...'
        raise DataError(
            f"{by} takes a dictionary, name of a {of} -> {_NAMED[kind]}; got {_said(values)}. Write {by}({{{listed}}})."
        )
    for name, value in values.items():
        check_is(value, kind, by=by, came=f"{of} {name!r} is")


def check_rule(rule: Any, *, by: str) -> None:
    """Is this a rule with its options settled, or None?

    Raises:
        OptionError: It is the name of a rule, a rule without its options, or something else.
    """
    if rule is None or isinstance(rule, Rule):
        return
    name = parse_call(rule)[0] if isinstance(rule, str) else getattr(rule, "__name__", "")
    call = repr(fdr())
    if name in registry.names("rule") and name != "fdr":
        options = inspect.signature(registry.lookup("rule", name)).parameters
        call = f"{name}({', '.join(f'{option}=...' for option in options)})"
    came = f"the name {rule!r}" if isinstance(rule, str) else f"the function {name}" if callable(rule) else _said(rule)
    raise OptionError(f"{by} takes a rule with its options; got {came}. Write rule=hc.rules.{call}.")


def _kind(value: Any) -> str:
    """What it is on the road from a folder to an overlap; "" for anything else."""
    if isinstance(value, str | os.PathLike):
        return FOLDER
    if isinstance(value, xr.DataTree):
        return RESULTS
    if not isinstance(value, xr.Dataset):
        return ""
    if "member" in value and "category" in value["member"].dims:
        return OVERLAP if "expected" in value else MEMBERS
    return SCORES if "effect" in value and "task" in value["effect"].dims else ""


def _said(value: Any) -> str:
    """What came, in words."""
    kind = _kind(value)
    if kind == FOLDER:
        return f"the text {value!r}" if isinstance(value, str) else f"the path {os.fspath(value)!r}"
    if kind:
        return _NAMED[kind]
    if isinstance(value, xr.Dataset):
        held = [str(name) for name in value.data_vars]
        return (
            f"a Dataset of {', '.join(held[:5])}{' and more' if len(held) > 5 else ''}" if held else "an empty Dataset"
        )
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _way(came: str, wanted: str) -> str:
    """How to come to what was wanted."""
    if call := _call(came, wanted):
        return f"Pass {call}."
    if came:
        return f"Pass the {wanted} that went into it."
    road = list(_STEPS)
    return f"It is made by {_STEPS[wanted].format(road[road.index(wanted) - 1])}."


def _call(came: str, wanted: str) -> str:
    """The call that makes what was wanted of what came, "" where none does."""
    road = list(_STEPS)
    if not came or road.index(came) > road.index(wanted):
        return ""
    call = came
    for kind in road[road.index(came) + 1 : road.index(wanted) + 1]:
        call = _STEPS[kind].format(call)
    return call
