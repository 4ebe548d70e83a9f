"""Methods that score one task at a time: task by task, block by block; what is finished stays."""

import contextlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace

import xarray as xr

from headcats.errors import DataError, PlanError
from headcats.methods.causal import CausalMethod
from headcats.methods.causal.inputs import TaskInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_clean_unchanged, check_hooks, check_residual
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, TaskRecord
from headcats.study.assessment import base_runs
from headcats.study.estimate import memory_plan
from headcats.study.manifest import block_fingerprint, versions_since
from headcats.study.parts_clock import PartsClock
from headcats.study.plan import REFERENCE_PROMPTS, Study
from headcats.study.preparation import Preparation, Prepared
from headcats.study.progress import Advance, progress_bar
from headcats.study.validation import task_record
from headcats.sweeps.batch_sweep import announce
from headcats.sweeps.runs import BaseRuns
from headcats.tasks.definition import Task

_CHECKED_PROMPTS = 2

_log = logging.getLogger("headcats")


class TaskWork:
    """The task methods of a run under way: the manifest grows with every finished block."""

    def __init__(
        self,
        model: HookedModel,
        study: Study,
        folder: ResultsFolder | None,
        manifest: Manifest,
        *,
        path: str,
        memory: str | int | None,
    ) -> None:
        self.model = model
        self.path = path
        self.memory = memory
        self.study = study
        self.folder = folder
        self.manifest = manifest
        self.preparation = Preparation(model, study)
        self.blocks: dict[tuple[str, str], xr.Dataset] = {}
        self.heads = sum(model.n_heads.values())

    def score_tasks(self, progress: bool | None) -> None:
        """All tasks of the study, one after the other."""
        if expected := memory_plan(self.model, self.study, self.preparation, limit=self.memory, path=self.path):
            _log.info("Memory: %s.", expected.describe())
        tasks = self.study.tasks
        # Before anything is scored: what is there may not fit, and the time left is that of what is not there.
        missing = {task.name: list(self._missing(self.preparation.prepared[task.name])) for task in tasks}
        # The checks are saved last: without them a run was stopped in this task, however many blocks it has.
        to_do = [name for name, specs in missing.items() if specs or name not in self.manifest.checks]
        with progress_bar(self.heads * len(tasks) * len(self.study.task_methods), show=progress) as advance:
            clock = PartsClock(
                "",
                dict.fromkeys(to_do, 1.0),
                of=len(tasks),
                tell=_log.info if progress is not False else None,
                noun=("task", "tasks"),
            )
            for task in tasks:
                n_done = len(self.study.task_methods) - len(missing[task.name])
                advance(self.heads * n_done, task.name)
                if task.name in to_do:
                    clock.begin()
                    self._score_task(task, missing[task.name], advance)
                    clock.finished(task.name, refused=bool(self.manifest.tasks[task.name].refusal))
        self.report_skipped()

    def _score_task(self, task: Task, missing: list[tuple[MethodSpec, str]], advance: Advance) -> None:
        """The methods on one task whose block is missing, with its entry in the manifest and the checks."""
        prepared = self.preparation.prepared[task.name]
        runs = base_runs(self.model, prepared, memory=self.memory)
        self._announce(runs, [spec for spec, _ in missing])
        record = task_record(self.study, prepared, runs)
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
        for spec, fingerprint in missing:
            self._score(prepared, runs, spec, fingerprint, advance)
        checks["clean_unchanged"] = check_clean_unchanged(self.model, first.clean, before)
        self.manifest.checks[task.name] = checks
        self._save(task, record)

    def report_skipped(self) -> None:
        """One log record that lists what is not scored and why; an error when that is everything."""
        names = [task.name for task in self.study.tasks]
        reasons = {name: reason for name, reason in self.manifest.skipped().items() if name in names}
        lines = "\n".join(f"  {name}: {reason}" for name, reason in reasons.items())
        if len(reasons) == len(names) and not self.study.suite_methods:
            raise DataError(
                f"No task of suite {self.study.suite.name!r} can be scored on {self.model.name!r}:\n{lines}"
            )
        few = {
            name: self.preparation.prepared[name].references.kept
            for name in self.preparation.prepared
            if self.preparation.prepared[name].references.kept < REFERENCE_PROMPTS
        }
        if few and any("reference" in spec.method.options for spec in self.study.task_methods):
            counts = ", ".join(f"{name} ({count})" for name, count in few.items())
            _log.warning(
                "%d tasks have fewer than %d reference prompts; those with none are missing from means: %s",
                len(few),
                REFERENCE_PROMPTS,
                counts,
            )
        if reasons:
            _log.warning("%d of %d tasks are not scored:\n%s", len(reasons), len(names), lines)
        for name in names:
            for label, record in self.manifest.blocks.get(name, {}).items():
                if record.refusal:
                    _log.warning("%s is not scored on task %s: %s", label, name, record.refusal)

    def _score(
        self, prepared: Prepared, runs: tuple[BaseRuns, ...], spec: MethodSpec, fingerprint: str, advance: Advance
    ) -> None:
        name, started = prepared.task.name, time.monotonic()
        share = len(prepared.scored)
        done = 0

        def step(heads: int) -> None:
            nonlocal done
            before, done = done // share, done + heads
            advance(done // share - before, f"{name} {spec.label}")

        inputs = TaskInputs(
            runs, self.study.metrics, lambda kind: self.preparation.reference(name, kind), step, self.path
        )
        records = self.manifest.blocks.setdefault(name, {})
        try:
            block = spec.method.on_task(inputs, positions=spec.positions, **dict(spec.options))
        except DataError as error:
            records[spec.label] = BlockRecord(fingerprint, refusal=str(error))
            return
        block = block.assign_attrs(fingerprint=fingerprint, declaration=spec.method.declaration.as_text())
        if dropped := int(block.attrs["dropped"]):
            reason = getattr(spec.method, "why_dropped", "left out")
            _log.warning("%s on task %s: %d prompts %s", spec.label, name, dropped, reason)
        records[spec.label] = replace(
            _block_record(block),
            seconds=round(time.monotonic() - started, 3),
            dropped=dropped,
            versions=versions_since(self.manifest),
        )
        if self.folder is None:
            self.blocks[name, spec.label] = block
        else:
            self.folder.write_block(name, spec.label, block)
            self.folder.write_manifest(self.manifest)

    def _announce(self, runs: tuple[BaseRuns, ...], specs: list[MethodSpec]) -> None:
        """Tell the unpatched runs what the methods will ask of them, so that each is made once."""
        for spec in specs:
            if isinstance(spec.method, CausalMethod):
                for batch_runs in runs:
                    with contextlib.suppress(DataError):  # roles that do not align: refused by the sweep itself
                        announce(batch_runs, spec.method.intervention, positions=spec.positions, path=self.path)

    def _missing(self, prepared: Prepared) -> Iterator[tuple[MethodSpec, str]]:
        """Methods whose block is not there yet.

        Raises:
            PlanError: A block is there that was made with other prompts, because the suite itself has changed.
        """
        for spec in self.study.task_methods:
            fingerprint = self._fingerprint(prepared, spec)
            block = None if self.folder is None else self.folder.read_block(prepared.task.name, spec.label)
            if block is None:
                yield spec, fingerprint
            elif block.attrs.get("fingerprint") != fingerprint:
                assert self.folder is not None
                path = self.folder.block_path(prepared.task.name, spec.label)
                raise PlanError(
                    f"{path} was made with other prompts or reference prompts than "
                    f"task {prepared.task.name!r} has now: suite {self.study.suite.name!r} (its tasks or word pairs) "
                    "or the tokenizer has changed. Name another folder with --out (out=...)."
                )
            else:
                # A run that was stopped between writing the block and the manifest.
                self.manifest.blocks.setdefault(prepared.task.name, {}).setdefault(spec.label, _block_record(block))

    def _fingerprint(self, prepared: Prepared, spec: MethodSpec) -> str:
        return block_fingerprint(
            prompts=[batch.fingerprint() for batch in prepared.scored],
            reference=self.preparation.also_read(prepared.task.name, spec),
            label=spec.label,
            metrics=self.study.metrics,
        )

    def _save(self, task: Task, record: TaskRecord) -> None:
        self.manifest.tasks[task.name] = record
        # Nothing is written before there is something to keep: a run whose tasks are all skipped leaves no folder.
        if self.folder is not None and len(self.manifest.skipped()) < len(self.manifest.tasks):
            self.folder.write_manifest(self.manifest)


def _block_record(block: xr.Dataset) -> BlockRecord:
    provenance = json.loads(block.attrs["provenance"])
    return BlockRecord.from_dict({**provenance, "fingerprint": block.attrs["fingerprint"]})
