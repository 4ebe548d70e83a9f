"""`hc.run_evidence`: the categories of a finished run, tested on prompts that the run has never seen."""

import json
import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.categories.argument_checks import RESULTS, check_is, check_rule
from headcats.categories.reading import EVIDENCE_TABLES, Reading, read_scores, resolve_tested
from headcats.errors import OptionError, StatisticsWarning
from headcats.evidence.held_out import HeldOut, Options, examine
from headcats.evidence.trials import select
from headcats.models.checks import check_model
from headcats.results.folder import load, table_bytes
from headcats.results.run_results import RunResults
from headcats.results.whole_file import write_whole
from headcats.rules.rule import Rule
from headcats.scores.items import first_half, of_items
from headcats.study.preparation import Preparation
from headcats.study.restore import check_order, check_prompts, restored_model, restored_study
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
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    positions: str = "last",
    n_prompts: int = 16,
    controls: int = 100,
    seed: int = 0,
) -> xr.DataTree:
    """Do the heads of each category matter for its tasks, more than for others, and more than random heads do?

    Heads are chosen by the scores of half of the query items, for each tested task without that task: of a category's
    members the (at most) 4 with the largest effect beyond the other categories. They are ablated jointly, to their mean
    over reference prompts of the whole suite, on fresh prompts about the other half of the items. Damage = drop of the
    answer's log-probability as a share of the clean-corrupted gap, positive = the heads help. Beside it stand
    relabellings (the heads of every layer permuted, for all tested sets alike) and random sets with as many heads in
    every layer, none of them tested. A category is supported if the exact p (one-sided) is <= .05 among at least 19
    relabellings, the interval of the difference is above 0, and p <= .05 among the random sets too where 19 exist; the
    rule has no knob. All of this holds for these tasks, templates and distractor tasks.

    Args:
        model: The model of the results: what `hc.load_model` returns, or a name or folder, which is loaded as it was
            for the results (class, dtype; of the same name also the revision).
        results: What `hc.run` or `hc.load` returns, or a results folder, which then gets a file
            `evidence/<node>.nc` for every node of the result; where method, metric, effect, rule, min_tasks or
            positions are not the default, they are in the name of the folder.
        suite: The suite of the results, as in `hc.run`, where it is found no longer: None takes the one that `hc.run`
            got in this process, that of the module or file it was loaded from, or the registered one. Other prompts
            are refused.
        method: Method that heads are chosen by, as `name` or `name@positions`; None takes the first exact one there is.
        metric: Metric that heads are chosen by; None takes the first of the run. Damage is always log-probability.
        effect: "total" or "task_specific" effects, as in `hc.score`.
        rule: Rule of membership, as in `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        positions: Where heads are ablated: "last", or "all", which takes as many times longer as prompts have tokens.
        n_prompts: Held-out prompts per task.
        controls: Random sets, and relabellings, per tested set.
        seed: Seed of the halves, the random sets and the resamples. Prompts have the seed of the run.

    Returns:
        Nodes `specificity`, `exclusive`, `contrasts`, `curves`, `self_repair`, described in the modules of
        `headcats.evidence` that have their names. Attributes of the root: `reading` (what they say, one sentence a
        line), `options` and `left_out` (JSON).

    Raises:
        PlanError: Another model than that of the results, or a suite that is not found or has changed.
        OptionError: A number out of range, a rule without its options, several positions of `method` and none chosen,
            or a control (`hc.score` tells what those are for): its heads are no category.
        UnknownNameError: A method or metric that the results do not hold.
        DataError: No task can be tested; the message says why for each. Or no results, or model and results swapped.
        ModelError: The model cannot be loaded or trusted.
        StorageError: A folder that cannot be read or written.

    Example:
        >>> import headcats as hc
        >>> evidence = hc.run_evidence("mini", "results/mini-icl", n_prompts=4, controls=20)
        >>> list(evidence)
        ['specificity', 'exclusive', 'contrasts', 'curves', 'self_repair']
        >>> evidence["specificity"].damage.dims  # by the heads of a category, on the tasks of a category
        ('category', 'target')
        >>> set(evidence["specificity"].verdict.values) <= {"supported", "not supported", "inconclusive"}
        True
        >>> import pathlib
        >>> sorted(path.name for path in pathlib.Path("results/mini-icl/evidence").iterdir())
        ['contrasts.nc', 'curves.nc', 'exclusive.nc', 'self_repair.nc', 'specificity.nc']

    References:
        Wang et al. (2022), arXiv 2211.00593, for the ablation to a mean; Phipson & Smyth (2010), Stat. Appl. Genet.
        Mol. Biol. 9, 39, for exact p. Selection without the tested task, relabellings and verdicts are headcats' own.
    """
    for name, value, least in (("n_prompts", n_prompts, 2), ("controls", controls, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise OptionError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    if positions not in ("last", "all"):
        raise OptionError(f"positions must be 'last' or 'all'; got {positions!r}.")
    check_rule(rule, by="hc.run_evidence")
    check_order(model, results, by="hc.run_evidence")
    if not isinstance(results, str | os.PathLike):
        check_is(results, RESULTS, by="hc.run_evidence")
    run = RunResults(results if isinstance(results, xr.DataTree) else load(results))
    manifest = run.manifest
    reading = resolve_tested(
        Reading.parse(method=method, metric=metric, effect=effect, rule=rule, min_tasks=min_tasks), run
    )
    adapted = restored_model(manifest, model)
    study = restored_study(manifest, suite)
    _log.info("Choosing heads by half of the query items, and making prompts about the other half.")
    chosen_on = of_items(run.tree, lambda item: first_half(item, seed=seed))
    with warnings.catch_warnings(record=True) as caught:
        scores = read_scores(RunResults(chosen_on), reading, seed=seed)
        # For its warnings and errors alone, before prompts are made: `examine` selects again.
        select(scores, rule=reading.rule, min_tasks=reading.min_tasks)
    for warning in caught:
        warnings.warn(str(warning.message), warning.category, stacklevel=2)
    check_model(adapted)
    preparation = Preparation(adapted, study)
    check_prompts(preparation, manifest)
    tested = [task for task in scores["task"].values.tolist() if task in preparation.prepared]
    held_out = HeldOut(
        batches={
            task: preparation.held_out(task, n=n_prompts, keep=lambda item: not first_half(item, seed=seed))[0]
            for task in tested
        },
        category_of={task.name: study.suite.category_of(task).name for task in study.suite.tasks},
        reference=preparation.reference(tested[0], "suite"),
    )
    options = Options(rule=reading.rule, min_tasks=reading.min_tasks, positions=positions, controls=controls, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        evidence = examine(adapted, held_out, scores, options=options)
    evidence.attrs["options"] = json.dumps(
        {
            **json.loads(evidence.attrs["options"]),
            "method": str(reading.label),
            "metric": reading.metric,
            "effect": reading.effect,
            "rule": repr(reading.rule),
            "n_prompts": n_prompts,
            "model": manifest.model.name,
            "suite": study.suite.name,
        }
    )
    if not isinstance(results, xr.DataTree):
        _save(evidence, Path(results) / reading.evidence_folder(run, ablated=positions))
    return evidence


def _save(evidence: xr.DataTree, folder: Path) -> None:
    """One file per node; all are encoded before the first is written."""
    attrs = {name: evidence.attrs[name] for name in ("reading", "options", "left_out")}
    files = {f"{name}.nc": table_bytes(evidence[name].to_dataset().assign_attrs(attrs)) for name in EVIDENCE_TABLES}
    for name, data in files.items():
        write_whole(folder / name, data)
