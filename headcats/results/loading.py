"""Results of a run as one labelled tree, read from a folder or the hub."""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headcats.errors import DamagedFileError, DataError, StorageError, StorageWarning, pluralize
from headcats.results.descriptors import DESCRIPTORS_NODE
from headcats.results.drop_table import DROPS, drop_table
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import MANIFEST, SUITE, Manifest
from headcats.results.no_results import no_results
from headcats.results.origin import other_model
from headcats.results.place import Place, find_place

_NAMED = 3
"""Files that a message names."""


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of a run, from its folder or from the Hugging Face hub.

    Args:
        path: The folder that `hc.run(out=...)` or `headcats run` wrote; or "hf://owner/name", where `hc.push` put it,
            with "@" and a branch, tag or commit for another one than the newest. What was fetched once is also read
            without network.

    Returns:
        A tree with one node `/<task>/<method@positions>` per block: `patched (metric, prompt, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)` in each metric's own unit. Task nodes carry the attribute
        `category`; the root carries `categories` (names, order, colours; JSON), `manifest` (JSON) and `suite` (its
        tasks with their pairs; JSON). A joint method (`ov_relation`, `head_gating`, ...) has the node
        `/_suite/<method>`, whose content its docstring describes (see `hc.suite_blocks`). The node `/_drops` is a table
        of what was kept and dropped of every task, and why: `results["_drops"].to_dataset().to_dataframe()`. The node
        `/_descriptors` holds what `hc.describe_heads` says of the model and of the scored prompts, which folders of
        earlier versions lack until the run is repeated.

    Raises:
        StorageError: No such folder, or no manifest in it, or a damaged one.

    Warns:
        StorageWarning: A block, the suite or the descriptors are damaged, missing, or of another run. The results are
            without them, and the attribute `missing` of the root (JSON) says which, why, and what to do.

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
    return read_results(find_place(path))


def read_results(place: Place) -> xr.DataTree:
    """`load` of a place that is found already."""
    folder = ResultsFolder(place.folder)
    manifest = folder.read_manifest() if folder.manifest_path.is_file() else None
    if manifest is None:
        raise StorageError(no_results(folder.path))
    # The manifest first: what it names is there, and what a run has added since then is not missed.
    blocks, problems = folder.read_blocks(manifest)
    suite, descriptors = "", None
    try:
        suite = folder.read_suite()
    except DamagedFileError as error:
        problems[folder.suite_path.name] = str(error)
    try:
        descriptors = folder.read_descriptors()
    except DamagedFileError as error:
        problems[folder.descriptors_path.name] = str(error)
    if descriptors is not None and (problem := other_model(descriptors, manifest.model)):
        problem = f"{folder.descriptors_path} is of {problem} than {MANIFEST} says."
        problems[folder.descriptors_path.name] = f"{problem} Delete it and repeat the `headcats run`."
        descriptors = None
    for name in manifest.beside:
        if not (folder.path / name).exists():
            problems[name] = f"{folder.path / name} is missing. The same `headcats run` makes it again."
    if problems and place.on_hub:
        raise StorageError(
            f"The copy of {place} in the cache is not whole: it lacks {pluralize(len(problems), 'file')}, "
            f"{next(iter(problems))} first; read it again with network."
        )
    results = tree(blocks, manifest, suite=suite, descriptors=descriptors)
    if problems:
        results.attrs["missing"] = json.dumps(problems, ensure_ascii=False)
        warnings.warn(_missing(folder.path, problems), StorageWarning, stacklevel=3)
    # As xarray says it of a file; copies keep it, and netCDF does not store it.
    results.encoding |= {"source": place.address, "folder": os.fspath(place.folder)}
    return results


def read_whole_results(place: Place) -> xr.DataTree:
    """`read_results` for what copies them; a DamagedFileError where a file is damaged or missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageWarning)
        results = read_results(place)
    if "missing" in results.attrs:
        raise DamagedFileError(next(iter(json.loads(results.attrs["missing"]).values())))
    return results


def _missing(folder: Path, problems: Mapping[str, str]) -> str:
    more = f" And {pluralize(len(problems) - _NAMED, 'file')} more." if len(problems) > _NAMED else ""
    lines = " ".join(list(problems.values())[:_NAMED])
    return f"{folder} lacks {pluralize(len(problems), 'file')}, which what follows leaves out. {lines}{more}"


def place_of(results: xr.DataTree) -> Place | None:
    """Where results were read from; None for results in memory."""
    source = results.encoding.get("source")
    return None if source is None else Place(source, Path(results.encoding.get("folder", source)))


def tree(
    blocks: Mapping[tuple[str, str], xr.Dataset],
    manifest: Manifest,
    *,
    suite: str = "",
    descriptors: xr.Dataset | None = None,
) -> xr.DataTree:
    """What a folder holds as the tree that `load` describes; the manifest must name the task of every block."""
    attrs = {
        "categories": json.dumps(manifest.category_entries(), ensure_ascii=False),
        "manifest": manifest.to_json(),
        **({"suite": suite} if suite else {}),
    }
    nodes = {"/": xr.Dataset(attrs=attrs)}
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
    if manifest.tasks:
        nodes[f"/{DROPS}"] = drop_table(manifest)
    if descriptors is not None:
        nodes[f"/{DESCRIPTORS_NODE}"] = descriptors
    return xr.DataTree.from_dict(nodes)
