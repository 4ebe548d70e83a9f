"""Rebuild model, suite and prompts of a finished run."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, PlanError
from headcats.base.registry import names
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.loading import load_model
from headcats.models.origin import restored_loader
from headcats.models.transformers_model import PLACING
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.place import MANIFEST
from headcats.results.run_results import RunResults
from headcats.results.sources import located
from headcats.results.suite_text import SUITE_FILE, suite_tasks
from headcats.study.identity import fingerprint, model_differences
from headcats.study.output import Output
from headcats.study.plan import Study, plan
from headcats.study.preparation import Preparation
from headcats.tasks.definition import Task
from headcats.tasks.stored import stored_suite, suite_differences
from headcats.tasks.suites import Suite, suite


def check_order(model: Any, results: Any, *, by: str) -> None:
    """Refuse a model and results in the wrong order (DataError); `by` names the function that takes the model first."""
    is_folder = (
        isinstance(model, str | os.PathLike) and model not in names("model") and (Path(model) / MANIFEST).is_file()
    )
    if is_folder or isinstance(model, xr.DataTree) or isinstance(results, HookedModel):
        raise DataError(
            f"{by} takes the model first and the results second; got them the other way round. Write "
            f"{by}(model, results)."
        )


def restored_model(run: RunResults, source: Any, *, device: str | None = None) -> HookedModel:
    """The model of results, from what `hc.load_model` takes; another model is a PlanError.

    A name or folder is loaded as that of the results was: with their class, dtype, tokenizer and further arguments of
    the loader, and the revision too if it is the name in the manifest.
    """
    manifest, place = run.manifest, run.place
    record, options = manifest.model, dict[str, Any]()
    if isinstance(source, str | os.PathLike):
        options = restored_loader(record.loader) | {
            "dtype": record.dtype or "float32",
            "backend": "hooked" if record.model_class == "HookedTransformer" else "bridge",
            "revision": record.revision if os.fspath(source) == record.source else None,
            "tokenizer": (located(record.tokenizer, place.folder) if place else record.tokenizer) or None,
        }
        if device is not None and not any(options.get(name) for name in PLACING):
            options["device"] = device
    model: HookedModel = load_model(source, **options)
    if differences := model_differences(manifest, model):
        raise PlanError(
            f"The results are of model {record.name!r}, and {model.name!r} is another one ({'; '.join(differences)}). "
            "Heads are tested on the model they were found in."
        )
    return model


def restored_study(run: RunResults, suite_source: str | Suite | Task | Sequence[Task | str] | None = None) -> Study:
    """The study of results, to make more of its prompts.

    Its suite is the one that the results hold. `suite_source` replaces it, such as one with more pairs of the same
    tasks. Results whose copy is damaged need it unless it is a registered one; whether it gives the same prompts is
    for `check_prompts`. A PlanError if they hold no suite and name no registered one, or if
    `suite_source` has other tasks.
    """
    manifest = run.manifest
    options = manifest.plan.recorded()
    name, template_name = options.pop("suite"), options.pop("template")
    if not run.suite_text:
        given = _registered_suite(run, name) if suite_source is None else suite_source
        study = plan(suite=given, template=template_name, **options)
        return study.changed(distractors=manifest.distractors)
    stored, template = stored_suite(run.suite_text, source=run.suite_place)
    given = stored if suite_source is None else suite(suite_source)
    if differences := suite_differences(stored, given):
        raise PlanError(
            f"The suite that was given is not that of the run ({'; '.join(differences)}). Every task of a suite has a "
            "part in its prompts and means. Leave out --suite (suite=...): the results hold their own."
        )
    study = plan(suite=given, **options)
    # As the run had it, where a bundled suite has another one now.
    gate = manifest.plan.min_logit_diff
    return study.changed(template=template, distractors=manifest.distractors, min_logit_diff=gate)


def _registered_suite(run: RunResults, name: str) -> Suite:
    """The suite of results that do not hold it, by its name: where it was loaded from may be code of somebody else."""
    source = run.manifest.suite_source or name
    if source in names("suite"):
        return suite(source)
    damaged = f"{run.missing[SUITE_FILE]} " if SUITE_FILE in run.missing else ""
    raise PlanError(
        f"{damaged}The results do not hold their suite {name!r:.80}, and what they name, {source!r:.80}, is not opened "
        "for them. Pass the suite that the run had as suite=..., or where it is, as --suite path/to/file.py:name."
    )


def check_prompts(preparation: Preparation, manifest: Manifest, *, tasks: Iterable[str] | None = None) -> None:
    """Held-out prompts are only new if the prompts of the run can be made again; else a PlanError.

    Compared are `tasks`; None for all of the manifest.
    """
    known = {task.name for task in preparation.study.suite.tasks}
    for task in manifest.tasks if tasks is None else tasks:
        record = manifest.tasks.get(task)
        if record is None or record.prompt_hash is None:
            continue
        prepared = preparation.of(task) if task in known else None
        if prepared is None or tuple(batch.fingerprint() for batch in prepared.scored) != record.prompt_hash:
            raise PlanError(
                f"Task {task!r} gives other prompts than it gave in this run: suite {manifest.plan.suite!r} (its "
                "tasks, word pairs or prompts), the tokenizer or the version of headcats has changed. Run it again "
                "into another folder, with --out (out=...)."
            )


def check_same_suite(output: Output, preparation: Preparation) -> None:
    """Refuse a suite that would give what a folder holds another category, other prompts or another reference.

    More tasks or pairs that change none of these are accepted, and the folder then holds the newer suite. A PlanError
    names the task.
    """
    manifest, study = output.manifest, preparation.study
    if output.folder is None or output.stored_suite == output.suite:
        return
    category_of = {task.name: study.suite.category_of(task).name for task in study.suite.tasks}
    before = suite_tasks(output.stored_suite, source=str(output.folder.suite_path))
    after = suite_tasks(output.suite, source="")
    joint = manifest.joint_tasks
    for task, category in ({name: record.category for name, record in manifest.tasks.items()} | joint).items():
        if category_of.get(task) != category:
            now = f"of category {category_of[task]!r}" if task in category_of else "missing"
            raise _other_suite(output.folder, f"task {task!r} is of category {category!r} there, {now} now")
    for task in joint:
        if task in before and before[task].get("pairs") != after[task].get("pairs"):
            raise _other_suite(output.folder, f"task {task!r} has other pairs now")
    check_prompts(preparation, manifest)
    for task, label, record in manifest.cells():
        prompts = [batch.fingerprint() for batch in preparation.of(task).scored]
        also_read = preparation.also_read(task, MethodSpec.parse(label))
        if record.fingerprint != fingerprint(prompts, also_read, label, study.metrics):
            raise _other_suite(output.folder, f"{label} would read other prompts for task {task!r} now")


def _other_suite(folder: ResultsFolder, difference: str) -> PlanError:
    return PlanError(
        f"{folder.path} holds results of another suite or version of headcats: {difference}. Every task of a suite "
        "has a part in the prompts of all. Name another folder with --out (out=...)."
    )
