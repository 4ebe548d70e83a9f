"""What commands look at before they compute anything, and what they say of the results that they read."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from headcats.cli.console import warn
from headcats.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

    from headcats.results.label import Label


def check_choice(option: str, value: str, known: Sequence[str]) -> None:
    """A misspelt value should not wait for the scores.

    Raises:
        OptionError: The value is none of those known.
    """
    if value not in known:
        raise OptionError(f"{option} must be {' or '.join(map(repr, known))}; got {value!r}.")


def refuse_unused(options: Iterable[str], *, by: str) -> None:
    """Refuse options that would change nothing.

    Args:
        options: Options that were set, such as those of `Reading.options`.
        by: What does not read them, for the message.

    Raises:
        OptionError: There are some.
    """
    if unused := [f"--{name}" for name in options]:
        raise OptionError(f"{by} does not read {' and '.join(unused)}: leave that out.")


def note_control(label: "Label") -> None:
    """Warn where a map is asked of a control."""
    from headcats.results.declaration import registered

    declaration = registered(label.name)
    if declaration.control_of:
        warn(f"{label.name} is a control: {declaration.caution}")


def note_unfinished(results: "xr.DataTree") -> None:
    """Say so where a run was stopped before it had come to every task."""
    from headcats.results.tree import manifest_of

    manifest = manifest_of(results)
    if left := manifest.unfinished():
        done = len(manifest.tasks)
        named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warn(
            f"This run is not finished: {done} of {done + len(left)} tasks are there (not {named}). The same "
            "`headcats run` goes on with it."
        )
