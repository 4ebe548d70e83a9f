"""Methods that score one task at a time: task by task, block by block; what is finished stays."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headcats.base.errors import pluralize
from headcats.methods.spec import MethodSpec
from headcats.results.records import BlockRecord, TaskRecord
from headcats.study.distractors import settle_distractors
from headcats.study.identity import conditions_since, fingerprint
from headcats.study.output import Output, block_record
from headcats.study.plan import Study
from headcats.study.progress import PartsClock, progress_bar
from headcats.study.scorer import Scored, Scorer
from headcats.study.skipped import report_skipped
from headcats.tasks.definition import Task

_log = logging.getLogger("headcats")


class TaskWork:
    """The task methods of a run under way: the manifest grows with every finished block.

    Args:
        study: The study, or the share of a run.
        output: Its folder, which this process alone writes.
        scorer: Scorer of its cells.
    """

    def __init__(self, study: Study, output: Output, scorer: Scorer) -> None:
        self.study = study
        self.output = output
        self.manifest = output.manifest
        self.scorer = scorer
        self.preparation = scorer.preparation
        self.heads = sum(self.preparation.model.n_heads.values())

    def score_tasks(self, progress: bool | None) -> None:
        """Score all tasks of the study."""
        self._settle_distractors(progress)
        if line := self.scorer.memory_needed():
            _log.info("%s", line)
        cells = self.study.cells
        # Before anything is scored: blocks in the folder may not fit, and the time left is that of missing ones.
        missing = {task: self._missing(task, specs) for task, specs in cells.items()}
        # The checks are saved last: without them a run was stopped in this task, however many blocks it has.
        to_do = {task: specs for task, specs in missing.items() if specs or task.name not in self.manifest.checks}
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
            # Of blocks that are made beside others: the time since the last task says nothing of this one.
            seconds: dict[Task, float] = defaultdict(float)
            for task, made in self.scorer.score({task: list(specs) for task, specs in to_do.items()}, advance):
                if isinstance(made, Scored):
                    self._keep(task, made, to_do[task])
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
                    "Checking which of %s the model can do; only those corrupt prompts.",
                    pluralize(len(names), "task"),
                )
            with progress_bar(len(names), show=progress, unit="tasks,") as advance:
                return self.scorer.assess(names, advance)

        settle_distractors(self.preparation, [task.name for task in self.study.cells], assess=assess_tasks)
        self.manifest.distractors |= self.preparation.distractors

    def _keep(self, task: Task, scored: Scored, missing: Mapping[MethodSpec, str]) -> None:
        """Keep a block of a task with its record, or the reason why there is none."""
        spec, mark = next((spec, mark) for spec, mark in missing.items() if spec.label == scored.label)
        records = self.manifest.blocks.setdefault(task.name, {})
        if scored.block is None:
            records[spec.label] = BlockRecord(mark, refusal=scored.refusal)
            return
        block = scored.block.assign_attrs(fingerprint=mark, declaration=spec.method.declaration.as_text())
        if dropped := int(block.attrs["dropped"]):
            reason = getattr(spec.method, "why_dropped", "have no counterpart")
            _log.warning("%s on task %s leaves out %d prompts, which %s", spec.label, task.name, dropped, reason)
        records[spec.label] = replace(
            block_record(block),
            seconds=round(scored.seconds, 3),
            versions=conditions_since(self.manifest),
            device=scored.device,
        )
        self.output.keep_block(task.name, spec.label, block)

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
            else:
                # A run that was stopped between writing the block and the manifest.
                self.manifest.blocks.setdefault(name, {}).setdefault(spec.label, record)
        return missing
