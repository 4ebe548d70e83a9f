"""A results folder as one labelled tree."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.errors import DataError, StorageError
from headcats.results.folder import MANIFEST, SUITE, ResultsFolder
from headcats.results.label import Label

_NAMED = 5
"""Results folders that a message names."""


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of a run, from its folder.

    Args:
        path: The folder that `hc.run(out=...)` or `headcats run` wrote.

    Returns:
        A tree with one node `/<task>/<method@positions>` per block: `patched (metric, prompt, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)` in each metric's own unit. Task nodes carry the attribute
        `category`; the root carries `categories` (names, order, colours; JSON) and `manifest` (JSON). A method that
        judges heads over all tasks at once (`ov_relation`, `head_gating`, ...) has the node `/_suite/<method>`, whose
        content its docstring describes (see `hc.suite_blocks`).

    Raises:
        StorageError: No such folder, no manifest in it, or a damaged file.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> sorted(results["plural"])
        ['denoising_patch@last', 'mean_ablation@all', 'second_corruption_patch@last']
        >>> block = results["plural"]["denoising_patch@last"]
        >>> block.patched.dims, block.clean.dims
        (('metric', 'prompt', 'layer', 'head'), ('metric', 'prompt'))
        >>> results["plural"].attrs["category"]
        'Linguistic'
    """
    folder = ResultsFolder(path)
    if not folder.manifest_path.is_file():
        raise StorageError(_no_results(folder.path))
    manifest = folder.read_manifest() or {}
    found = tree(folder.read_blocks(), manifest)
    # As xarray says it of a file; copies keep it, and netCDF does not store it.
    found.encoding["source"] = os.fspath(path)
    return found


def _no_results(path: Path) -> str:
    """What is wrong with a path that holds no results, and where there are some."""
    if path.is_file():
        return f"{path} is a file; a results folder is a folder."
    try:
        inside = sorted(manifest.parent.as_posix() for manifest in path.glob(f"*/{MANIFEST}"))
    except OSError:
        inside = []
    found = f"{path} is no results folder (it has no {MANIFEST})"
    if inside:
        more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
        return f"{found}, but there are some in it: {', '.join(inside[:_NAMED])}{more}. Name one of these."
    return f"{found}; run `headcats run --out {path}` first."


def task_nodes(results: xr.DataTree) -> dict[str, xr.DataTree]:
    """Task -> its node; what belongs to the whole suite is not among them."""
    return {str(name): node for name, node in results.children.items() if not str(name).startswith("_")}


def scored_labels(results: xr.DataTree) -> list[Label]:
    """Labels of the methods that scored single tasks, in the order of the study."""
    labels = list(dict.fromkeys(str(label) for node in task_nodes(results).values() for label in node.children))
    order = [*json.loads(results.attrs.get("manifest", "{}")).get("methods", []), *labels]
    return [Label.parse(label) for label in sorted(labels, key=order.index)]


def suite_blocks(results: xr.DataTree) -> dict[str, xr.Dataset]:
    """Method -> what it found over the whole suite, for methods such as `ov_relation`; {} where none was run.

    Args:
        results: As `hc.load` returns them.

    Returns:
        One dataset per method; its variables, their dims and units are those that the method itself returns.

    Example:
        >>> import headcats as hc
        >>> hc.suite_blocks(hc.load("results/mini-icl"))  # no such method was run there
        {}
    """
    if SUITE not in results.children:
        return {}
    return {str(label): node.to_dataset() for label, node in results[SUITE].children.items()}


def unfinished_tasks(results: xr.DataTree) -> list[str]:
    """Tasks that a run was asked for and has not come to: it was stopped. Refused tasks are finished."""
    manifest = json.loads(results.attrs.get("manifest", "{}"))
    return [task for task in manifest.get("asked", []) if task not in manifest["tasks"]]


def tree(blocks: Mapping[tuple[str, str], xr.Dataset], manifest: Mapping[str, Any]) -> xr.DataTree:
    """Blocks and manifest as the tree that `load` describes.

    Raises:
        DataError: A block of a task that the manifest does not know.
    """
    nodes: dict[str, xr.Dataset] = {
        "/": xr.Dataset(
            attrs={
                "categories": json.dumps(manifest["categories"], ensure_ascii=False),
                "manifest": json.dumps(manifest, ensure_ascii=False),
            }
        )
    }
    order = {name: place for place, name in enumerate(manifest["tasks"])}
    asked = {label: place for place, label in enumerate(manifest.get("methods", []))}

    def place(entry: tuple[tuple[str, str], xr.Dataset]) -> tuple[int, int]:
        task, label = entry[0]
        return order.get(task, len(order)), asked.get(label, len(asked)) if task == SUITE else 0

    for (task, label), block in sorted(blocks.items(), key=place):
        if task not in manifest["tasks"] and task != SUITE:
            raise DataError(f"Block {label!r} is of task {task!r}, which the manifest does not name.")
        about = {} if task == SUITE else {"category": manifest["tasks"][task]["category"]}
        nodes.setdefault(f"/{task}", xr.Dataset(attrs=about))
        nodes[f"/{task}/{label}"] = block
    return xr.DataTree.from_dict(nodes)
