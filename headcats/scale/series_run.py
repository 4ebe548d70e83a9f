"""`hc.run_series`: one study over the revisions of a model, a results folder for each."""

import gc
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DamagedFileError, ModelError, NothingScoredError, OptionError, PlanError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.loading import load_model
from headcats.models.source import Revision, find_revisions, local_folder, training_step
from headcats.results.block_files import slug
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load
from headcats.results.manifest import Manifest
from headcats.results.records import ModelRecord
from headcats.results.series import RevisionRecord, SeriesFolder, SeriesRecord
from headcats.results.sources import stored_source
from headcats.results.suite_text import suite_tasks
from headcats.results.writer import RUN, held_for_writing
from headcats.study.identity import describe_differences, model_record
from headcats.study.options import StudyOptions, takes_options
from headcats.study.plan import Study, study_of
from headcats.study.runner import open_study, score_study, writing

_log = logging.getLogger("headcats")


@takes_options(StudyOptions, without=("shard", "cluster"))
def run_series(
    source: str | os.PathLike[str],
    revisions: Sequence[str | os.PathLike[str]],
    options: StudyOptions,
    *,
    loader: Mapping[str, Any] | None = None,
) -> xr.DataTree:
    """Score every head of several revisions of a model, such as its training checkpoints, by one plan.

    Every revision is scored by `hc.run`, with the same seed, into a results folder of its own, `<out>/<revision>`, and
    is judged as it would be alone. Prompts of a task are the same at every revision, unless other tasks may corrupt
    them: tasks that a revision cannot do corrupt none. A revision that can do no task at all is kept with its
    accuracies.

    All models are loaded and compared before any is scored, then one at a time. A killed run goes on where it stopped;
    more revisions, tasks or methods extend the folder, and another plan is refused, as by `hc.run`.

    Args:
        source: Hub name, folder, or name of a bundled model.
        revisions: Branches, tags or commits of a hub name (or folders written as paths, `./mine`); of a folder, names
            of folders in it, or paths. One without tokenizer gets that of `source`. They are ordered by training step
            where each name has one (`step1000`), and else as they are given.
        loader: Arguments of `hc.load_model`, such as `{"dtype": "bfloat16"}`.
        options: Those of `hc.run`.

    Returns:
        As `hc.load` of the folder.

    Raises:
        OptionError: No `out`, no revision, two of one name, or an option out of range.
        ModelError: A revision that does not exist or cannot be loaded, two with the same weights, or with other layers
            or heads.
        PlanError, StorageError, UnknownNameError, DataError, TypeError: As in `hc.run`.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> plan = {"suite": two, "methods": ["denoising_patch"], "n_prompts": 8}
        >>> series = hc.run_series("checkpoints", ["step500", "step8000"], **plan, out="results/two-checkpoints")
        >>> list(series)
        ['step500', 'step8000']
    """
    if "revision" in (loader or {}):
        raise OptionError("loader takes no revision: name it among the revisions.")
    if options.out is None:
        raise OptionError("A series is kept in a folder: name one, out=...")
    study = study_of(options)
    found = find_revisions(source, revisions)
    folder = SeriesFolder(options.out)
    if not folder.file.is_file():
        folder.read()  # refuses what is no folder for a series
    with held_for_writing(folder.path, by=RUN):
        try:
            before = folder.read()
        except DamagedFileError as error:
            _log.warning("%s This run writes it again, with its own revisions.", error)
            before = SeriesRecord()
        manifests = {record.name: _undamaged(folder.results(record).manifest_path) for record in before.revisions}
        scored = {name: manifest for name, manifest in manifests.items() if manifest is not None}
        for record in before.revisions:
            if record.name in scored.keys() - {revision.name for revision in found}:
                _check_same_plan(folder.results(record), scored[record.name], study)

        def load_revision(revision: Revision) -> HookedModel:
            given = {"revision": revision.revision, "tokenizer": revision.tokenizer} | dict(loader or {})
            model: HookedModel = load_model(revision.source, **given)
            return model

        models = _compared(found, {name: manifest.model for name, manifest in scored.items()}, load_revision)
        records = {revision.name: _record(revision, models[revision.name], folder.path) for revision in found}
        name = before.model or (os.fspath(source) if local_folder(source) is None else Path(source).name)
        folder.write(SeriesRecord(name, before.revisions).with_revisions(list(records.values())))
        # What was scored before comes first: if it does not fit, nothing new is made.
        in_turn = sorted(found, key=lambda revision: revision.name not in scored)
        try:
            for number, revision in enumerate(in_turn, start=1):
                _log.info("Revision %s (%d of %d).", revision.name, number, len(found))
                results = folder.results(records[revision.name]).path
                _score(load_revision(revision), study, replace(options, out=results))
                gc.collect()  # modules and hooks of the model point at each other
        finally:
            folder.remove_if_empty()
    return load(options.out)


def _undamaged(path: Path) -> Manifest | None:
    """The manifest of a revision; None where there is none, or a damaged one, beside which a run begins a new one."""
    try:
        return Manifest.read(path) if path.is_file() else None
    except DamagedFileError:
        return None


def _check_same_plan(results: ResultsFolder, manifest: Manifest, study: Study) -> None:
    """A PlanError if a revision that is not scored again was scored by another plan, or on another suite."""
    differences = describe_differences(manifest.plan.differences(study.record()))
    before, after = (
        suite_tasks(text, source=str(results.suite_path)) for text in (results.read_suite(), study.suite_text())
    )
    differences += [f"task {name!r} of the suite" for name in before | after if before.get(name) != after.get(name)][:1]
    if differences:
        raise PlanError(
            f"{results.path} holds results of another plan ({'; '.join(differences)}). All revisions of a series have "
            "one plan; for another name another folder with --out (out=...)."
        )


def _compared(
    revisions: Sequence[Revision], scored: Mapping[str, ModelRecord], load: Callable[[Revision], HookedModel]
) -> dict[str, ModelRecord]:
    """Revision -> its model, as records; a ModelError for two that are the same, or whose heads do not correspond."""
    models = dict(scored)
    for number, revision in enumerate(revisions, start=1):
        if revision.name in models:
            continue
        _log.info("Looking at revision %s (%d of %d).", revision.name, number, len(revisions))
        model = model_record(load(revision))
        gc.collect()
        for name, other in models.items():
            if (model.layers, model.heads) != (other.layers, other.heads):
                raise ModelError(
                    f"Revisions {name!r} ({_shape(other)}) and {revision.name!r} ({_shape(model)}) have different "
                    "shapes, so their heads do not correspond: name revisions of one model."
                )
            if model.weights_hash == other.weights_hash:
                raise ModelError(
                    f"Revisions {name!r} and {revision.name!r} have the same weights, so the second says nothing new: "
                    "leave it out."
                )
        models[revision.name] = model
    return models


def _shape(model: ModelRecord) -> str:
    heads = " or ".join(map(str, sorted(set(model.heads))))
    return f"{pluralize(len(model.layers), 'layer')} of {heads} heads"


def _record(revision: Revision, model: ModelRecord, out: Path) -> RevisionRecord:
    source = revision.source if revision.revision is not None else str(Path(revision.source).resolve())
    return RevisionRecord(
        name=revision.name,
        folder=slug(revision.name),
        source=stored_source(source, out),
        revision=revision.revision,
        step=training_step(revision.name),
        weights_hash=model.weights_hash,
    )


def _score(model: HookedModel, study: Study, options: StudyOptions) -> None:
    """Score one revision as `hc.run` does; that it can do no task is a result, too."""
    with writing(options.out):
        study, output = open_study(study, model, options)
        try:
            score_study(model, study, output, options)
        except NothingScoredError as error:
            output.save_unscored()
            reasons = ", ".join(f"{reason} {n}" for reason, n in Counter(error.refused_by).items())
            n_tasks = pluralize(len(error.refused_by), "task")
            _log.warning("All %s are skipped on %s (%s).", n_tasks, model.name, reasons)
