"""What commands look at before they compute anything, and what they say of the results that they read."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headcats.cli.console import warn
from headcats.defaults import DEFAULT_RULE
from headcats.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

# Options of the scores that a map is made of, and what they are if not given.
SCORING = {
    "positions": None,
    "metric": None,
    "effect": "total",
    "rule": DEFAULT_RULE,
    "min_tasks": "half",
    "sign": "helping",
}


def check_names(rule: str, min_tasks: str, effect: str, sign: str) -> None:
    """A misspelt name should not wait for the scores."""
    from headcats.findings.mapping import EFFECTS, SIGNS, parse_min_tasks
    from headcats.rules.text import parse_rule

    parse_rule(rule), parse_min_tasks(min_tasks)
    check_choice("--effect", effect, EFFECTS)
    check_choice("--sign", sign, SIGNS)


def check_choice(option: str, value: str, known: Sequence[str]) -> None:
    """A misspelt value should not wait for the scores.

    Raises:
        OptionError: The value is none of those known.
    """
    if value not in known:
        raise OptionError(f"{option} must be {' or '.join(map(repr, known))}; got {value!r}.")


def refuse_unused(given: Mapping[str, str | None], *, by: str) -> None:
    """An option that would change nothing must not look as if it had.

    Args:
        given: Options of `SCORING` and their values.
        by: What does not read them, for the message.

    Raises:
        OptionError: One of them is not the default.
    """
    unused = [f"--{name.replace('_', '-')}" for name, value in given.items() if value != SCORING[name]]
    if unused:
        raise OptionError(f"{by} does not read {' and '.join(unused)}: leave that out.")


def note_control(method: str | None) -> None:
    """Say so where heads are asked of a control."""
    from headcats.findings.mapping import control_note

    if note := control_note(method or ""):
        warn(note)


def note_unfinished(results: "xr.DataTree") -> None:
    """Say so where a run was stopped before it had come to every task."""
    from headcats.results import manifest_of

    manifest = manifest_of(results)
    if left := manifest.unfinished():
        done = len(manifest.tasks)
        named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warn(
            f"This run is not finished: {done} of {done + len(left)} tasks are there (not {named}). The same "
            "`headcats run` goes on with it."
        )
