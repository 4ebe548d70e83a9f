"""A results folder as one labelled tree."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headcats.errors import DataError, StorageError
from headcats.results.folder import ResultsFolder
from headcats.results.label import Label
from headcats.results.manifest import MANIFEST, SUITE, Manifest

_NAMED = 5
"""Results folders that a message names."""


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of a run, from its folder.

    Args:
        path: The folder that `hc.run(out=...)` or `headcats run` wrote.

    Returns:
        A tree with one node `/<task>/<method@positions>` per block: `patched (metric, prompt, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)` in each metric's own unit. Task nodes carry the attribute
        `category`; the root carries `categories` (names, order, colours; JSON) and `manifest` (JSON). A joint method
        (`ov_relation`, `head_gating`, ...) has the node `/_suite/<method>`, whose content its docstring describes (see
        `hc.suite_blocks`).

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
    results = tree(folder.read_blocks(), Manifest.read(folder.manifest_path))
    # As xarray says it of a file; copies keep it, and netCDF does not store it.
    results.encoding["source"] = os.fspath(path)
    return results


def _no_results(path: Path) -> str:
    """What is wrong with a path that holds no results, and where there are some."""
    if path.is_file():
        return f"{path} is a file; a results folder is a folder."
    try:
        inside = sorted(manifest.parent.as_posix() for manifest in path.glob(f"*/{MANIFEST}"))
    except OSError:
        inside = []
    problem = f"{path} is no results folder (it has no {MANIFEST})"
    if inside:
        more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
        return f"{problem}, but there are some in it: {', '.join(inside[:_NAMED])}{more}. Name one of these."
    return f"{problem}; run `headcats run --out {path}` first."


def find_manifest(results: xr.DataTree) -> Manifest | None:
    """The manifest of results; None for a part of them, or for a tree that was made by hand."""
    return Manifest.from_json(results.attrs["manifest"]) if "manifest" in results.attrs else None


def manifest_of(results: xr.DataTree) -> Manifest:
    """The manifest of results.

    Raises:
        DataError: They have none.
    """
    manifest = find_manifest(results)
    if manifest is None:
        raise DataError("These results have no manifest, which hc.run and hc.load put into their attributes.")
    return manifest


def task_nodes(results: xr.DataTree) -> dict[str, xr.DataTree]:
    """Task -> its node; what belongs to the whole suite is not among them."""
    return {str(name): node for name, node in results.children.items() if not str(name).startswith("_")}


def scored_labels(results: xr.DataTree) -> list[Label]:
    """Labels of the methods that scored single tasks, in the order of the study."""
    labels = list(dict.fromkeys(str(label) for node in task_nodes(results).values() for label in node.children))
    manifest = find_manifest(results) or Manifest()
    order = [*manifest.methods, *labels]
    return [Label.parse(label) for label in sorted(labels, key=order.index)]


def suite_blocks(results: xr.DataTree) -> dict[str, xr.Dataset]:
    """Joint method (such as `ov_relation`) -> its block; {} where none was run.

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


def tree(blocks: Mapping[tuple[str, str], xr.Dataset], manifest: Manifest) -> xr.DataTree:
    """Blocks and manifest as the tree that `load` describes.

    Raises:
        DataError: A block of a task that the manifest does not name.
    """
    categories = json.dumps(manifest.category_entries(), ensure_ascii=False)
    nodes = {"/": xr.Dataset(attrs={"categories": categories, "manifest": manifest.to_json()})}
    tasks, methods = list(manifest.tasks), manifest.methods

    def place(key: tuple[str, str]) -> tuple[int, int]:
        task, label = key
        if task != SUITE:
            return tasks.index(task), 0
        return len(tasks), methods.index(label) if label in methods else len(methods)

    for task, label in blocks:
        if task not in manifest.tasks and task != SUITE:
            raise DataError(f"Block {label!r} is of task {task!r}, which the manifest does not name.")
    for task, label in sorted(blocks, key=place):
        attrs = {} if task == SUITE else {"category": manifest.tasks[task].category}
        nodes.setdefault(f"/{task}", xr.Dataset(attrs=attrs))
        nodes[f"/{task}/{label}"] = blocks[task, label]
    return xr.DataTree.from_dict(nodes)
