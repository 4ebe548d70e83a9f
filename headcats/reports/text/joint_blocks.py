"""Blocks of joint methods: their findings, and which of them a figure shows."""

import json

import xarray as xr

from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup
from headcats.reports.text.finding import Finding, line
from headcats.reports.text.suggestions import how_to_add
from headcats.results.declaration import registered, registered_declarations
from headcats.results.label import Label
from headcats.results.tree import declarations, manifest_of, suite_blocks


def joint_block(
    results: xr.DataTree, figure: str, *, method: str | None = None, any_method: bool = False
) -> xr.Dataset | None:
    """The block of a joint method that a figure shows; None where the figure shows something else.

    Args:
        results: As `hc.load` returns them.
        figure: Name of the figure.
        method: Which of several, with its options, such as "head_gating:preset=chg-mini"; None takes the only one.
        any_method: Whether the figure also shows blocks of methods that declare another one.

    Raises:
        OptionError: The results hold none, or several and none was named.
    """
    blocks, declared = suite_blocks(results), declarations(results)
    if method is None:
        labels = [label for label in blocks if declared[label].figure == figure]
        of_figure = [name for name, about in registered_declarations().items() if about.figure == figure]
        missing = [name for name in of_figure if not labels and registered(name).kind == "joint"]
    else:
        name = Label.parse(method).name
        labels = [label for label in blocks if Label.parse(label).name == name]
        labels = [label for label in labels if any_method or declared[label].figure == figure]
        about = registered(name)
        missing = [name] if not labels and about.kind == "joint" and (any_method or about.figure == figure) else []
    if missing:
        advice = how_to_add(missing[0], manifest_of(results))
        raise OptionError(str(line("suggestion.lacking", method=missing[0], advice=advice)))
    if not labels:
        return None
    if method in labels:
        return blocks[str(method)]
    if len(labels) > 1 or (method is not None and method != Label.parse(labels[0]).name):
        absent = "" if method is None else f", and not {method!r}"
        raise OptionError(f"These results hold {' and '.join(labels)}{absent}: choose one with --method.")
    return blocks[labels[0]]


def suite_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"


def suite_findings(block: xr.Dataset) -> list[Finding]:
    """The findings that a run ends with, on one block.

    They are in the attribute `summary`; of a block written by an earlier version, the registered method is asked.

    Args:
        block: One of `hc.suite_blocks(results)`.
    """
    if "summary" in block.attrs:
        sentences = json.loads(block.attrs["summary"])
    else:
        try:
            sentences = lookup("method", str(block.attrs["method"])).summary(block)
        except UnknownNameError:
            return []
    return [line("methods.summary", text=text) for text in sentences]
