"""Where a run puts what it makes: a results folder that can be extended, or memory; and the manifest, which grows."""

import functools
import json
import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import xarray as xr

from headcats.base.errors import DamagedFileError, PlanError
from headcats.results.block_files import BLOCKS, MOST_JOINED
from headcats.results.block_schema import other_model
from headcats.results.file_format import stated_in
from headcats.results.folder import ResultsFolder
from headcats.results.joined import is_plain
from headcats.results.loading import load
from headcats.results.manifest import SUITE, Manifest
from headcats.results.records import BlockRecord
from headcats.results.stored_run import tree
from headcats.results.whole_file import check_path

T = TypeVar("T")
_NONE: dict[str, xr.Dataset] = {}
_KEPT = 2**24  # bytes of the blocks of a method that are not read again to be joined
_log = logging.getLogger("headcats")


class Output:
    """The manifest, which grows with every finished block, and the blocks of a run under way.

    Without a folder everything stays in memory. `suite` is that of the run and `stored_suite` that of the folder, ""
    for none; both as text.
    """

    def __init__(self, manifest: Manifest, suite: str, folder: ResultsFolder | None = None) -> None:
        self.manifest = manifest
        self.suite = suite
        self.folder = folder
        self.stored_suite = "" if folder is None else _undamaged(folder.read_suite, "")
        self._blocks: dict[tuple[str, str], xr.Dataset] = {}
        self._joined: dict[str, dict[str, tuple[xr.Dataset, str]]] = {}
        self._kept: dict[str, dict[str, xr.Dataset]] = defaultdict(dict)  # until they are joined, few megabytes
        self._descriptors: xr.Dataset | None = None

    def record(self, task: str, label: str, *, fingerprint: str) -> BlockRecord | None:
        """Record of a finished block, or None where there is none or a damaged one.

        A PlanError if it was made from other prompts, or of another model.
        """
        if self.folder is None:
            return None
        folder, path = self.folder, self.folder.part_path(label, task)
        check_path(path)
        if path.exists():
            block = _undamaged(lambda: folder.read_block(task, label), None)
            checksum = "" if block is None else stated_in(path, least=0)
        else:
            path, (block, checksum) = folder.joined_path(label), self._joined_blocks(label).get(task, (None, ""))
        if block is None:
            return None
        self._check_made_alike(path, block, fingerprint)
        return replace(block_record(block), checksum=checksum)

    def _joined_blocks(self, label: str) -> dict[str, tuple[xr.Dataset, str]]:
        """Task -> its block without prompts, and its checksum, of what the run has found in one file."""
        if self.folder is not None and label not in self._joined:
            folder = self.folder
            checksums = _undamaged(lambda: folder.joined_checksums(label), None) or {}
            blocks = _undamaged(lambda: folder.read_joined(label), _NONE) if checksums else {}
            self._joined[label] = {
                task: (block.isel(prompt=slice(0), missing_dims="ignore").copy(deep=True), checksums[task])
                for task, block in blocks.items()
            }
        return self._joined.get(label, {})

    def parts(self, label: str, *, fingerprints: dict[str, str]) -> dict[str, xr.Dataset]:
        """Every finished part of a joint method, those without a fingerprint here too; damaged ones are left out.

        A PlanError if one was made on another model, or one with a fingerprint here from other prompts.
        """
        if self.folder is None:
            return {}
        parts, problems = self.folder.read_parts(label)
        for problem in problems:
            _log.warning("%s", problem)
        for part, block in parts.items():
            path = self.folder.part_path(label, part)
            self._check_model(path, block)
            if part in fingerprints:
                self._check_made_alike(path, block, fingerprints[part])
        return parts

    def _check_made_alike(self, path: Path, block: xr.Dataset, fingerprint: str) -> None:
        """A PlanError for a block that this run would make from other prompts, or of another model."""
        if block.attrs.get("fingerprint") != fingerprint:
            raise PlanError(
                f"{path} was made with other prompts or reference prompts than this run has now: its options, the "
                "suite (tasks, word pairs or prompts), the tokenizer or the method have changed. Name another folder "
                "with --out (out=...)."
            )
        self._check_model(path, block)

    def _check_model(self, path: Path, table: xr.Dataset) -> None:
        """A PlanError for a table of another model, also where the manifest that said so is lost."""
        if problem := other_model(table, self.manifest.model):
            raise PlanError(f"{path} was made on {problem}. Name another folder with --out (out=...).")

    def _signed(self, table: xr.Dataset) -> xr.Dataset:
        """A table that says what it is part of, for the day when the manifest is lost."""
        plan = json.dumps(self.manifest.plan.complete(), ensure_ascii=False)
        return table.assign_attrs(made_on=self.manifest.model.identity, plan=plan)

    def keep_block(self, task: str, label: str, block: xr.Dataset) -> None:
        """Keep a block, and the manifest with its record."""
        block = self._signed(block)
        if self.folder is None:
            self._blocks[task, label] = block.assign_attrs(task=task, label=label)
            return
        block = block.assign_attrs(task=task, label=label)
        checksum = self.folder.write_block(task, label, block)
        if task != SUITE:
            record = self.manifest.blocks[label].parts[task]
            self.manifest.add(label, task, replace(record, checksum=checksum))
            if is_plain(block) and sum(kept.nbytes for kept in (block, *self._kept[label].values())) <= _KEPT:
                self._kept[label][task] = block
        self.save_manifest()

    def join(self, label: str) -> None:
        """Join the finished blocks of a task method into one file; a run that is killed within does it the next time.

        They stay as they are where one is damaged or of other prompts than the manifest says, which a reader names;
        where the file holds tasks that the manifest does not, as after one was lost; and beyond `MOST_JOINED` bytes.
        """
        if self.folder is None:
            return
        folder, kept = self.folder, self._kept.pop(label, {})
        records = {task: record for task, of, record in self.manifest.cells() if of == label and not record.refusal}
        parts = {task: path for task in records if (path := folder.part_path(label, task)).is_file()}
        size = sum(map(_size, (*parts.values(), folder.joined_path(label))))
        # Of a manifest that is lost, the file holds more than the new one knows.
        if not parts or size > MOST_JOINED or self._joined_blocks(label).keys() - records.keys():
            return
        found = dict(_undamaged(lambda: folder.read_joined(label), _NONE) if self._joined_blocks(label) else {})
        checksums = {task: checksum for task, (_, checksum) in self._joined_blocks(label).items()}
        for task in parts:
            block = kept.get(task)
            if block is None:
                block = _undamaged(functools.partial(folder.read_block, task, label), None)
            found[task] = xr.Dataset() if block is None else block
            checksums[task] = records[task].checksum
        blocks = {task: found.get(task, xr.Dataset()) for task in records}
        if all(blocks[task].attrs.get("fingerprint") == record.fingerprint for task, record in records.items()):
            categories = {task: self.manifest.tasks[task].category for task in records}
            folder.write_joined(label, blocks, checksums=checksums, categories=categories)

    def keep_part(self, label: str, part: str, block: xr.Dataset) -> None:
        """Keep a part of a joint method; in memory, the block that all parts are joined to is enough."""
        if self.folder is not None:
            if not self.folder.manifest_path.exists():
                # Without one the files are nobody's, and the next run would refuse them.
                self._write_manifest(self.folder)
            self.folder.write_part(label, part, self._signed(block))

    def descriptors(self) -> xr.Dataset | None:
        """Descriptors of the model's heads, else a PlanError; None where nothing is kept yet, or a damaged file."""
        if self.folder is None:
            return self._descriptors
        descriptors = _undamaged(self.folder.read_descriptors, None)
        if descriptors is not None:
            self._check_model(self.folder.descriptors_path, descriptors)
        return descriptors

    def keep_descriptors(self, descriptors: xr.Dataset) -> None:
        """Keep what is known of the model's heads, where anything else of the run is kept."""
        if self.folder is None:
            self._descriptors = descriptors
        elif self.folder.manifest_path.exists():
            self.folder.write_descriptors(self._signed(descriptors))
            self._write_manifest(self.folder)

    def save_manifest(self) -> None:
        """Write the manifest, unless nothing is scored: a run whose tasks are all skipped leaves no folder."""
        manifest = self.manifest
        if self.folder is not None and (
            len(manifest.skipped()) < len(manifest.tasks) or (self.folder.path / BLOCKS).exists()
        ):
            self._write_manifest(self.folder)

    def save_unscored(self) -> None:
        """Write the manifest even if nothing is scored: a series and a merge tell that from a run still to come."""
        if self.folder is not None:
            self._write_manifest(self.folder)

    def _write_manifest(self, folder: ResultsFolder) -> None:
        # The suite first: a reader in between sees one that has more tasks than the manifest, and never one with fewer.
        if self.stored_suite != self.suite:
            folder.write_suite(self.suite)
            self.stored_suite = self.suite
        for path in (folder.suite_path, folder.descriptors_path):
            if path.exists():
                self.manifest.add_beside(path.name)
        folder.write_manifest(self.manifest)

    def results(self) -> xr.DataTree:
        """Everything kept, as `hc.load` returns it."""
        if self.folder is None:
            return tree(self._blocks, self.manifest, suite=self.suite, descriptors=self._descriptors)
        return load(self.folder.path)


def block_record(block: xr.Dataset) -> BlockRecord:
    """The record of a finished block in the manifest."""
    counted = {"fingerprint": block.attrs["fingerprint"], "dropped": int(block.attrs["dropped"])}
    return BlockRecord.from_dict(json.loads(block.attrs["provenance"]) | counted)


def _undamaged(read: Callable[[], T], default: T) -> T:
    """Call `read`; return the default, and warn, where the file is damaged: the run makes it again."""
    try:
        return read()
    except DamagedFileError as error:
        _log.warning("%s", error)
        return default


def _size(path: Path) -> int:
    """Bytes of a file; 0 of one that is not there, or that nobody may look at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
