"""Tables of methods that judge heads over a whole suite, and the figures that read them."""

import xarray as xr

from headcats.errors import OptionError
from headcats.results import slug, suite_blocks

# What a figure's first parameter is called -> the method whose table it is. Named here, since asking the methods
# themselves would load torch.
METHOD_OF = {
    "relations": "ov_relation",
    "gates": "head_gating",
    "importance": "function_probe",
    "token_map": "token_probe",
}
SUITE_METHODS = frozenset(METHOD_OF.values())


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
    labels = [label for label in blocks if label.partition(":")[0] == name]
    if method in labels:
        return blocks[str(method)]
    if not labels:
        raise OptionError(
            f"These results hold no {name}: `headcats run --methods {name} --out DIR` adds it to the folder."
        )
    if method not in (None, name) or len(labels) > 1:
        asked = "" if method is None else f", and not {method!r}"
        raise OptionError(f"These results hold {' and '.join(labels)}{asked}: choose one with --method.")
    return blocks[labels[0]]


def figure_file(block: xr.Dataset, figure: str) -> str:
    """File of a figure of a block in a results folder; options of the method that are not the default are in it."""
    options = str(block.attrs["label"]).partition(":")[2]
    return f"{figure}{'-' + slug(options.replace(',', '-')) if options else ''}.html"


def suite_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"
