"""Results of a run that lie in a folder: what is asked for is read, and nothing else."""

import copy
import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property

import xarray as xr

from headcats.base.errors import DamagedFileError
from headcats.results.block_schema import other_model
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import SUITE, Manifest
from headcats.results.place import MANIFEST, Place
from headcats.results.run_results import RunResults
from headcats.results.stored_blocks import LARGE, StoredBlocks
from headcats.results.tree import tree


class StoredRun(RunResults):
    """Results in a folder.

    Args:
        place: Where they are.
        folder: The folder of that place.
        manifest: As it was read there.
        checked_later: See `StoredBlocks`.
    """

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
        self.attrs = {
            "categories": json.dumps(manifest.category_entries(), ensure_ascii=False),
            "manifest": manifest.to_json(),
            **({"suite": suite} if suite else {}),
            **({"missing": json.dumps(problems, ensure_ascii=False)} if problems else {}),
        }
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
