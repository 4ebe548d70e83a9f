"""Sets of heads that are replaced together: on which prompts, and what they do there."""

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headcats.base.errors import DataError, OptionError
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.loading import load_model
from headcats.prompts.batch import PromptBatch
from headcats.results.options import options_of
from headcats.statistics.random_streams import stream
from headcats.statistics.task import Estimate, PromptEffects, estimate
from headcats.study.distractors import settle_distractors
from headcats.study.options import StudyOptions
from headcats.study.own_template import with_own_template
from headcats.study.plan import plan
from headcats.study.preparation import Preparation
from headcats.study.references import reference_kind
from headcats.study.scorer import Here
from headcats.study.skipped import report_shuffled
from headcats.sweeps.joint import joint_sweep
from headcats.sweeps.reference import given_reference

_OWN = {"suite", "methods", "seed", "metrics", "path", "memory"}  # arguments of `ablate`, or not for it
_log = logging.getLogger("headcats")


class TaskPrompts(NamedTuple):
    """Prompts of one task; `reference` is None for those of the batch itself, and `corruption` "" for given prompts."""

    task: str
    batches: Sequence[PromptBatch]
    reference: Any
    corruption: str = ""


class SetWork(NamedTuple):
    """Sets of heads measured on prompts: all that `ablate` and `smallest_set` have in common."""

    model: HookedModel
    spec: MethodSpec
    metric: Any
    memory: str | int | None
    seed: int

    def effects(self, prompts: TaskPrompts, sets: Sequence[Sequence[Head]], *, half: int | None = None) -> Estimate:
        """Effects of the sets on the prompts, or on those of half of the query items, 0 or 1."""
        tables = []
        for batch in prompts.batches:
            chosen = _of_half(batch, prompts, half, self.seed)
            if chosen is None:
                continue
            table = joint_sweep(
                self.model,
                chosen,
                self.spec.method.intervention,
                sets,
                metrics=(self.metric,),
                positions=self.spec.positions,
                reference=given_reference(prompts.reference, batch),  # of the whole batch, whatever half is measured
                memory=self.memory,
            )
            tables.append((table.isel(metric=0), chosen.items))
        if not tables:
            raise DataError(f"Task {prompts.task!r} has too few query items for two halves; expected at least four.")
        is_clean = self.spec.method.intervention.base == "clean"
        moved = [(t.clean - t.patched) if is_clean else (t.patched - t.corrupted) for t, _ in tables]
        effect = np.concatenate([each.transpose("prompt", "set").values for each in moved])
        gap = np.concatenate([(t.clean - t.corrupted).values for t, _ in tables])
        items = np.concatenate([np.array(names, dtype=object) for _, names in tables]).astype(str)
        measured = estimate(PromptEffects(effect, gap, items), task=prompts.task, seed=self.seed)
        if not measured.gap_low > 0:
            raise DataError(
                f"Task {prompts.task!r} shows no clear gap between clean and corrupted prompts ({measured.gap:.2f}): "
                "heads cannot be said to do any of it. `headcats validate` shows which tasks have one."
            )
        return measured


def prepared(
    model: Any, prompts: Any, method: str, metric: Any, reference: Any, seed: int, memory: Any, options: dict[str, Any]
) -> tuple[SetWork, Iterator[TaskPrompts]]:
    """The work on one model, and the prompts of every task, from the arguments of `hc.ablate`."""
    spec = MethodSpec.parse(method)
    if not hasattr(spec.method, "intervention"):
        raise OptionError(f"{method!r} does not replace heads; expected a causal method, such as mean_ablation@last.")
    work = SetWork(load_model(model), spec, metric, memory, seed)
    batches = [prompts] if isinstance(prompts, PromptBatch) else prompts
    if isinstance(batches, list | tuple) and batches and all(isinstance(each, PromptBatch) for each in batches):
        if options:
            raise OptionError(f"{', '.join(options)} choose the prompts of a suite; these prompts are given.")
        names = dict.fromkeys(batch.task or "prompts" for batch in batches)
        of_task: Mapping[str, Any] = {name: [b for b in batches if (b.task or "prompts") == name] for name in names}
        return work, (TaskPrompts(name, found, reference) for name, found in of_task.items())
    allowed = {each.name for each in options_of(StudyOptions, "validate")} - _OWN
    if wrong := options.keys() - allowed:
        raise OptionError(f"{', '.join(sorted(wrong))} cannot be given here; {', '.join(sorted(allowed))} can.")
    if reference is not None:
        raise OptionError("The reference of a suite's prompts is that of a run; for another pass batches.")
    return work, _of_suite(work, prompts, options)


def _of_suite(work: SetWork, suite: Any, options: Mapping[str, Any]) -> Iterator[TaskPrompts]:
    """Prompts of the tasks that a run would score: what the model cannot do is left out, and corrupts no other."""
    study = plan(suite=suite, methods=[work.spec.label], seed=work.seed, **options)
    preparation, kind = Preparation(work.model, with_own_template(study, work.model)), reference_kind(work.spec)
    scorer, names = Here(preparation, path="auto", memory=work.memory), [task.name for task in study.tasks]
    assess = functools.partial(scorer.assess, advance=lambda steps, task: None)
    records = settle_distractors(preparation, names, assess=assess)
    records = {name: records.get(name) or assess([name])[name] for name in names}
    report_shuffled(records)
    for task, record in records.items():
        if record.refusal:
            leave_out(task, DataError(record.refusal), suite)
            continue
        reference = preparation.references.of(task, kind) if kind else None
        corruption = preparation.of(task).corruption
        yield TaskPrompts(task, preparation.batches(task, work.spec), reference, corruption)


def _of_half(batch: PromptBatch, prompts: TaskPrompts, half: int | None, seed: int) -> PromptBatch | None:
    """The batch, or its prompts of half of the query items of the task; None where there are none."""
    if half is None:
        return batch
    items = np.unique([item for each in prompts.batches for item in each.items])
    kept = set(stream(seed, prompts.task, "halves").permutation(items)[half::2].tolist())
    rows = [row for row, item in enumerate(batch.items) if item in kept]
    return batch.select(rows) if rows and len(items) >= 4 else None


def leave_out(task: str, problem: DataError, prompts: Any) -> None:
    """Warn of a task that is left out; the problem itself where the prompts are one batch."""
    if isinstance(prompts, PromptBatch):
        raise problem
    _log.warning("Task %s is left out: %s", task, problem)
