"""What to look at where scores of tasks are asked of a method, or of results, that have none."""

from pathlib import Path

import xarray as xr

from headcats.errors import OptionError, UnknownNameError
from headcats.findings.suite import figure_commands
from headcats.registry import names, unknown_name_message
from headcats.results.declaration import registered
from headcats.results.label import Label
from headcats.results.tree import scored_labels, suite_blocks


def check_scored(results: xr.DataTree, folder: Path, method: str | None, *, by: str) -> None:
    """Refuse a method over the whole suite, and results without a scored task; the message says what fits them.

    Results that hold nothing at all are let pass: whoever reads them says so.

    Args:
        results: As `hc.load` returns them.
        folder: Where they lie, for the commands that are named.
        method: The method that was asked for, with or without options and positions; None for any.
        by: What reads scores of tasks, as the beginning of a sentence: "`headcats evidence`".

    Raises:
        OptionError: A method over the whole suite, or no scored task.
        UnknownNameError: No scored task, and a method that does not exist.
    """
    whole, scored = list(suite_blocks(results)), [str(label) for label in scored_labels(results)]
    label, commands = Label.parse(method or ""), drawn_by(results, folder)
    asked = label.method
    if any(Label.parse(block).name == label.name for block in whole) or registered(label.name).kind == "joint":
        own = drawn_by(results, folder, asked)
        held = f"; {own} draws it." if own else f". These results hold {_and(whole + scored)}."
        other = f" {by} reads scores of tasks: choose one of {', '.join(scored)} with --method." if scored else ""
        other = other or ("" if own or not commands else f" To look at that: {commands}.")
        raise OptionError(f"{asked} judges heads over the whole suite, so it has no scores of tasks{held}{other}")
    if scored or not whole:
        return
    look = f" To look at that: {commands}." if commands else ""
    held = f"{by} reads scores of tasks, and these results hold none, only {_and(whole)}.{look}"
    if method is not None and asked not in names("method"):
        raise UnknownNameError(f"{unknown_name_message('method', asked, names('method'))} {held}")
    raise OptionError(held)


def drawn_by(results: xr.DataTree, folder: Path, method: str | None = None) -> str:
    """The commands that draw what a method, or every one, found over the whole suite; "" where there are none.

    Args:
        results: As `hc.load` returns them.
        folder: Where they lie.
        method: The method, with or without options; None for all of them.
    """
    return " or ".join(f"`{line}`" for line in figure_commands(results, folder, method))


def _and(labels: list[str]) -> str:
    return " and ".join(labels) or "nothing"
