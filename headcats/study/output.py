"""Where a run puts what it makes: a results folder that can be resumed and extended, or memory."""

import os

import xarray as xr

from headcats.errors import PlanError
from headcats.models.adapter import HookedModel
from headcats.results.folder import BLOCKS, ResultsFolder, load, tree
from headcats.results.manifest import Manifest
from headcats.study.manifest import category_records, check_same_plan, new_manifest
from headcats.study.plan import Study


class Output:
    """The manifest and the blocks of a run under way.

    Attributes:
        manifest: It grows with every finished block.
        folder: None keeps everything in memory.
    """

    def __init__(self, manifest: Manifest, folder: ResultsFolder | None = None) -> None:
        self.manifest = manifest
        self.folder = folder
        self._blocks: dict[tuple[str, str], xr.Dataset] = {}

    def block(self, task: str, label: str, *, fingerprint: str) -> xr.Dataset | None:
        """A finished block, or None; a PlanError if it was made from other prompts."""
        if self.folder is None:
            return None
        block = self.folder.read_block(task, label)
        if block is not None and block.attrs.get("fingerprint") != fingerprint:
            raise _made_otherwise(self.folder.block_path(task, label))
        return block

    def parts(self, label: str, *, fingerprints: dict[str, str]) -> dict[str, xr.Dataset]:
        """Every finished part of a joint method, those without a fingerprint here too.

        A PlanError if a part with a fingerprint here was made from other prompts.
        """
        if self.folder is None:
            return {}
        parts = self.folder.read_parts(label)
        for part in parts.keys() & fingerprints.keys():
            if parts[part].attrs.get("fingerprint") != fingerprints[part]:
                raise _made_otherwise(self.folder.part_path(label, part))
        return parts

    def keep_block(self, task: str, label: str, block: xr.Dataset) -> None:
        """Keep a block, and the manifest with its record."""
        if self.folder is None:
            self._blocks[task, label] = block.assign_attrs(task=task, label=label)
            return
        self.folder.write_block(task, label, block)
        self.save_manifest()

    def keep_part(self, label: str, part: str, block: xr.Dataset) -> None:
        """Keep a part of a joint method; in memory, the block that all parts are joined to is enough."""
        if self.folder is not None:
            if not self.folder.manifest_path.exists():
                # Without one the files are nobody's, and the next run would refuse them.
                self.folder.write_manifest(self.manifest)
            self.folder.write_part(label, part, block)

    def save_manifest(self) -> None:
        """Write the manifest, unless nothing is scored: a run whose tasks are all skipped leaves no folder."""
        manifest = self.manifest
        if self.folder is not None and (
            len(manifest.skipped()) < len(manifest.tasks) or (self.folder.path / BLOCKS).exists()
        ):
            self.folder.write_manifest(manifest)

    def results(self) -> xr.DataTree:
        """Everything kept, as `hc.load` returns it."""
        return tree(self._blocks, self.manifest) if self.folder is None else load(self.folder.path)


def open_output(out: str | os.PathLike[str] | None, model: HookedModel, study: Study) -> Output:
    """Where a study goes on; a PlanError that names every difference if the folder holds results of another plan."""
    folder = None if out is None else ResultsFolder(out)
    manifest = None if folder is None else folder.read_manifest()
    if folder is None or manifest is None:
        manifest = new_manifest(model, study)
    else:
        check_same_plan(manifest, model, study, folder=folder.path)
        folder.remove_leftovers()
    manifest.extend(
        methods=[spec.label for spec in study.methods],
        # Tells a run that was stopped from one that is finished.
        requested=[task.name for task in study.tasks] if study.task_methods else [],
        categories=category_records(study),
    )
    return Output(manifest, folder)


def _made_otherwise(path: os.PathLike[str]) -> PlanError:
    return PlanError(
        f"{path} was made with other prompts or reference prompts than this run has now: the suite (its tasks or word "
        "pairs) or the tokenizer has changed. Name another folder with --out (out=...)."
    )
