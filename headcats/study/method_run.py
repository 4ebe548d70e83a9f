"""Methods of a run, part by part: what is finished stays, and the next run goes on from it.

Methods that score one task at a time go through the tasks together, as they share unpatched runs and are spread over
the workers of a cluster; joint methods follow, one after the other.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import xarray as xr

from headcats.base.errors import pluralize
from headcats.base.guard import working_on
from headcats.methods.method import SuiteInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.prompts.padding import in_order, keys_of
from headcats.results.declaration import join_parts
from headcats.results.manifest import SUITE
from headcats.results.records import BlockRecord, MethodRecord, TaskRecord
from headcats.study.distractors import settle_distractors
from headcats.study.identity import conditions_since, fingerprint
from headcats.study.output import Output, block_record
from headcats.study.plan import Study
from headcats.study.progress import Advance, PartsClock, progress_bar
from headcats.study.scorer import Here, Scored
from headcats.study.skipped import report_skipped, report_skipped_parts
from headcats.tasks.definition import Task

_STEPS = 100  # of the progress bar, per part of a joint method

_log = logging.getLogger("headcats")


class _Parts(NamedTuple):
    """Parts of one joint method: fingerprints of those of this run, in their order, and the finished ones."""

    fingerprints: dict[str, str]
    done: dict[str, xr.Dataset]


def suite_inputs(model: HookedModel, study: Study) -> SuiteInputs:
    """Inputs of the joint methods of a study."""
    pairs = {task.name: [pair for pair in study.pairs[task.name] if isinstance(pair, tuple)] for task in study.tasks}
    return SuiteInputs(
        model=model,
        tasks=study.tasks,
        categories={task.name: study.suite.category_of(task).name for task in study.tasks},
        pairs={name: words for name, words in pairs.items() if words},
        template=study.template,
        n_demos=study.n_demos,
        n_prompts=study.n_prompts,
        seed=study.seed,
    )


class MethodRun:
    """The methods of a study, or of the share of a run, under way: the manifest grows with every finished part.

    A PlanError if the folder of the output holds a part of a joint method that was made from other tasks.
    """

    def __init__(self, study: Study, output: Output, scorer: Here) -> None:
        self.study = study
        self.output = output
        self.manifest = output.manifest
        self.scorer = scorer
        self.preparation = scorer.preparation
        self.inputs = suite_inputs(self.preparation.model, study)
        # Before anything is scored: what is in the folder may not fit.
        self._joint = {spec: self._read_parts(spec) for spec in study.joint_methods}

    def score(self, progress: bool | None) -> None:
        """Score all parts that are missing."""
        if self.study.cells:
            self._score_tasks(progress)
        for spec, parts in self._joint.items():
            if parts.fingerprints or self.study.is_whole:
                self._score_joint(spec, progress)
        report_skipped_parts(self.study, self.manifest)

    def _score_tasks(self, progress: bool | None) -> None:
        self._settle_distractors(progress)
        if line := self.scorer.memory_needed():
            _log.info("%s", line)
        cells, heads = self.study.cells, sum(self.inputs.model.n_heads.values())
        # Before anything is scored: blocks in the folder may not fit, and the time left is that of missing ones.
        missing = {task: self._missing(task, specs) for task, specs in cells.items()}
        # The checks are saved last: without them a run was stopped in this task, however many blocks it has.
        to_do = {task: specs for task, specs in missing.items() if specs or task.name not in self.manifest.checks}
        n_cells = sum(map(len, cells.values()))
        with progress_bar(heads * n_cells, show=progress) as advance:
            advance(heads * (n_cells - sum(map(len, missing.values()))))
            work = {task.name: 1.0 for task in to_do}
            tell = None if progress is False else _log.info
            clock = PartsClock("", work, total=len(cells), tell=tell, noun=("task", "tasks"))
            clock.begin()
            # Of blocks that are made beside others: the time since the last task says nothing of this one.
            seconds: dict[Task, float] = defaultdict(float)
            for task, made in self.scorer.score({task: list(specs) for task, specs in to_do.items()}, advance):
                if isinstance(made, Scored):
                    spec, mark = next((spec, mark) for spec, mark in to_do[task].items() if spec.label == made.label)
                    self._keep(task.name, spec, mark, made)
                    seconds[task] += made.seconds if made.device else 0.0
                    del made  # or the block is kept while the next is made
                    continue
                if isinstance(made, TaskRecord):
                    self.manifest.tasks[task.name] = made
                else:
                    self.manifest.checks[task.name] = made
                self.output.save_manifest()
                skipped = bool(self.manifest.tasks[task.name].refusal)
                if skipped or not isinstance(made, TaskRecord):
                    clock.finished(task.name, skipped=skipped, seconds=seconds[task] or None)
                    clock.begin()
        for label in dict.fromkeys(spec.label for specs in cells.values() for spec in specs):
            self.output.join(label)
        report_skipped(self.preparation, self.study, self.manifest)

    def _settle_distractors(self, progress: bool | None) -> None:
        """Take tasks that the model cannot do out of the prompts of others, before anything is scored."""

        def assess_tasks(names: Sequence[str]) -> dict[str, TaskRecord]:
            if progress is not False:
                _log.info(
                    "Checking which of %s the model can do; only those corrupt prompts.", pluralize(len(names), "task")
                )
            with progress_bar(len(names), show=progress, unit="tasks,") as advance:
                return self.scorer.assess(names, advance)

        settle_distractors(self.preparation, [task.name for task in self.study.cells], assess=assess_tasks)
        self.manifest.distractors |= self.preparation.distractors

    def _missing(self, task: Task, specs: Sequence[MethodSpec]) -> dict[MethodSpec, str]:
        """Method -> fingerprint of its block, for blocks that are missing.

        A PlanError if a block was made with other prompts, because the suite itself has changed.
        """
        name, missing = task.name, {}
        prompts = [batch.fingerprint() for batch in self.preparation.of(name).scored]
        for spec in specs:
            mark = fingerprint(prompts, self.preparation.also_read(name, spec), spec.label, self.study.metrics)
            record = self.output.record(name, spec.label, fingerprint=mark)
            if record is None:
                missing[spec] = mark
            elif self.manifest.record(name, spec.label) is None:
                # A run that was stopped between writing the block and the manifest.
                self.manifest.add(spec.label, name, record)
        return missing

    def _read_parts(self, spec: MethodSpec) -> _Parts:
        study = self.study
        plan = [study.seed, study.n_prompts, study.n_demos, study.template.name]
        parts = list(spec.method.parts(self.inputs, **dict(spec.options)).items())
        fingerprints = {
            part: fingerprint(spec.label, part, plan, {task: list(self.inputs.pairs[task]) for task in tasks})
            for (part, tasks), _ in study.deal(parts, [spec])
        }
        return _Parts(fingerprints, self.output.parts(spec.label, fingerprints=fingerprints))

    def _score_joint(self, spec: MethodSpec, progress: bool | None) -> None:
        """Score the missing parts of a joint method; its block keeps finished ones that this run does not ask for."""
        fingerprints, done = self._joint[spec]
        # A run may have been stopped between writing a part and its record.
        stored = {part: BlockRecord(str(block.attrs["fingerprint"])) for part, block in done.items()}
        record = self.manifest.blocks.get(spec.label, MethodRecord())
        # A part whose file is damaged, and which this run does not make again, is not in the block any more.
        kept = {part: entry for part, entry in record.parts.items() if entry.refusal or part in {*done, *fingerprints}}
        # Recorded even if every part is skipped.
        tasks = {**record.tasks, **self.inputs.categories}
        self.manifest.blocks[spec.label] = MethodRecord({**kept, **stored, **kept}, tasks)
        if done:
            self._join(spec)
        amount = getattr(spec.method, "work", lambda inputs, part, **options: 1.0)
        work = {
            part: float(amount(self.inputs, part, **dict(spec.options))) for part in fingerprints if part not in done
        }
        with progress_bar(_STEPS * len(fingerprints), show=progress, unit="%") as advance:
            tell = None if progress is False else _log.info
            clock = PartsClock(spec.label, work, total=len(fingerprints), tell=tell)
            advance(_STEPS * (len(fingerprints) - len(work)), spec.label)
            for part in work:
                clock.begin()
                scored = self._scored_part(spec, part, advance, clock)
                self._keep(part, spec, fingerprints[part], scored)
                clock.finished(part, skipped=scored.block is None)

    def _scored_part(self, spec: MethodSpec, part: str, advance: Advance, clock: PartsClock) -> Scored:
        """Score a part; the progress bar moves by whole steps, never back."""
        steps = 0

        def move(share: float, label: str) -> None:
            nonlocal steps
            before, steps = steps, max(steps, round(min(max(share, 0.0), 1.0) * _STEPS))
            advance(steps - before, f"{spec.label} {part} {label}".strip())

        def reached(share: float, label: str) -> None:
            clock.reached(part, share)
            move(share, label)

        try:
            with working_on(f"part {part!r}"):
                return Scored.of(spec, self.inputs.reporting(reached), part)
        finally:
            move(1.0, "")  # also of a part that was skipped

    def _keep(self, part: str, spec: MethodSpec, mark: str, scored: Scored) -> None:
        """Keep a part of a method with its record, or the reason why there is none."""
        if scored.block is None:
            self.manifest.add(spec.label, part, BlockRecord(mark, refusal=scored.refusal))
            self.output.save_manifest()
            return
        block = scored.block.assign_attrs(fingerprint=mark)
        scored_prompts = () if spec.is_joint else self.preparation.of(part).scored
        if scored_prompts and self.preparation.batches(part, spec) != scored_prompts:
            # It went through prompts of several lengths together.
            block = block.isel(prompt=in_order(block["key"].values.tolist(), keys_of(scored_prompts)))
        record = BlockRecord(mark) if spec.is_joint else block_record(block)
        versions = conditions_since(self.manifest)
        record = replace(record, seconds=round(scored.seconds, 3), versions=versions, device=scored.device)
        if spec.is_joint:
            # Before its record: a manifest names nothing that is not there.
            self.output.keep_part(spec.label, part, block)
            self.manifest.add(spec.label, part, record)
            self._joint[spec].done[part] = block
            self._join(spec)
            return
        block = block.assign_attrs(declaration=spec.method.declaration.as_text())
        if dropped := int(block.attrs["dropped"]):
            reason = getattr(spec.method, "why_dropped", "have no counterpart")
            _log.warning("%s on task %s leaves out %d prompts, which %s", spec.label, part, dropped, reason)
        self.manifest.add(spec.label, part, record)
        self.output.keep_block(part, spec.label, block)

    def _join(self, spec: MethodSpec) -> None:
        """Write the finished parts of a joint method as one block, those of this run first."""
        fingerprints, done = self._joint[spec]
        order = dict.fromkeys([*fingerprints, *self.manifest.blocks[spec.label].parts])
        parts = {part: done[part] for part in order if part in done}
        categories = json.dumps(self.manifest.category_entries(), ensure_ascii=False)
        joined = join_parts(spec.method, parts, categories=categories, model=self.inputs.model.name)
        self.output.keep_block(SUITE, spec.label, joined)
