"""Where a study goes on: a results folder of the same plan, a new one, or memory."""

import contextlib
import json
import logging
import os

from headcats.base.errors import DamagedFileError, PlanError, StorageError
from headcats.models.adapter import HookedModel
from headcats.results.block_schema import other_model
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.place import MANIFEST
from headcats.results.records import PlanRecord
from headcats.results.sources import stored_source
from headcats.results.typed import MisfitError
from headcats.study.identity import (
    category_records,
    changed_conditions,
    check_same_plan,
    describe_differences,
    new_manifest,
    own_code,
)
from headcats.study.output import Output
from headcats.study.plan import Study

_OTHERS = "Blocks of tasks and methods that are not of this run come back when they are asked for again."
_log = logging.getLogger("headcats")


def open_output(out: str | os.PathLike[str] | None, model: HookedModel, study: Study) -> Output:
    """Where a study goes on; a PlanError for a folder of another plan, a StorageError if it cannot be read."""
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
        _log.warning("%s This run begins a new one; the damaged one is kept as %s. %s", error, copy.name, _OTHERS)
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
