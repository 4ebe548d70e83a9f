"""Tables of methods that judge heads over a whole suite, and the figures that read them."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.cli.settings import DEFAULTS, OF_STUDY, OF_SUITE
from headcats.errors import OptionError
from headcats.registry import names
from headcats.results import SUITE, slug, suite_blocks
from headcats.tasks import Suite, Task, suite

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
_NEEDS: dict[str, tuple[str, str, Callable[[Suite, Sequence[Task]], bool]]] = {
    "token_probe": (
        "tasks that are answered in sentences",
        "sentences",
        lambda of, tasks: any(task.exact for task in tasks),
    ),
    "function_probe": (
        "tasks of at least two categories",
        "cognitive",
        lambda of, tasks: len({of.category_of(task).name for task in tasks}) > 1,
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


def figure_commands(results: xr.DataTree, folder: Path, method: str) -> list[str]:
    """The commands that draw the blocks of a method in a results folder; none where it holds none.

    Args:
        results: What is in the folder.
        folder: The folder.
        method: The method, with or without options.
    """
    figure = FIGURE_OF[method.partition(":")[0]]
    return [
        f"headcats figure {figure} {folder} --method {label} --out {figure_file(block, figure)}"
        for label, block in suite_blocks(results).items()
        if method in (label, label.partition(":")[0])
    ]


def _how_to_get(name: str, manifest: Mapping[str, Any]) -> str:
    """What to do to have a method's table: a command that goes on in the folder, or one that makes another folder."""
    plan = manifest["plan"]
    if plan["suite"] not in names("suite"):
        return _the_same_run(name)
    of, asked = suite(plan["suite"]), _tasks(manifest)
    needed, example, met = _NEEDS.get(name, ("", "", lambda of, tasks: True))
    if not met(of, of.tasks):
        return (
            f"it needs {needed}, and suite {plan['suite']!r} has none. `headcats run --suite {example} --methods "
            f"{name} --out NEW_DIR` makes results with it."
        )
    if not _can_be_named(manifest["model"]) or not asked <= {task.name for task in of.tasks}:
        return _the_same_run(name)
    all_needed = not met(of, [task for task in of.tasks if task.name in asked])
    tasks = [] if all_needed else [task.name for task in of.tasks if task.name in asked]
    why = f"it needs {needed}, which this run had not; with all tasks of the suite, " if all_needed else ""
    options = _options(manifest, tasks=None if len(tasks) in (0, len(of.tasks)) else tasks)
    return f"{why}`headcats run --methods {name}{options} --out DIR` adds it to the folder DIR."


def _the_same_run(name: str) -> str:
    """Where the model or the tasks have no name that a command could take."""
    return f"repeat the run that made them with --methods {name} (methods=[{name!r}]) and the same folder to add it."


def _can_be_named(model: Mapping[str, Any]) -> bool:
    """Whether the name of a model is enough to load it: a bundled one, or one of the hub, whose commit is known."""
    return model.get("revision") is not None or model["name"] in {some["model"] for some in OF_SUITE.values()}


def _tasks(manifest: Mapping[str, Any]) -> set[str]:
    """Names of the tasks that a run was asked for."""
    of_suite = manifest["blocks"].get(SUITE, {}).values()
    return {
        *manifest["tasks"],
        *manifest.get("asked", ()),
        *(task for one in of_suite for task in one.get("tasks", ())),
    }


def _options(manifest: Mapping[str, Any], *, tasks: list[str] | None) -> str:
    """The options of the command line that give a run again, where they are not the default."""
    plan, model = manifest["plan"], manifest["model"]
    usual = DEFAULTS | OF_STUDY | OF_SUITE.get(plan["suite"], {})
    backend = "hooked" if model.get("model_class") == "HookedTransformer" else DEFAULTS["backend"]
    known = {key: model.get(key, DEFAULTS[key]) for key in ("revision", "dtype")}
    asked = {"model": model["name"]} | plan | known | {"backend": backend, "tasks": tasks}
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
