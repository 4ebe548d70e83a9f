"""Rebuild model, suite and prompts of a finished run."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.errors import DataError, PlanError, UnknownNameError
from headcats.models.adapter import HookedModel
from headcats.models.loading import load_model
from headcats.results.manifest import MANIFEST, Manifest
from headcats.study.output import model_differences
from headcats.study.plan import Study, plan
from headcats.study.preparation import Preparation
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, remembered, suite


def check_order(model: Any, results: Any, *, by: str) -> None:
    """Refuse a model and results in the wrong order (DataError); `by` names the function that takes the model first."""
    first_is_folder = isinstance(model, str | os.PathLike) and (Path(model) / MANIFEST).is_file()
    if first_is_folder or isinstance(model, xr.DataTree) or isinstance(results, HookedModel):
        raise DataError(
            f"{by} takes the model first and the results second; got them the other way round. Write "
            f"{by}(model, results)."
        )


def restored_model(manifest: Manifest, source: Any) -> HookedModel:
    """The model of a manifest, from what `hc.load_model` takes; another model is a PlanError.

    A name or folder is loaded with the class and dtype of the results, and the revision too if it is the name in the
    manifest.
    """
    record, options = manifest.model, dict[str, Any]()
    if isinstance(source, str | os.PathLike):
        options = {
            "dtype": record.dtype or "float32",
            "backend": "hooked" if record.model_class == "HookedTransformer" else "bridge",
            "revision": record.revision if os.fspath(source) == record.name else None,
        }
    model: HookedModel = load_model(source, **options)
    if differences := model_differences(manifest, model):
        raise PlanError(
            f"The results are of model {record.name!r}, and {model.name!r} is another one ({'; '.join(differences)}). "
            "Heads are tested on the model they were found in."
        )
    return model


def restored_study(manifest: Manifest, suite_source: str | Suite | Task | Sequence[Task | str] | None = None) -> Study:
    """The study of a manifest, to make more of its prompts; a PlanError if its suite cannot be found.

    Without `suite_source` it is the one that `hc.run` was given in this process, or is loaded from where it was loaded
    then, or is registered under its name.
    """
    options = asdict(manifest.plan)
    name = options.pop("suite")
    if suite_source is None and (suite_source := remembered(manifest.suite_mark)) is None:
        try:
            suite_source = suite(manifest.suite_source or name)
        except (UnknownNameError, DataError) as error:
            raise PlanError(
                f"The results are of suite {name!r}, which is not found in this process. {error} Pass the suite that "
                "the run had as suite=..., or where it is, as --suite path/to/file.py:name."
            ) from None
    return plan(suite_source=suite_source, **options)


def check_prompts(preparation: Preparation, manifest: Manifest, *, tasks: Iterable[str] | None = None) -> None:
    """Held-out prompts are only new if the prompts of the run can be made again; else a PlanError.

    Compared are `tasks`; None for all of the manifest.
    """
    registered = {task.name for task in preparation.study.suite.tasks}
    for task in manifest.tasks if tasks is None else tasks:
        record = manifest.tasks.get(task)
        if record is None or record.prompt_hash is None:
            continue
        prepared = preparation.of(task) if task in registered else None
        if prepared is None or tuple(batch.fingerprint() for batch in prepared.scored) != record.prompt_hash:
            raise PlanError(
                f"Task {task!r} gives other prompts than it gave in this run: suite {manifest.plan.suite!r} (its "
                "tasks, word pairs or prompts) or the tokenizer has changed. Run it again into another folder."
            )
