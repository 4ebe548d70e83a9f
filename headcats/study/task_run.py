"""Methods that score one task at a time: task by task, block by block; what is finished stays."""

import itertools
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from headcats.errors import DataError, NothingScoredError, pluralize
from headcats.guard import working_on
from headcats.methods.causal.on_task import TaskInputs, TaskMethod
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_clean_unchanged, check_hooks, check_residual
from headcats.results.records import BlockRecord, TaskRecord
from headcats.study.assessment import assess, assess_prompts, memory_plan
from headcats.study.distractors import settle_distractors
from headcats.study.identity import fingerprint, versions_since
from headcats.study.output import Output
from headcats.study.plan import REFERENCE_PROMPTS, Study
from headcats.study.preparation import Preparation, Prepared
from headcats.study.progress import Advance, PartsClock, progress_bar
from headcats.sweeps.reference import LEAST_PROMPTS_PER_ROLE
from headcats.sweeps.runs import BaseRuns
from headcats.tasks.definition import Task

_CHECKED_PROMPTS = 2

_log = logging.getLogger("headcats")


class TaskWork:
    """The task methods of a run under way: the manifest grows with every finished block."""

    def __init__(
        self, model: HookedModel, study: Study, output: Output, *, path: str, memory: str | int | None
    ) -> None:
        self.model = model
        self.study = study
        self.output = output
        self.manifest = output.manifest
        self.path = path
        self.memory = memory
        self.preparation = Preparation(model, study.changed(distractors=self.manifest.distractors))
        if self.manifest.tasks and not self.manifest.distractors:
            # Of a version in which skipped tasks corrupted others.
            self.preparation.distractors |= self.preparation.candidates
        self.heads = sum(model.n_heads.values())

    def score_tasks(self, progress: bool | None) -> None:
        """All tasks of the study, one after the other."""
        self._settle_distractors(progress)
        if sweep := memory_plan(self.model, self.study, self.preparation, limit=self.memory, path=self.path):
            _log.info("Memory: %s.", sweep.describe())
        tasks, methods = self.study.tasks, self.study.task_methods
        # Before anything is scored: blocks in the folder may not fit, and the time left is that of missing ones.
        missing = {task: self._missing(self.preparation.of(task.name)) for task in tasks}
        # The checks are saved last: without them a run was stopped in this task, however many blocks it has.
        to_do = [task for task in tasks if missing[task] or task.name not in self.manifest.checks]
        with progress_bar(self.heads * len(tasks) * len(methods), show=progress) as advance:
            advance(self.heads * sum(len(methods) - len(specs) for specs in missing.values()))
            clock = PartsClock(
                "",
                {task.name: 1.0 for task in to_do},
                total=len(tasks),
                tell=None if progress is False else _log.info,
                noun=("task", "tasks"),
            )
            for task in to_do:
                clock.begin()
                with working_on(f"task {task.name!r}"):
                    self._score_task(task, missing[task], advance)
                clock.finished(task.name, skipped=bool(self.manifest.tasks[task.name].refusal))
        self._report_skipped()

    def _settle_distractors(self, progress: bool | None) -> None:
        """Take tasks that the model cannot do out of the prompts of others, before anything is scored."""

        def assess_tasks(names: Sequence[str]) -> dict[str, TaskRecord]:
            if progress is not False:
                _log.info(
                    "Checking which of %s the model can do; the others corrupt none.", pluralize(len(names), "task")
                )
            records = {}
            with progress_bar(len(names), show=progress, unit="tasks,") as advance:
                for name in names:
                    with working_on(f"task {name!r}"):
                        records[name] = assess_prompts(self.preparation, name, limit=self.memory)
                    advance(1, name)
            return records

        settle_distractors(self.preparation, [task.name for task in self.study.tasks], assess=assess_tasks)
        self.manifest.distractors |= self.preparation.distractors

    def _score_task(self, task: Task, missing: dict[MethodSpec, str], advance: Advance) -> None:
        """The missing blocks of one task, with its entry in the manifest and the checks."""
        prepared = self.preparation.of(task.name)
        runs = tuple(BaseRuns(self.model, batch, limit=self.memory) for batch in prepared.scored)
        for spec, batch_runs in itertools.product(missing, runs):
            spec.method.announce(batch_runs, positions=spec.positions, path=self.path)
        record = assess(self.study, prepared, runs)
        if record.refusal:
            self._save(task, record)
            advance(self.heads * len(missing), task.name)
            return
        first = prepared.scored[0].select(range(min(_CHECKED_PROMPTS, len(prepared.scored[0]))))
        checks = {
            "hooks": check_hooks(self.model, first.clean, first.corrupted),
            "residual": check_residual(self.model, first.clean, first.corrupted),
        }
        before = self.model.logits(first.clean)
        self._save(task, record)
        for spec, mark in missing.items():
            self._score(prepared, runs, spec, mark, advance)
        checks["clean_unchanged"] = check_clean_unchanged(self.model, first.clean, before)
        self.manifest.checks[task.name] = checks
        self._save(task, record)

    def _report_skipped(self) -> None:
        """Log which tasks and methods are skipped and why; an error if nothing is left."""
        names = [task.name for task in self.study.tasks]
        reasons = {name: reason for name, reason in self.manifest.skipped().items() if name in names}
        records = self.manifest.tasks
        given = {name: _given_answers(records[name]) for name in reasons}
        lines = "\n".join(
            f"  {name}: {reason}{_dropped(records[name])}{given[name]}" for name, reason in reasons.items()
        )
        if len(reasons) == len(names) and not self.study.joint_methods:
            raise NothingScoredError(
                f"No task of suite {self.study.suite.name!r} can be scored on {self.model.name!r}:\n{lines}",
                refused_by=tuple(records[name].refused_by for name in reasons),
            )
        scored = [name for name in names if name not in reasons]
        unsolved = {name: records[name].accuracy or 0 for name in scored if not records[name].is_solved}
        if unsolved and self.study.min_logit_diff is None:
            _log.warning(
                "%d of %s scored though the model solves less than half of its prompts, and may corrupt others: %s. "
                "With min_logit_diff=0 (--min-logit-diff 0) it has to prefer the answer.",
                len(unsolved),
                pluralize(len(names), "task is", "tasks are"),
                ", ".join(f"{name} ({accuracy:.2f})" for name, accuracy in unsolved.items()),
            )
        shuffled = [name for name in scored if records[name].corruption]
        if shuffled:
            _log.warning(
                "%d of %s corrupted by shuffled labels, as no other task that the model can do shares enough inputs "
                "with it: %s.",
                len(shuffled),
                pluralize(len(names), "task is", "tasks are"),
                ", ".join(shuffled),
            )
        references = {name: self.preparation.of(name).references.kept for name in scored}
        few = [f"{name} ({references[name]})" for name in scored if references[name] < REFERENCE_PROMPTS]
        if few and any("reference" in spec.method.options for spec in self.study.task_methods):
            _log.warning(
                "Fewer than %d reference prompts of %s; those with none are missing from means: %s",
                REFERENCE_PROMPTS,
                pluralize(len(few), "task"),
                ", ".join(few),
            )
        if used_up := [name for name in scored if self.preparation.is_used_up(name)]:
            _log.warning(
                "%d of %s no prompts left for `headcats evidence` (hc.run_evidence), which needs some that the run has "
                "not seen: %s. Give them at least %d more, or score fewer (--n-prompts).",
                len(used_up),
                pluralize(len(names), "task has", "tasks have"),
                ", ".join(used_up),
                2 * LEAST_PROMPTS_PER_ROLE,
            )
        if reasons:
            _log.warning("%d of %d tasks are skipped:\n%s", len(reasons), len(names), lines)
        blocks = [(name, *block) for name in names for block in self.manifest.blocks.get(name, {}).items()]
        refused: dict[tuple[str, str], list[str]] = {}
        for name, label, record in blocks:
            if record.refusal:
                refused.setdefault((label, record.refusal), []).append(name)
        for (label, refusal), of_tasks in refused.items():
            tasks = f"{'task' if len(of_tasks) == 1 else 'tasks'} {', '.join(of_tasks)}"
            _log.warning("%s is skipped on %s: %s", label, tasks, refusal)
        if blocks and all(record.refusal for *_, record in blocks) and not self.study.joint_methods:
            name, label, record = blocks[0]
            raise DataError(f"Nothing is scored, on no task, by no method. {label} on task {name}: {record.refusal}")

    def _score(
        self, prepared: Prepared, runs: tuple[BaseRuns, ...], spec: MethodSpec, mark: str, advance: Advance
    ) -> None:
        name, started = prepared.task.name, time.monotonic()
        share, done = len(prepared.scored), 0

        def step(heads: int) -> None:
            nonlocal done
            before, done = done // share, done + heads
            advance(done // share - before, f"{name} {spec.label}")

        inputs = TaskInputs(
            runs, self.study.metrics, lambda kind: self.preparation.reference(name, kind), step, self.path
        )
        records = self.manifest.blocks.setdefault(name, {})
        try:
            method: TaskMethod = spec.method
            block = method.on_task(inputs, positions=spec.positions, **dict(spec.options))
        except DataError as error:
            records[spec.label] = BlockRecord(mark, refusal=str(error))
            return
        block = block.assign_attrs(fingerprint=mark, declaration=spec.method.declaration.as_text())
        if dropped := int(block.attrs["dropped"]):
            reason = getattr(spec.method, "why_dropped", "have no counterpart")
            _log.warning("%s on task %s leaves out %d prompts, which %s", spec.label, name, dropped, reason)
        records[spec.label] = replace(
            _block_record(block),
            seconds=round(time.monotonic() - started, 3),
            versions=versions_since(self.manifest),
        )
        self.output.keep_block(name, spec.label, block)

    def _missing(self, prepared: Prepared) -> dict[MethodSpec, str]:
        """Method -> fingerprint of its block, for blocks that are missing.

        A PlanError if a block was made with other prompts, because the suite itself has changed.
        """
        name, missing = prepared.task.name, {}
        prompts = [batch.fingerprint() for batch in prepared.scored]
        for spec in self.study.task_methods:
            mark = fingerprint(prompts, self.preparation.also_read(name, spec), spec.label, self.study.metrics)
            block = self.output.block(name, spec.label, fingerprint=mark)
            if block is None:
                missing[spec] = mark
            else:
                # A run that was stopped between writing the block and the manifest.
                self.manifest.blocks.setdefault(name, {}).setdefault(spec.label, _block_record(block))
        return missing

    def _save(self, task: Task, record: TaskRecord) -> None:
        self.manifest.tasks[task.name] = record
        self.output.save_manifest()


def _dropped(record: TaskRecord) -> str:
    """What is dropped of the prompts of a skipped task that has some."""
    if not record.prompts.kept or not record.prompts.dropped:
        return ""
    reasons = ", ".join(f"{number} {reason}" for reason, number in record.prompts.dropped.items())
    return f" (prompts dropped: {reasons})"


def _given_answers(record: TaskRecord) -> str:
    """What the model says instead, behind the reason why a task is skipped."""
    answers = [f"to {each.prompt!r} {each.given!r}, not {each.expected!r}" for each in record.given_answers]
    return f". It answers {'; '.join(answers)}" if answers else ""


def _block_record(block: xr.Dataset) -> BlockRecord:
    counted = {"fingerprint": block.attrs["fingerprint"], "dropped": int(block.attrs["dropped"])}
    return BlockRecord.from_dict(json.loads(block.attrs["provenance"]) | counted)
