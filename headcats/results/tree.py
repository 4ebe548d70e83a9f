"""What a results folder holds as one labelled tree."""

import json
from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from headcats.base.errors import DataError
from headcats.results.descriptors import DESCRIPTORS_NODE
from headcats.results.manifest import SUITE, Manifest
from headcats.results.records import COUNTED, DropCounts

DROPS = "_drops"
"""Node of the table of what is kept and dropped. No task can have this name."""
_COLUMNS = ("task", "what", "reason", "n", "example")


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
        nodes[f"/{DROPS}"] = _drop_table(manifest)
    if descriptors is not None:
        nodes[f"/{DESCRIPTORS_NODE}"] = descriptors
    return xr.DataTree.from_dict(nodes)


def _drop_table(manifest: Manifest) -> xr.Dataset:
    """One row per task, `what` (of a method that leaves prompts out its label) and `reason`, "kept" among them."""
    rows = [row for task in manifest.tasks for row in _rows(manifest, task)]
    columns = {
        name: np.array([row[place] for row in rows], dtype=np.int64 if name == "n" else object)
        for place, name in enumerate(_COLUMNS)
    }
    return xr.Dataset({name: ("drop", values) for name, values in columns.items()})


def _rows(manifest: Manifest, task: str) -> Iterator[tuple[str, str, str, int, str]]:
    record = manifest.tasks[task]
    for name in COUNTED:
        counts: DropCounts = getattr(record, name)
        if counts.kept is not None:
            yield task, name.replace("_", " "), "kept", counts.kept, ""
        for reason, number in counts.dropped.items():
            yield task, name.replace("_", " "), reason, number, counts.examples.get(reason, "")
    for label in manifest.blocks:
        if (block := manifest.record(task, label)) is not None and block.dropped:
            yield task, label, "left out by the method", block.dropped, ""
