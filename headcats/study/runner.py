"""`hc.run`: score every head on every task of a suite, into a results folder that can be resumed and extended."""

import contextlib
import logging
import os
from collections import defaultdict
from collections.abc import Sequence, Set
from typing import Any

import xarray as xr

from headcats.bounds import shown
from headcats.errors import DataError, NothingScoredError, OptionError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.results.compact import WHOLE, Store, check_store, losses_text
from headcats.results.declaration import approximation_label
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.writer import RUN
from headcats.study.defaults import DEFAULT_PROMPTS
from headcats.study.describing import describe_run
from headcats.study.doable_suites import advice
from headcats.study.joint_run import JointWork
from headcats.study.output import Output, open_output
from headcats.study.own_template import with_own_template
from headcats.study.plan import Study, check_methods, check_options, plan
from headcats.study.progress import logged_where_nobody_watches
from headcats.study.restore import check_same_suite
from headcats.study.task_run import TaskWork
from headcats.study.workers import Elsewhere, Workers
from headcats.sweeps.paths import check_path, worst_check
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite

_log = logging.getLogger("headcats")


def run(
    model: Any,
    *,
    suite: str | Suite | Task | Sequence[Task | str] = "icl",
    methods: Sequence[str] | None = None,
    n_prompts: int = DEFAULT_PROMPTS,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    path: str = "auto",
    memory: str | int | None = None,
    cluster: Elsewhere | None = None,
    store: Store = WHOLE,
    **options: Any,
) -> xr.DataTree:
    """Score every head of a model on every task of a suite.

    A task is skipped, and listed with the reason and three wrong answers, if the model is right on a smaller share of
    the clean prompts than `min_accuracy` (heads cannot serve a task that the model cannot do), if the corrupted prompts
    leave no clear gap, or if no prompt can be written; the others go on, and skipped tasks corrupt none of them. Word
    pairs that no other task can corrupt get demonstrations with shuffled labels.

    Args:
        model: What `hc.load_model` returns, a HookedTransformer, a TransformerBridge, or a name or folder to load. Only
            on the command line does a suite bring its model; "mini-cognitive" is that of "cognitive" and "sentences".
        suite: Name of a suite, `module:name` or `path/to/file.py:name` of one of your own (see `hc.suite`), a `Suite`,
            or a list of tasks and task names. The results hold it, with its pairs: `hc.run_evidence`,
            `hc.write_views` and the command line need nothing else.
        methods: Methods as `name[:option=value][@positions]`, such as "denoising_patch",
            "mean_ablation:reference=task", "noising_patch@all", "denoising_patch:unit=kv_group" (heads that share keys
            and values at once). Positions default to the method's own. None takes the method that is made for a bundled
            suite, or else denoising patches, their two controls and mean ablation; of a suite of finished prompts those
            at the last position, without the control that needs a second corruption.
        n_prompts: Scored prompts per task; 100 more per task are kept apart as reference (a task that has fewer is
            named in a warning).
        seed: Seed of prompts and references. Every random stream derives from it by name, so the order of tasks and
            methods does not matter.
        out: Results folder; None keeps everything in memory. A killed run goes on where it stopped; more tasks or
            methods extend the folder; another model, seed, n_prompts, template, corruption, answers, min_accuracy
            or min_logit_diff is refused.
        progress: Show a progress bar; None looks whether anybody is there to see it. Unless it is False, lines on
            finished tasks and parts (one every ten seconds at most) and on the time left of each method are logged too;
            with None they are written to stderr where that is no terminal and no logging is set up.
        path: "auto" takes the fastest path that is exact on the model, "hooked" the reference (see `hc.sweep`). The
            results folder records which one ran, and what its self-check found.
        memory: Limit beside the model's weights, such as "4GB", of each process that scores; None takes half of what
            is free. The estimate is logged before anything is scored; of workers it is known with a limit alone.
        cluster: An `hc.Cluster` whose workers score the tasks; None for this process. Joint methods run here.
        store: "whole", or "compact": blocks of `out` hold in half precision what every head changes, in less than half
            the space. What an effect loses, in shares of its standard error, is measured and stands in the attribute
            `rounded` of each block; one that would lose more than a hundredth is written whole. What is in the folder
            already stays as it is.
        **options: `tasks` (names of the tasks to score; the suite's others remain distractors and reference), `metrics`
            (names, or functions, which are registered under theirs; the first decides on the gap; default
            `["logit_diff"]`, with shuffled labels `["log_prob"]`), `n_demos`
            (5; "cognitive" 4, "sentences" 0), `template` ("arrow", "question", or "chat" for the chat template of the
            model's tokenizer), `corruption` ("other_task" or "shuffled_labels"), `answers` ("whole": of any number of
            tokens; "first_token": the first of each; "single": longer ones are dropped), `min_accuracy` (0.5: the
            answer is the likeliest one on half of the prompts; 0 skips no task for it), `min_logit_diff` (none; a task
            is skipped unless the 95 % interval of its mean logit difference on clean prompts is above it: with
            `min_accuracy=0`, 0 admits tasks in which the model prefers the answer, solved or not, which is what
            "greater_than" and "agreement" take), `shard` ("2/4": the second of four parts of the cells, of a run that
            is given `out`; `headcats merge` joins the folders).

    Returns:
        As `hc.load`: one node `/<task>/<method@positions>` per block with `patched (metric, prompt, layer, head)`,
        `clean` and `corrupted (metric, prompt)` in the metric's own unit.

    Raises:
        UnknownNameError: A name that does not exist; the message lists near matches.
        OptionError: A number out of range, a template that the model's tokenizer lacks or cannot write, a memory limit
            that cannot be read or that nothing fits into, or a shard or compact store without `out`.
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
    if "preset" in options:
        raise TypeError(
            f"hc.run takes no preset: unpack what it says, hc.run(model, **hc.methods.preset({options['preset']!r})), "
            "with options of your own after it as **hc.methods.preset(...) | {...}."
        )
    check_options(options, function=run)
    check_path(path)
    check_store(store)
    if not isinstance(cluster, Elsewhere | None):
        raise OptionError(f"cluster must be an hc.Cluster, such as hc.Cluster('auto'); got {shown(cluster)}.")
    if out is None and (store != WHOLE or options.get("shard") is not None):
        given = f"store={store!r}" if store != WHOLE else f"shard={options['shard']!r}"
        raise OptionError(
            f"{given} is about a results folder, and this run keeps everything in memory: name one, out=..."
        )
    study = plan(suite_source=suite, methods=methods, n_prompts=n_prompts, seed=seed, **options)
    with (
        logged_where_nobody_watches(progress),
        writing(out),
        contextlib.nullcontext() if cluster is None else cluster.connected() as connection,
    ):
        adapted = load_model(model)
        study, output = open_study(study, adapted, out)
        output.store = store
        try:
            with contextlib.nullcontext() if connection is None else connection.workers(adapted) as workers:
                score_study(adapted, study, output, progress=progress, path=path, memory=memory, workers=workers)
        except NothingScoredError as error:
            if study.shard is None:
                records = output.manifest.tasks
                raise DataError(f"{error}{advice(adapted, study, records, refused_by=error.refused_by)}") from None
            # That its tasks are skipped is what this part of the study gives.
            _log.warning("%s", error)
        if study.shard is not None:
            output.save_unscored()
        return output.results()


def writing(out: str | os.PathLike[str] | None) -> contextlib.AbstractContextManager[None]:
    """Be the only writer of the results folder of a run within; of results in memory there is nothing to hold."""
    return contextlib.nullcontext() if out is None else ResultsFolder(out).writing(RUN)


def open_study(study: Study, model: HookedModel, out: str | os.PathLike[str] | None) -> tuple[Study, Output]:
    """A study as this model takes it, and its output; results of another study or model there are refused."""
    study = with_own_template(study, model, out=out)
    check_methods(study, model)
    return study, open_output(out, model, study)


def score_study(
    model: HookedModel,
    study: Study,
    output: Output,
    *,
    progress: bool | None,
    path: str,
    memory: str | int | None,
    workers: Workers | None = None,
) -> None:
    """What the output lacks of a study, task by task and part by part; a NothingScoredError if no task is left."""
    output.manifest.checks["model"] = check_model(model)
    before = {(task, label) for task, records in output.manifest.blocks.items() for label in records}
    task_work = TaskWork(model, study, output, path=path, memory=memory, workers=workers)
    # Before the tasks are scored: what is in the folder may not fit.
    joint_work = JointWork(model, study, output) if study.joint_methods else None
    check_same_suite(output, task_work.preparation)
    output.save_suite()
    if study.cells:
        task_work.score_tasks(progress)
    if joint_work is not None:
        joint_work.score_parts(progress)
    describe_run(output, task_work.preparation)
    if output.losses:
        _log.info("%s", losses_text(output.losses))
    _log_paths(output.manifest, [spec.label for spec in study.task_methods], path, before=before)


def _log_paths(manifest: Manifest, labels: Sequence[str], path: str, *, before: Set[tuple[str, str]]) -> None:
    for line in paths_used(manifest, labels, before=before):
        _log.info("%s", line)
    if path != "auto" and (unaffected := other_paths(manifest, labels, path)):
        _log.warning(
            "path=%r did nothing for %s: scored before by another path, or no sweep at all. Choose another folder to "
            "score it that way.",
            path,
            ", ".join(unaffected),
        )
    for label in labels:
        paths = [dict[str, None](), dict[str, None]()]
        for task, records in manifest.blocks.items():
            if label in records and records[label].path:
                paths[(task, label) in before][records[label].path] = None
        new, earlier = paths
        if new and earlier and ("hooked" in new) != ("hooked" in earlier):
            _log.warning(
                "%s has blocks by path %s of an earlier run, and by path %s of this one: they may differ in the last "
                "digits. Choose one with path=...",
                label,
                " and ".join(earlier),
                " and ".join(new),
            )


def paths_used(manifest: Manifest, labels: Sequence[str], *, before: Set[tuple[str, str]] = frozenset()) -> list[str]:
    """One line per method and path: on how many tasks it ran, and the worst self-check.

    `before` are task and label of blocks that an earlier run has told of.
    """
    checks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task, records in manifest.blocks.items():
        for label in labels:
            if label in records and (task, label) not in before and (record := records[label]).path:
                kind = f" ({kind})" if (kind := approximation_label(record.approximation)) else ""
                checks[label + kind, record.path].append(record.self_check)
    return [
        f"{label}: {pluralize(len(of_tasks), 'task')} by path {path!r}"
        + (f"; self-check {worst_check(of_tasks)}" if any(of_tasks) else "")
        for (label, path), of_tasks in checks.items()
    ]


def other_paths(manifest: Manifest, labels: Sequence[str], path: str) -> list[str]:
    """Labels with a block that was computed by another path."""
    paths = {(label, record.path) for of_task in manifest.blocks.values() for label, record in of_task.items()}
    return [label for label in labels if any(used not in ("", path) for name, used in paths if name == label)]
