"""Methods that score one task at a time: task by task, block by block; what is finished stays."""

import itertools
import json
import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import xarray as xr

from headcats.errors import DataError, pluralize
from headcats.guard import working_on
from headcats.methods.causal.on_task import TaskInputs, TaskMethod
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import Report
from headcats.results.records import BlockRecord, TaskRecord
from headcats.study.assessment import assess, assess_prompts, memory_plan
from headcats.study.cells import TaskChecks
from headcats.study.distractors import settle_distractors
from headcats.study.identity import conditions_since, fingerprint
from headcats.study.output import Output
from headcats.study.plan import Study
from headcats.study.preparation import Preparation, Prepared
from headcats.study.progress import Advance, PartsClock, progress_bar
from headcats.study.skipped import report_skipped
from headcats.study.spread import Spread
from headcats.study.workers import Workers
from headcats.sweeps.runs import BaseRuns
from headcats.tasks.definition import Task

_log = logging.getLogger("headcats")


class TaskWork:
    """The task methods of a run under way: the manifest grows with every finished block.

    `workers` do the work on the model; None for this process. Nobody but this process writes.
    """

    def __init__(
        self,
        model: HookedModel,
        study: Study,
        output: Output,
        *,
        path: str,
        memory: str | int | None,
        workers: Workers | None = None,
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
        self.spread = None if workers is None else Spread(workers, self.preparation, path, memory)
        self._assessed: dict[str, TaskRecord] = {}

    def score_tasks(self, progress: bool | None) -> None:
        """All tasks of the study, or of its shard."""
        self._settle_distractors(progress)
        self._plan_memory()
        cells = self.study.cells
        # Before anything is scored: blocks in the folder may not fit, and the time left is that of missing ones.
        missing = {task: self._missing(task, specs) for task, specs in cells.items()}
        # The checks are saved last: without them a run was stopped in this task, however many blocks it has.
        to_do = [task for task in cells if missing[task] or task.name not in self.manifest.checks]
        n_cells = sum(map(len, cells.values()))
        with progress_bar(self.heads * n_cells, show=progress) as advance:
            advance(self.heads * (n_cells - sum(map(len, missing.values()))))
            clock = PartsClock(
                "",
                {task.name: 1.0 for task in to_do},
                total=len(cells),
                tell=None if progress is False else _log.info,
                noun=("task", "tasks"),
            )
            clock.begin()
            for task, seconds in self._scored({task: missing[task] for task in to_do}, advance):
                skipped = bool(self.manifest.tasks[task.name].refusal)
                clock.finished(task.name, skipped=skipped, seconds=seconds)
                clock.begin()
        report_skipped(self.preparation, self.study, self.manifest)

    def _scored(
        self, missing: Mapping[Task, dict[MethodSpec, str]], advance: Advance
    ) -> Iterator[tuple[Task, float | None]]:
        """Tasks as they are finished, with the seconds of those done beside others: here one after the other."""
        if self.spread is not None:
            yield from self._scored_elsewhere(self.spread, missing, advance)
            return
        for task, specs in missing.items():
            with working_on(f"task {task.name!r}"):
                self._score_task(task, specs, advance)
            yield task, None

    def _scored_elsewhere(
        self, spread: Spread, missing: Mapping[Task, dict[MethodSpec, str]], advance: Advance
    ) -> Iterator[tuple[Task, float | None]]:
        """Tasks as workers finish them, with the seconds that all of them took."""
        unknown = [task.name for task in missing if task.name not in self._assessed]
        self._assessed |= spread.assess(unknown, lambda steps, label: None)
        left: dict[Task, dict[MethodSpec, str]] = {}
        checks: dict[Task, dict[str, Report]] = {}
        seconds: dict[Task, float] = defaultdict(float)
        for task, specs in missing.items():
            self._save(task, self._assessed[task.name])
            if self._assessed[task.name].refusal:
                advance(self.heads * len(specs), task.name)
                yield task, None
            elif specs:
                left[task] = dict(specs)
            else:
                self._score_task(task, specs, advance)
                yield task, None
        for task, spec, scored in spread.score({task: list(specs) for task, specs in left.items()}, advance):
            checks[task] = checks.get(task) or scored.checks or {}
            result = scored.refusal if scored.block is None else scored.block
            mark = left[task].pop(spec)
            self._keep(task.name, spec, mark, result, seconds=scored.seconds, device=scored.device)
            seconds[task] += scored.seconds
            if not left[task]:
                self.manifest.checks[task.name] = checks[task]
                self._save(task, self.manifest.tasks[task.name])
                yield task, seconds[task]

    def _plan_memory(self) -> None:
        """Log what the sweeps need; an OptionError for a limit that nothing fits into.

        What is free here says nothing of workers: theirs is known where it is given.
        """
        if self.spread is not None and self.memory is None:
            return
        if sweep := memory_plan(self.model, self.study, self.preparation, limit=self.memory, path=self.path):
            _log.info("%s: %s.", "Memory" if self.spread is None else "Memory of each worker", sweep.describe())

    def _settle_distractors(self, progress: bool | None) -> None:
        """Take tasks that the model cannot do out of the prompts of others, before anything is scored."""

        def assess_tasks(names: Sequence[str]) -> dict[str, TaskRecord]:
            if progress is not False:
                _log.info(
                    "Checking which of %s the model can do; only those corrupt prompts.",
                    pluralize(len(names), "task"),
                )
            records = {}
            with progress_bar(len(names), show=progress, unit="tasks,") as advance:
                if self.spread is not None:
                    self._assessed |= self.spread.assess(names, advance)
                    return {name: self._assessed[name] for name in names}
                for name in names:
                    with working_on(f"task {name!r}"):
                        records[name] = assess_prompts(self.preparation, name, limit=self.memory)
                    advance(1, name)
            return records

        settle_distractors(self.preparation, [task.name for task in self.study.cells], assess=assess_tasks)
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
        checks = TaskChecks(self.model, prepared.scored)
        self._save(task, record)
        for spec, mark in missing.items():
            self._score(prepared, runs, spec, mark, advance)
        self.manifest.checks[task.name] = checks.done()
        self._save(task, record)

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
            runs, self.study.metrics, lambda kind: self.preparation.references.of(name, kind), step, self.path
        )
        result: xr.Dataset | str
        try:
            method: TaskMethod = spec.method
            result = method.on_task(inputs, positions=spec.positions, **dict(spec.options))
        except DataError as error:
            result = str(error)
        self._keep(name, spec, mark, result, seconds=time.monotonic() - started)

    def _keep(
        self, name: str, spec: MethodSpec, mark: str, result: xr.Dataset | str, *, seconds: float, device: str = ""
    ) -> None:
        """Keep a block of a task with its record, or the reason why there is none; `device` is that of a worker."""
        records = self.manifest.blocks.setdefault(name, {})
        if isinstance(result, str):
            records[spec.label] = BlockRecord(mark, refusal=result)
            return
        block = result.assign_attrs(fingerprint=mark, declaration=spec.method.declaration.as_text())
        if dropped := int(block.attrs["dropped"]):
            reason = getattr(spec.method, "why_dropped", "have no counterpart")
            _log.warning("%s on task %s leaves out %d prompts, which %s", spec.label, name, dropped, reason)
        records[spec.label] = replace(
            _block_record(block),
            seconds=round(seconds, 3),
            versions=conditions_since(self.manifest),
            device=device,
        )
        self.output.keep_block(name, spec.label, block)

    def _missing(self, task: Task, specs: Sequence[MethodSpec]) -> dict[MethodSpec, str]:
        """Method -> fingerprint of its block, for blocks that are missing.

        A PlanError if a block was made with other prompts, because the suite itself has changed.
        """
        name, missing = task.name, {}
        prompts = [batch.fingerprint() for batch in self.preparation.of(name).scored]
        for spec in specs:
            mark = fingerprint(prompts, self.preparation.also_read(name, spec), spec.label, self.study.metrics)
            block = self.output.block(name, spec.label, fingerprint=mark)
            if block is None:
                missing[spec] = mark
            else:
                # A run that was stopped between writing the block and the manifest.
                record = replace(_block_record(block), checksum=self.output.checksum(name, spec.label))
                self.manifest.blocks.setdefault(name, {}).setdefault(spec.label, record)
        return missing

    def _save(self, task: Task, record: TaskRecord) -> None:
        self.manifest.tasks[task.name] = record
        self.output.save_manifest()


def _block_record(block: xr.Dataset) -> BlockRecord:
    counted = {"fingerprint": block.attrs["fingerprint"], "dropped": int(block.attrs["dropped"])}
    return BlockRecord.from_dict(json.loads(block.attrs["provenance"]) | counted)
