"""What a results folder holds as one labelled tree."""

import json
from collections.abc import Mapping

import xarray as xr

from headcats.base.errors import DataError
from headcats.results.descriptors import DESCRIPTORS_NODE
from headcats.results.drop_table import DROPS, drop_table
from headcats.results.manifest import SUITE, Manifest


def tree(
    blocks: Mapping[tuple[str, str], xr.Dataset],
    manifest: Manifest,
    *,
    suite: str = "",
    descriptors: xr.Dataset | None = None,
) -> xr.DataTree:
    """Tree of a folder, as `load` describes it; the manifest must name the task of every block."""
    attrs = {
        "categories": json.dumps(manifest.category_entries(), ensure_ascii=False),
        "manifest": manifest.to_json(),
        **({"suite": suite} if suite else {}),
    }
    nodes = {"/": xr.Dataset(attrs=attrs)}
    for task, label in blocks:
        if task not in manifest.tasks and task != SUITE:
            raise DataError(f"Block {label!r} is of task {task!r}, which the manifest does not name.")
    for task, label in sorted(blocks, key=manifest.place):
        attrs = {} if task == SUITE else {"category": manifest.tasks[task].category}
        nodes.setdefault(f"/{task}", xr.Dataset(attrs=attrs))
        nodes[f"/{task}/{label}"] = blocks[task, label]
    if manifest.tasks:
        nodes[f"/{DROPS}"] = drop_table(manifest)
    if descriptors is not None:
        nodes[f"/{DESCRIPTORS_NODE}"] = descriptors
    return xr.DataTree.from_dict(nodes)
