"""Results in a folder, read as they are asked for, and the labelled tree of all that it holds."""

import copy
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import xarray as xr

from headcats.base.errors import DamagedFileError, DataError
from headcats.results.block_schema import other_model
from headcats.results.descriptors import DESCRIPTORS_NODE
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import SUITE, Manifest
from headcats.results.place import MANIFEST, Place
from headcats.results.records import COUNTED, DropCounts
from headcats.results.run_results import RunResults
from headcats.results.stored_blocks import LARGE, StoredBlocks

DROPS = "_drops"
"""Node of the table of what is kept and dropped. No task can have this name."""
_COLUMNS = ("task", "what", "reason", "n", "example")


class StoredRun(RunResults):
    """Results in a folder, that of the place; `checked_later` as for `StoredBlocks`."""

    def __init__(
        self, place: Place, folder: ResultsFolder, manifest: Manifest, *, checked_later: float = LARGE
    ) -> None:
        self.place = self.stored_at = place
        self.manifest = manifest
        self._whole: xr.DataTree | None = None
        self.blocks = StoredBlocks(folder, manifest, checked_later=checked_later)
        problems, suite, descriptors = self.blocks.problems, "", None
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
        self.descriptors = descriptors
        missing = {"missing": json.dumps(problems, ensure_ascii=False)} if problems else {}
        self.attrs = _root_attrs(manifest, suite) | missing
        labels = {task: tuple(label for name, label in self.blocks if name == task) for task in manifest.tasks}
        self.tasks = {task: of_task for task, of_task in labels.items() if of_task}

    @property
    def tree(self) -> xr.DataTree:
        """Labelled tree, as `hc.load` returns it."""
        if self._whole is None:
            self._whole = self._made_tree()
        return self._whole

    def _made_tree(self) -> xr.DataTree:
        whole = tree(self.blocks, self.manifest, descriptors=self.descriptors)
        whole.attrs = dict(self.attrs)
        # As xarray says it of a file; copies keep it, and netCDF does not store it.
        whole.encoding |= {"source": self.stored_at.address, "folder": os.fspath(self.stored_at.folder)}
        return whole

    def block(self, task: str, label: str) -> xr.Dataset:
        """The block of a method on a task."""
        return self.blocks[task, label]

    def category(self, task: str) -> str:
        """The category of a task."""
        return self.manifest.tasks[task].category

    @cached_property
    def joint_blocks(self) -> dict[str, xr.Dataset]:
        """Joint method with its options -> its block."""
        return {label: self.blocks[task, label] for task, label in self.blocks if task == SUITE}

    def with_categories(self, entries: Sequence[Mapping[str, str]]) -> "StoredRun":
        """Copy with other categories."""
        other = copy.copy(self)
        other._whole = None
        other.attrs = {**self.attrs, "categories": json.dumps(entries, ensure_ascii=False)}
        return other


def tree(
    blocks: Mapping[tuple[str, str], xr.Dataset],
    manifest: Manifest,
    *,
    suite: str = "",
    descriptors: xr.Dataset | None = None,
) -> xr.DataTree:
    """Tree of a folder, as `load` describes it; the manifest must name the task of every block."""
    nodes = {"/": xr.Dataset(attrs=_root_attrs(manifest, suite))}
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


def _root_attrs(manifest: Manifest, suite: str) -> dict[str, str]:
    categories = json.dumps(manifest.category_entries(), ensure_ascii=False)
    return {"categories": categories, "manifest": manifest.to_json()} | ({"suite": suite} if suite else {})


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
