"""`hc.run_evidence`: the categories of a finished run, tested on prompts that the run has never seen."""

import contextlib
import json
import logging
import math
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from headcats.base.errors import DataError, OptionError, StatisticsWarning, check_count
from headcats.categories.argument_checks import RESULTS, check_is
from headcats.categories.map_spec import EVIDENCE_TABLES, MapSpec, resolve_tested
from headcats.categories.run_maps import read_scores
from headcats.evidence.confounders import covariates_of
from headcats.evidence.damage import done_here
from headcats.evidence.held_out import HeldOut, Options, examine
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.prompts.batch import PromptBatch
from headcats.results.cached_tables import TableCache
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.options import MOST_PROMPTS
from headcats.results.place import find_place
from headcats.results.run_results import STATE, RunResults
from headcats.results.tables import set_bytes
from headcats.results.whole_file import write_whole
from headcats.scores.blocks import first_half, of_items
from headcats.statistics.labellings import LEAST_LABELLINGS
from headcats.study.evidence_work import kept_work
from headcats.study.identity import versions
from headcats.study.options import Elsewhere, check_cluster
from headcats.study.plan import Study
from headcats.study.preparation import Preparation
from headcats.study.restore import check_order, check_prompts, restored_model, restored_study
from headcats.sweeps.within_memory import budget
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite

_log = logging.getLogger("headcats")


def run_evidence(
    model: Any,
    results: xr.DataTree | str | os.PathLike[str],
    *,
    suite: str | Suite | Task | Sequence[Task | str] | None = None,
    method: str | None = None,
    metric: str | None = None,
    effect: str = "total",
    positions: str = "last",
    n_prompts: int = 16,
    relabellings: int = 200,
    seed: int = 0,
    memory: str | int | None = None,
    cluster: Elsewhere | None = None,
) -> xr.DataTree:
    """Are the categories real: do their tasks use the same heads, more than tasks with other labels do?

    The labels of independent sources of tasks are exchanged, and everything is done again for every labelling.
    Signature: are the effects of all heads, beyond what tasks share, more alike within a category? Ablation: heads are
    chosen by half of the query items, for each task without it (the at most 4 with the largest effect beyond other
    categories), and ablated jointly, to their mean over reference prompts of the whole suite, on fresh prompts about
    the other half of the items. Do they damage their category's tasks more than others? Damage = drop of the logit
    difference as a share of the clean-corrupted gap, positive = the heads help. A category is supported if the sum of
    both, standardized, is larger than all but 5 % of the largest ones of relabelled tasks (family-wise p), and the
    lower limit of the difference in damage over sources (95 % on its side) is above 0; not supported if the upper one
    is below .02; else, and where its labels go with another property of the tasks, inconclusive. docs/relabelling.md
    derives the rule, which has no options. A call that was stopped goes on from what it had measured, which is kept
    in the folder. All of this is conditional on exchangeable sources, and holds for these
    tasks, templates and distractor tasks.

    Args:
        model: The model of the results: what `hc.load_model` returns, or a name or folder, which is loaded as it was
            for the results (class, dtype; of the same name also the revision).
        results: What `hc.run` or `hc.load` returns, or a results folder, which then gets a file
            `evidence/<node>.nc` for every node of the result; where method, metric, effect or positions are not
            the default, they are in the name of the folder.
        suite: None takes the suite that the results hold. Another one, as in `hc.run`, such as one with more pairs,
            must have the same tasks and categories and give the prompts of the run.
        method: Method that heads are chosen by, as `name` or `name@positions`; None takes the first exact one there is.
        metric: Metric that heads are chosen by; None takes the first of the run. Damage is always logit difference.
        effect: "total" or "task_specific" effects, as in `hc.score`.
        positions: Where heads are ablated: "last", or "all", which takes as many times longer as prompts have tokens.
        n_prompts: Held-out prompts per task.
        relabellings: Labellings beside the true one, at least 19; where fewer exist, all are taken.
        seed: Seed of the halves and of the relabellings. Prompts have the seed of the run.
        memory: Memory to use beside the model's weights, such as 4GB; None takes half of what is free.
        cluster: An `hc.Cluster`, on whose workers heads are ablated; None takes this process.

    Returns:
        Nodes `relabelling` and `specificity`, described in docs/schema.md. Attributes of the
        root: `reading` (what they say, one sentence a line), `options` and `left_out` (JSON), and `state` (checksum of
        the blocks and categories that were tested).

    Raises:
        PlanError: Another model than that of the results, or another suite.
        OptionError: A number out of range, several positions of `method` and none chosen, or a control (`hc.score`
            tells what those are for): its heads are no category.
        UnknownNameError: A method or metric that the results do not hold.
        DataError: No task can be tested; the message says why for each. Or no results, or model and results swapped.
        ModelError: The model cannot be loaded or trusted.
        OccupiedError: Another process is writing the folder; the message says which.
        ClusterError: Ray or the cluster cannot be used, or a piece cannot be done on it.
        StorageError: A folder that cannot be read or written.

    Example:
        >>> import headcats as hc
        >>> evidence = hc.run_evidence("mini", "results/mini-icl", n_prompts=4, relabellings=20)
        >>> list(evidence)
        ['relabelling', 'specificity']
        >>> evidence["specificity"].damage.dims  # by the heads of a category, on the tasks of a category
        ('category', 'target')
        >>> set(evidence["relabelling"].verdict.values) <= {"supported", "not supported", "inconclusive"}
        True
        >>> import pathlib
        >>> sorted(path.name for path in pathlib.Path("results/mini-icl/evidence").iterdir())
        ['relabelling.nc', 'specificity.nc']

    References:
        Wang et al. (2022), arXiv 2211.00593, for the ablation to a mean; Westfall & Young (1993), Resampling-based
        Multiple Testing, for family-wise p by maxima; Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9, 39, for
        p that count the observed labelling. The statistics and verdicts are headcats' own.
    """
    check_count("n_prompts", n_prompts, least=2, most=MOST_PROMPTS)
    check_count("relabellings", relabellings, least=LEAST_LABELLINGS - 1)
    if positions not in ("last", "all"):
        raise OptionError(f"positions must be 'last' or 'all'; got {positions!r}.")
    check_order(model, results, by="hc.run_evidence")
    if not isinstance(results, str | os.PathLike):
        check_is(results, RESULTS, by="hc.run_evidence")
    reading = MapSpec.parse(method=method, metric=metric, effect=effect)
    options = Options(positions=positions, relabellings=relabellings, seed=seed)
    if memory is not None:
        budget(memory)
    check_cluster(cluster)
    given: dict[str, Any] = {"suite": suite, "n_prompts": n_prompts, "options": options, "memory": memory}
    given["cluster"] = cluster
    if isinstance(results, xr.DataTree):
        run = RunResults(results)
        return _examined(model, run, resolve_tested(reading, run), kept=TableCache(run, of_model=""), **given)
    with ResultsFolder(results).adding("headcats evidence"):
        stored = open_results(find_place(results), checked_later=math.inf)
        run = RunResults(stored.tree)
        reading = resolve_tested(reading, run)
        kept = TableCache(stored, of_model=json.dumps([versions(), torch.get_num_threads()]))
        evidence = _examined(model, run, reading, kept=kept, **given)
        _save(evidence, Path(results) / reading.evidence_folder(run, ablated=positions))
    return evidence


def _examined(
    model: Any,
    run: RunResults,
    reading: MapSpec,
    *,
    suite: str | Suite | Task | Sequence[Task | str] | None,
    n_prompts: int,
    options: Options,
    memory: str | int | None,
    cluster: Elsewhere | None,
    kept: TableCache,
) -> xr.DataTree:
    # The workers have the GPUs; this process reads texts.
    adapted = restored_model(run, model, device=None if cluster is None else "cpu")
    study = restored_study(run, suite)
    _log.info("Choosing heads by half of the query items, and making prompts about the other half.")
    with warnings.catch_warnings(record=True) as caught:
        halves = scores_of_halves(run, reading, seed=options.seed)
    for warning in caught:
        warnings.warn(str(warning.message), warning.category, stacklevel=3)
    tested = halves[0]["task"].values.tolist()
    preparation = checked_preparation(adapted, run, study)
    held_out = held_out_prompts(
        preparation, run, tested, n_prompts=n_prompts, seed=options.seed, positions=options.positions
    )
    with contextlib.nullcontext() if cluster is None else cluster.connected() as scorer_of:
        work = done_here(adapted)
        if scorer_of is not None:
            workers = scorer_of(preparation, path="auto", memory=memory).workers
            work = lambda pieces, shared: workers.map(pieces, shared=shared)  # noqa: E731
        work = kept_work(adapted, work, kept, tells_time=cluster is None)
        evidence = examine(adapted, held_out, halves, options=options, work=work, memory=memory)
    evidence.attrs[STATE] = reading.state(run)
    evidence.attrs["options"] = json.dumps(
        {
            **json.loads(evidence.attrs["options"]),
            "method": str(reading.label),
            "metric": reading.metric,
            "effect": reading.effect,
            "n_prompts": n_prompts,
            "model": run.manifest.model.name,
            "suite": run.manifest.plan.suite,
        }
    )
    return evidence


def checked_preparation(model: HookedModel, run: RunResults, study: Study) -> Preparation:
    """The prompts of a run; a PlanError where they are others now."""
    check_model(model)
    preparation = Preparation(model, study)
    check_prompts(preparation, run.manifest)
    return preparation


def held_out_prompts(
    preparation: Preparation, run: RunResults, tasks: Iterable[str], *, n_prompts: int, seed: int, positions: str
) -> HeldOut:
    """Prompts of some tasks about items of the second half, which the run has not seen."""
    tested = [task for task in tasks if task in preparation.prepared]
    study = preparation.study

    def of_task(task: str) -> tuple[PromptBatch, ...]:
        batches, _ = preparation.held_out(task, n=n_prompts, keep=lambda item: not first_half(item, seed=seed))
        return preparation.together(batches) if positions == "last" else batches

    return HeldOut(
        batches={task: of_task(task) for task in tested},
        category_of={task.name: study.suite.category_of(task).name for task in study.suite.tasks},
        source_of={task: study.sources.labels[task] for task in tested},
        linked={task: study.sources.linked[task] for task in tested},
        grouped={task.name for task in study.suite.tasks if task.group},
        covariates=covariates_of({task: run.manifest.tasks[task] for task in tested}),
        reference=preparation.references.of(tested[0], "suite"),
    )


def scores_of_halves(run: RunResults, reading: MapSpec, *, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Scores of both halves of the query items; heads are chosen by the first, whose warnings are passed on."""
    try:
        halves = (
            of_items(run.tree, lambda item: first_half(item, seed=seed)),
            of_items(run.tree, lambda item: not first_half(item, seed=seed)),
        )
    except DataError:
        raise DataError(
            "These results have query items in one half alone, and evidence chooses heads by one half of the items and "
            "tests them on the other: it needs tasks of several query items, or another seed."
        ) from None
    first = read_scores(RunResults(halves[0]), reading, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return first, read_scores(RunResults(halves[1]), reading, seed=seed)


def _save(evidence: xr.DataTree, folder: Path) -> None:
    """One file per node; all are encoded before the first is written."""
    attrs = {name: evidence.attrs[name] for name in ("reading", "options", "left_out", STATE)}
    tables = {f"{name}.nc": evidence[name].to_dataset().assign_attrs(attrs) for name in EVIDENCE_TABLES}
    for name, data in set_bytes(tables).items():
        write_whole(folder / name, data)
