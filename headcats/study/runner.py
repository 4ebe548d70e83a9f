"""`hc.run`: score every head on every task of a suite, into a results folder that can be resumed and extended."""

import contextlib
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any

import xarray as xr

from headcats.base.errors import NothingScoredError, OptionError, pluralize, shown
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.results.block_schema import worst_check
from headcats.results.declaration import approximation_label
from headcats.results.descriptors import join_descriptors
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.writer import RUN
from headcats.study.assessment import source_fields
from headcats.study.method_run import MethodRun
from headcats.study.opening import open_output
from headcats.study.options import Share, StudyOptions, check_cluster, takes_options
from headcats.study.output import Output
from headcats.study.own_template import with_own_template
from headcats.study.plan import Study, check_methods, study_of
from headcats.study.preparation import Preparation
from headcats.study.progress import logged_where_nobody_watches
from headcats.study.restore import check_same_suite
from headcats.study.scorer import Here
from headcats.sweeps.descriptors.describing import describe_model, describe_prompts

_log = logging.getLogger("headcats")


@takes_options(StudyOptions)
def run(model: Any, options: StudyOptions) -> xr.DataTree:
    """Score every head of a model on every task of a suite.

    A task is skipped, and listed with the reason and three wrong answers, if the model is right on a smaller share of
    the clean prompts than `min_accuracy` (heads cannot serve a task that the model cannot do), if the corrupted prompts
    leave no clear gap, or if no prompt can be written; the others go on, and skipped tasks corrupt none of them. Word
    pairs that no other task can corrupt get demonstrations with shuffled labels.

    Args:
        model: What `hc.load_model` returns, a HookedTransformer, a TransformerBridge, or a name or folder to load. Only
            on the command line does a suite bring its model; "mini-cognitive" is that of "cognitive" and "sentences".
        options: Each by keyword.

    Returns:
        As `hc.load`: one node `/<task>/<method@positions>` per block with `patched (metric, prompt, layer, head)`,
        `clean` and `corrupted (metric, prompt)` in the metric's own unit.

    Raises:
        UnknownNameError: A name that does not exist; the message lists near matches.
        OptionError: A number out of range, a template that the model's tokenizer lacks or cannot write, a memory limit
            that cannot be read or that nothing fits into, a shard without `out`, or more shards
            than cells.
        PlanError: `out` holds results of another plan; the message names every difference.
        OccupiedError: Another process is writing `out`; the message says which.
        StorageError: `out` cannot be read or written.
        ModelError: The model cannot be loaded or trusted.
        DataError: No task is left, or no method scores any task; the message says why.
        ClusterError: Ray or the cluster cannot be used, or a cell cannot be scored on it.
        TypeError: An option that does not exist.

    Warns:
        StatisticsWarning: Finished prompts with different items and one contrast (see `hc.PromptPair`).

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]  # each corrupts the prompts of the other
        >>> results = hc.run("mini", suite=two, methods=["denoising_patch"], n_prompts=8, out="results/two")
        >>> results["country_capital"]["denoising_patch@last"].patched.dims
        ('metric', 'prompt', 'layer', 'head')
        >>> more = hc.run("mini", suite=two, methods=["zero_ablation@last"], n_prompts=8, out="results/two")
        >>> sorted(more["country_capital"])
        ['denoising_patch@last', 'zero_ablation@last']
    """
    out = options.out
    check_cluster(options.cluster)
    if not isinstance(options.shard, Share | None):
        example = "hc.Shard(2, 4), the second of four"
        raise OptionError(f"shard must be an hc.Shard, such as {example}; got {shown(options.shard)}.")
    if out is None and options.shard is not None:
        raise OptionError(f"shard={options.shard} needs a results folder to write to: name one, out=...")
    study = study_of(options)
    with (
        logged_where_nobody_watches(options.progress),
        writing(out),
        contextlib.nullcontext(Here) if options.cluster is None else options.cluster.connected() as scorer_of,
    ):
        adapted = load_model(model)
        study, output = open_study(study, adapted, options)
        try:
            score_study(adapted, study, output, options, scorer_of=scorer_of)
        except NothingScoredError as error:
            if options.shard is None:
                raise
            # That its tasks are skipped is what this part of the study gives.
            _log.warning("%s", error)
        if options.shard is not None:
            output.save_unscored()
        return output.results()


def writing(out: str | os.PathLike[str] | None) -> contextlib.AbstractContextManager[None]:
    """Be the only writer of the results folder of a run within; of results in memory there is nothing to hold."""
    return contextlib.nullcontext() if out is None else ResultsFolder(out).writing(RUN)


def open_study(study: Study, model: HookedModel, options: StudyOptions) -> tuple[Study, Output]:
    """Return a study as this model takes it, and its output; results of another study or model there are refused."""
    study = with_own_template(study, model, out=options.out)
    check_methods(study, model)
    output = open_output(options.out, model, study)
    return study, output


def score_study(
    model: HookedModel, study: Study, output: Output, options: StudyOptions, *, scorer_of: Callable[..., Here] = Here
) -> None:
    """Score what the output lacks, task by task and part by part; a NothingScoredError if no task is left."""
    output.manifest.checks["model"] = check_model(model)
    before = {(task, label) for task, label, _ in output.manifest.cells()}
    preparation = Preparation(model, study.changed(distractors=output.manifest.distractors))
    methods = MethodRun(study, output, scorer_of(preparation, path=options.path, memory=options.memory))
    check_same_suite(output, preparation)
    if output.stored_suite != output.suite:
        # Of a larger suite, the sources of known tasks may be others.
        for task, record in output.manifest.tasks.items():
            output.manifest.tasks[task] = replace(record, **source_fields(study, task))
    methods.score(options.progress)
    _describe_heads(output, preparation)
    for line in paths_used(output.manifest, [spec.label for spec in study.task_methods], before=before):
        _log.info("%s", line)


def _describe_heads(output: Output, preparation: Preparation) -> None:
    """Keep what `hc.describe_heads` says of the model and the scored prompts; known tasks are left out."""
    study, model, records = preparation.study, preparation.model, output.manifest.tasks
    stored = output.descriptors()
    done = [] if stored is None or "task" not in stored.dims else stored["task"].values.tolist()
    tasks = study.tasks if study.task_methods else ()
    names = [task.name for task in tasks if task.name not in done and task.name in records]
    missing = [name for name in names if not records[name].refusal]
    if stored is not None and not missing:
        # Nothing may have been scored, and the folder hold another suite, or descriptors that no manifest lists.
        output.save_manifest()
        return
    described, paths = describe_model(model, seed=study.seed)
    if missing:
        of_tasks = describe_prompts(model, paths, {name: preparation.of(name).scored for name in missing})
        of_tasks = of_tasks.assign_coords(category=("task", [records[name].category for name in missing]))
        described = join_descriptors(described, of_tasks)
    output.keep_descriptors(described if stored is None else join_descriptors(stored, described))


def paths_used(manifest: Manifest, labels: Sequence[str], *, before: Set[tuple[str, str]]) -> list[str]:
    """One line per method and path: number of tasks and worst self-check; without the blocks told `before`."""
    checks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task, label, record in manifest.cells():
        if label in labels and (task, label) not in before and record.path:
            kind = f" ({kind})" if (kind := approximation_label(record.approximation)) else ""
            checks[label + kind, record.path].append(record.self_check)
    return [
        f"{label}: {pluralize(len(of_tasks), 'task')} by path {path!r}"
        + (f"; self-check {worst_check(of_tasks)}" if any(of_tasks) else "")
        for (label, path), of_tasks in checks.items()
    ]
