"""Tables of methods that judge heads over a whole suite, and the figures that read them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.cli.settings import DEFAULTS, OF_STUDY, OF_SUITE
from headcats.errors import OptionError
from headcats.registry import names
from headcats.results import slug, suite_blocks
from headcats.tasks import Suite, suite

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
# Methods that not every suite has tasks for -> what they need, and a bundled suite that has it.
_NEEDS: dict[str, tuple[str, str, Callable[[Suite], bool]]] = {
    "token_probe": (
        "tasks that are answered in sentences",
        "sentences",
        lambda tasks: any(task.exact for task in tasks.tasks),
    ),
    "function_probe": (
        "tasks of at least two categories",
        "cognitive",
        lambda tasks: len({tasks.category_of(task).name for task in tasks.tasks}) > 1,
    ),
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
    labels = [label for label in blocks if label.partition(":")[0] == name]
    if method in labels:
        return blocks[str(method)]
    if not labels:
        raise OptionError(f"These results hold no {name}: {_how_to_get(name, json.loads(results.attrs['manifest']))}")
    if method not in (None, name) or len(labels) > 1:
        asked = "" if method is None else f", and not {method!r}"
        raise OptionError(f"These results hold {' and '.join(labels)}{asked}: choose one with --method.")
    return blocks[labels[0]]


def figure_command(block: xr.Dataset, folder: Path) -> str:
    """The command that draws a block of a results folder."""
    label = str(block.attrs["label"])
    figure = FIGURE_OF[label.partition(":")[0]]
    return f"headcats figure {figure} {folder} --method {label} --out {figure_file(block, figure)}"


def _how_to_get(name: str, manifest: Mapping[str, Any]) -> str:
    """What to do to have a method's table: a command that goes on in the folder, or one that makes another folder."""
    plan = manifest["plan"]
    if name in _NEEDS and plan["suite"] in names("suite"):
        needed, example, met = _NEEDS[name]
        if not met(suite(plan["suite"])):
            return (
                f"it needs {needed}, and suite {plan['suite']!r} has none. `headcats run --suite {example} --methods "
                f"{name} --out NEW_DIR` makes results with it."
            )
    return f"`headcats run --methods {name}{_options(manifest)} --out DIR` adds it to the folder DIR."


def _options(manifest: Mapping[str, Any]) -> str:
    """The options of the command line that give the plan of a manifest again, where they are not the default."""
    plan, model = manifest["plan"], manifest["model"]["name"]
    usual = DEFAULTS | OF_STUDY | OF_SUITE.get(plan["suite"], {})
    asked = {"model": model} | plan
    differ = {key: value for key, value in asked.items() if value != usual.get(key)}
    texts = {key: ",".join(value) if isinstance(value, list) else value for key, value in differ.items()}
    return "".join(f" --{key.replace('_', '-')} {value}" for key, value in texts.items())


def figure_file(block: xr.Dataset, figure: str) -> str:
    """File of a figure of a block in a results folder; options of the method that are not the default are in it."""
    options = str(block.attrs["label"]).partition(":")[2]
    return f"{figure}{'-' + slug(options.replace(',', '-')) if options else ''}.html"


def suite_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"
