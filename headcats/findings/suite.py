"""Tables of methods that judge heads over a whole suite: what they say, and the figures that show them."""

from collections.abc import Callable
from pathlib import Path

import xarray as xr

from headcats.errors import OptionError
from headcats.findings.adding import how_to_get
from headcats.results import Label, manifest_of, slug, suite_blocks
from headcats.summaries import function_probe, head_gating, ov_relation, token_probe

# What a figure's first parameter is called -> the method whose table it is. Named here, since asking the methods
# themselves would load torch.
METHOD_OF = {
    "relations": "ov_relation",
    "gates": "head_gating",
    "importance": "function_probe",
    "token_map": "token_probe",
}
SUITE_METHODS = frozenset(METHOD_OF.values())
# Method -> the figure that shows it.
FIGURE_OF = {
    "ov_relation": "ov_map",
    "head_gating": "always_any",
    "function_probe": "importance_grid",
    "token_probe": "layer_token",
}
# Method -> what its table says.
_SUMMARIES: dict[str, Callable[[xr.Dataset], list[str]]] = {
    "function_probe": function_probe.summary,
    "head_gating": head_gating.summary,
    "ov_relation": ov_relation.summary,
    "token_probe": token_probe.summary,
}


def suite_table(results: xr.DataTree, wanted: str, *, method: str | None = None) -> xr.Dataset:
    """The table of that name from saved results.

    Args:
        results: As `hc.load` returns them.
        wanted: A key of `METHOD_OF`.
        method: Which of several, with its options, such as "head_gating:preset=chg-mini"; None takes the only one.

    Raises:
        OptionError: The results hold none, or several and none was named.
    """
    name, blocks = METHOD_OF[wanted], suite_blocks(results)
    labels = [label for label in blocks if Label.parse(label).name == name]
    if method in labels:
        return blocks[str(method)]
    if not labels:
        raise OptionError(f"These results hold no {name}: {how_to_get(name, manifest_of(results))}")
    if method not in (None, name) or len(labels) > 1:
        asked = "" if method is None else f", and not {method!r}"
        raise OptionError(f"These results hold {' and '.join(labels)}{asked}: choose one with --method.")
    return blocks[labels[0]]


def figure_commands(results: xr.DataTree, folder: Path, method: str) -> list[str]:
    """The commands that draw the blocks of a method in a results folder; none where it holds none.

    Args:
        results: What is in the folder.
        folder: The folder.
        method: The method, with or without options.
    """
    figure = FIGURE_OF[Label.parse(method).name]
    return [
        f"headcats figure {figure} {folder} --method {label} --out {figure_file(block, figure)}"
        for label, block in suite_blocks(results).items()
        if method in (label, Label.parse(label).name)
    ]


def figure_file(block: xr.Dataset, figure: str) -> str:
    """File of a figure of a block in a results folder; options of the method that are not the default are in it."""
    options = "-".join(f"{name}={value}" for name, value in Label.parse(block.attrs["label"]).options)
    return f"{figure}{'-' + slug(options) if options else ''}.html"


def suite_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"


def suite_findings(block: xr.Dataset) -> list[str]:
    """The sentences that a run ends with, on one table; none for a method of another package.

    Args:
        block: The table, one of `hc.suite_blocks(results)`.
    """
    said = _SUMMARIES.get(str(block.attrs["method"]))
    return [] if said is None else said(block)
