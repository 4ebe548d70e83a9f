"""The manifest of a run, and where the run puts what it makes: a results folder that can be extended, or memory."""

import contextlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import xarray as xr

from headcats.base.errors import DamagedFileError, PlanError, StorageError
from headcats.models.adapter import HookedModel
from headcats.results.checksum import stated_in
from headcats.results.compact import COMPACT, WHOLE, Loss, compacted, loss_of
from headcats.results.folder import BLOCKS, ResultsFolder
from headcats.results.loading import load
from headcats.results.manifest import MANIFEST, SUITE, Manifest
from headcats.results.options import Store
from headcats.results.origin import other_model
from headcats.results.records import PlanRecord
from headcats.results.sources import stored_source
from headcats.results.tree import tree
from headcats.results.typed import MisfitError
from headcats.results.whole_file import check_path
from headcats.study.identity import (
    category_records,
    changed_conditions,
    check_same_plan,
    describe_differences,
    new_manifest,
    own_code,
)
from headcats.study.plan import Study

T = TypeVar("T")
_OTHERS = "Blocks of tasks and methods that are not of this run come back when they are asked for again."
_log = logging.getLogger("headcats")


class Output:
    """The manifest and the blocks of a run under way.

    Attributes:
        manifest: It grows with every finished block.
        suite: The suite of the run, as text.
        folder: None keeps everything in memory.
        stored_suite: The suite that the folder holds, as text; "" for none.
        store: Whether blocks are written whole or compact.
        losses: Of the compact blocks that were written.
    """

    def __init__(self, manifest: Manifest, suite: str, folder: ResultsFolder | None = None) -> None:
        self.manifest = manifest
        self.suite = suite
        self.folder = folder
        self.stored_suite = "" if folder is None else _undamaged(folder.read_suite, "")
        self.store: Store = WHOLE
        self.losses: list[Loss] = []
        self._blocks: dict[tuple[str, str], xr.Dataset] = {}
        self._descriptors: xr.Dataset | None = None

    def checksum(self, task: str, label: str) -> str:
        """Checksum of the file of a finished block; "" of results in memory."""
        return "" if self.folder is None else stated_in(self.folder.block_path(task, label), least=0)

    def block(self, task: str, label: str, *, fingerprint: str) -> xr.Dataset | None:
        """A finished block, or None where there is none or a damaged one.

        Raises:
            PlanError: It was made from other prompts, or of another model.
            StorageError: It cannot be read, for another reason than damage.
        """
        if self.folder is None:
            return None
        folder, path = self.folder, self.folder.block_path(task, label)
        check_path(path)
        if not path.exists():
            return None
        block = _undamaged(lambda: folder.read_block(task, label), None)
        if block is not None:
            self._check_made_alike(path, block, fingerprint)
        return block

    def parts(self, label: str, *, fingerprints: dict[str, str]) -> dict[str, xr.Dataset]:
        """Every finished part of a joint method, those without a fingerprint here too; damaged ones are left out.

        Raises:
            PlanError: A part was made on another model; one with a fingerprint here, from other prompts.
            StorageError: A part cannot be read, for another reason than damage.
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
        if self.store == COMPACT:
            block = compacted(block)
            self.losses += [loss for loss in [loss_of(block)] if loss is not None]
        checksum = self.folder.write_block(task, label, block)
        if task != SUITE:
            records = self.manifest.blocks[task]
            records[label] = replace(records[label], checksum=checksum)
        self.save_manifest()

    def keep_part(self, label: str, part: str, block: xr.Dataset) -> None:
        """Keep a part of a joint method; in memory, the block that all parts are joined to is enough."""
        if self.folder is not None:
            if not self.folder.manifest_path.exists():
                # Without one the files are nobody's, and the next run would refuse them.
                self._write_manifest(self.folder)
            self.folder.write_part(label, part, self._signed(block))

    def descriptors(self) -> xr.Dataset | None:
        """Descriptors of the model's heads; None where nothing is kept yet, or a damaged file.

        Raises:
            PlanError: They are of another model.
        """
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

    def list_descriptors(self) -> None:
        """Write the manifest where it does not list them: a run was stopped between the two."""
        if self.folder is not None and self.folder.descriptors_path.name not in self.manifest.beside:
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

    def save_suite(self) -> None:
        """Put the suite into a folder that holds another one or none, even if this run then finds nothing to do."""
        if self.folder is not None and self.folder.manifest_path.exists() and self.stored_suite != self.suite:
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


def open_output(out: str | os.PathLike[str] | None, model: HookedModel, study: Study) -> Output:
    """Where a study goes on.

    Raises:
        PlanError: The folder holds another plan.
        StorageError: It cannot be read, or its manifest is of no run of headcats.
    """
    folder = None if out is None else ResultsFolder(out)
    manifest = None if folder is None else _usable_manifest(folder)
    if folder is None or manifest is None:
        manifest = new_manifest(model, study, folder=None if folder is None else folder.path)
        if folder is not None:
            _check_what_is_there(folder, manifest)
    else:
        check_same_plan(manifest, model, study, folder=folder.path)
        if changed := changed_conditions(manifest):
            _log.warning(
                "%s has blocks that were made under other conditions (%s): what this run adds may differ from them in "
                "the last digits, or more. The manifest notes the conditions of each block.",
                folder.path,
                "; ".join(changed),
            )
    output = Output(manifest, study.suite_text(), folder)
    if study.suite.source or output.stored_suite != output.suite:
        manifest.suite_source = stored_source(study.suite.source, None if folder is None else folder.path)
    code_now = own_code(study)
    if other_code := manifest.changed_code(code_now):
        raise PlanError(
            f"The code of {other_code} is not what it was when results were put into {out}: both would be in one "
            "map. Name another folder with --out (out=...)."
        )
    manifest.own_code |= code_now
    manifest.extend(
        methods=[spec.label for spec in study.methods],
        # Tells a run that was stopped from one that is finished.
        requested=[task.name for task in study.cells],
        categories=category_records(study),
    )
    return output


def _usable_manifest(folder: ResultsFolder) -> Manifest | None:
    """The manifest of a folder; None where a run begins a new one: there is none, or a damaged one beside blocks."""
    try:
        manifest = folder.read_manifest()
        if manifest is None and folder.holds_results:
            _log.warning("%s has blocks and no %s. This run begins one. %s", folder.path, MANIFEST, _OTHERS)
        return manifest
    except DamagedFileError as error:
        if not folder.holds_results:
            raise StorageError(
                f"{folder.manifest_path} is not of headcats, or damaged beside no results: name another folder with "
                "--out (out=...), or remove it."
            ) from None
        copy = folder.copy_manifest()
        _log.warning(
            "%s This run begins a new one; the damaged one is kept as %s. %s",
            error,
            copy.name,
            _OTHERS,
        )
        return None


def _check_what_is_there(folder: ResultsFolder, manifest: Manifest) -> None:
    """A PlanError for results whose manifest is lost and that the run of a new one would bury."""
    for path, table in folder.whole_tables():
        differences = [problem] if (problem := other_model(table, manifest.model)) else []
        with contextlib.suppress(KeyError, TypeError, ValueError, MisfitError):  # a table of somebody else
            stored = PlanRecord.from_dict(json.loads(table.attrs["plan"]))
            differences += describe_differences(stored.differences(manifest.plan))
        if differences:
            raise PlanError(
                f"{path} is of another run ({'; '.join(differences)}), and {MANIFEST} is lost. Repeat that run, which "
                "begins it anew, or name another folder with --out (out=...)."
            )


def _undamaged(read: Callable[[], T], default: T) -> T:
    """Call `read`; return the default, and warn, where the file is damaged: the run makes it again."""
    try:
        return read()
    except DamagedFileError as error:
        _log.warning("%s", error)
        return default
