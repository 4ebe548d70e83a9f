"""The tasks of a run on other processes: which cells there are, and how their pieces become blocks again."""

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from headcats.guard import is_built_in
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import Report
from headcats.models.replay.record import is_replayable
from headcats.prompts.batch import PromptBatch
from headcats.registry import Kind, lookup
from headcats.results.records import GivenAnswer, TaskRecord
from headcats.study.assessment import judge
from headcats.study.cells import Assessment, Cell, Scored, Shared
from headcats.study.plan import Study
from headcats.study.preparation import Preparation
from headcats.study.progress import Advance
from headcats.study.references import References
from headcats.study.workers import Workers
from headcats.sweeps.free_memory import budget
from headcats.sweeps.joining import join_batches
from headcats.tasks.definition import Task


@dataclass(frozen=True)
class Block:
    """A block of a task, or why there is none.

    Attributes:
        block: As the method gives it.
        refusal: Why the method is skipped on the task; "" for a block.
        checks: What the checks of the model gave; None if they were not asked for here.
        seconds: How long it took, all pieces together.
    """

    block: xr.Dataset | None
    refusal: str
    checks: dict[str, Report] | None
    seconds: float


class _Pieces:
    """Cells of one method on one task that have come back."""

    def __init__(self) -> None:
        self._scored: list[tuple[Cell, Scored]] = []

    def add(self, cell: Cell, scored: Scored) -> None:
        """One more."""
        self._scored.append((cell, scored))

    @property
    def n_prompts(self) -> int:
        """Prompts that they cover."""
        return sum(cell.n_prompts for cell, _ in self._scored)

    @property
    def is_refused_in_part(self) -> bool:
        """Whether pieces of the task have no block."""
        return any(cell.is_piece and scored.problem for cell, scored in self._scored)

    def block(self) -> Block:
        """All of them, in the order of the prompts."""
        ordered = [scored for _, scored in sorted(self._scored, key=lambda piece: piece[0].place)]
        blocks = [scored.block for scored in ordered if scored.block is not None]
        checks = next((scored.checks for scored in ordered if scored.checks is not None), None)
        seconds = sum(scored.seconds for scored in ordered)
        joined = join_batches(blocks) if len(blocks) > 1 else next(iter(blocks), None)
        return Block(joined, "" if blocks else ordered[0].problem, checks, seconds)


@dataclass(frozen=True)
class Spread:
    """The work of a run on `workers`; numbers are those of a run in one process."""

    workers: Workers
    preparation: Preparation
    path: str
    memory: str | int | None

    @property
    def study(self) -> Study:
        """The study."""
        return self.preparation.study

    @property
    def model(self) -> HookedModel:
        """The model of this process."""
        return self.preparation.model

    def assess(self, tasks: Sequence[str], advance: Advance) -> dict[str, TaskRecord]:
        """The entries of tasks in the manifest."""
        records: dict[str, TaskRecord] = {}
        calls = []
        for name in tasks:
            prepared = self.preparation.of(name)
            if prepared.problem:
                records[name] = judge(self.study, prepared, None, given=functools.partial(_as_given, ()))
                advance(1, name)
            else:
                calls.append(Assessment(name, prepared.scored))
        for call, (measured, answers) in self.workers.map(calls, shared=self._shared(reads=False)):
            records[call.task] = judge(
                self.study, self.preparation.of(call.task), measured, given=functools.partial(_as_given, answers)
            )
            advance(1, call.task)
        return {name: records[name] for name in tasks}

    def score(
        self, missing: Mapping[Task, Sequence[MethodSpec]], advance: Advance
    ) -> Iterator[tuple[Task, MethodSpec, Block]]:
        """Blocks as they become whole; one of every task comes with checks of the model on the first prompts."""
        tasks = {task.name: task for task in missing}
        specs = {spec.label: spec for of_task in missing.values() for spec in of_task}
        n_prompts = {name: sum(map(len, self.preparation.of(name).scored)) for name in tasks}
        pieces: dict[tuple[str, str], _Pieces] = defaultdict(_Pieces)
        heads, shown = sum(self.model.n_heads.values()), defaultdict[str, float](float)
        cells = [cell for task, of_task in missing.items() for cell in self._cells(task, of_task)]
        while cells:
            whole: list[Cell] = []
            for cell, scored in self.workers.map(cells, shared=self._shared()):
                of_block = pieces[cell.task, cell.label]
                of_block.add(cell, scored)
                reached = shown[cell.title] + heads * cell.n_prompts / n_prompts[cell.task]
                advance(int(reached) - int(shown[cell.title]), cell.title)
                shown[cell.title] = reached
                if of_block.n_prompts < n_prompts[cell.task]:
                    continue
                if of_block.is_refused_in_part:
                    # Whether so many prompts are left out that the block is refused is said of all together.
                    whole.append(self._whole(cell))
                    del pieces[cell.task, cell.label]
                else:
                    yield tasks[cell.task], specs[cell.label], of_block.block()
            cells = whole

    def _cells(self, task: Task, specs: Sequence[MethodSpec]) -> list[Cell]:
        """Prompt by prompt where the method allows it; those of one chunk of prompts follow each other."""
        scored = self.preparation.of(task.name).scored
        labels = tuple(spec.label for spec in specs)
        cut = [spec for spec in specs if getattr(spec.method, "scores_prompts_apart", False)]
        cells = [
            Cell(task.name, spec.label, labels, (chunk,), place=(number, start))
            for number, batch in enumerate(scored)
            for start, chunk in self._chunks(batch, cut)
            for spec in cut
        ]
        cells += [Cell(task.name, spec.label, labels, scored, is_piece=False) for spec in specs if spec not in cut]
        return [replace(cell, checked=not number) for number, cell in enumerate(cells)]

    def _chunks(self, batch: PromptBatch, specs: Sequence[MethodSpec]) -> Iterator[tuple[int, PromptBatch]]:
        """First prompt and prompts of the largest parts in which one of the methods would go through a batch here."""
        path, available = self.path if is_replayable(self.model) else "hooked", budget(self.memory, *self.model.devices)
        plans = [
            spec.method.memory_plan(
                self.model,
                batch,
                positions=spec.positions,
                n_metrics=len(self.study.metrics),
                budget=available,
                path=path,
                **dict(spec.options),
            )
            for spec in specs
        ]
        size = max((plan.prompts if plan else len(batch) for plan in plans), default=len(batch))
        if size >= len(batch):
            yield 0, batch
            return
        for start in range(0, len(batch), size):
            yield start, batch.select(range(start, min(start + size, len(batch))))

    def _whole(self, cell: Cell) -> Cell:
        """The same method on all prompts of its task."""
        scored = self.preparation.of(cell.task).scored
        return Cell(cell.task, cell.label, (cell.label,), scored, is_piece=False, checked=True)

    def _shared(self, *, reads: bool = True) -> Shared:
        """What the calls have in common; without reference prompts where none `reads` them."""
        study, tasks = self.study, [task.name for task in self.study.suite.tasks]
        batches = {name: self.preparation.of(name).reference for name in tasks} if reads else {}
        references = References(tasks, batches.__getitem__, seed=study.seed, n_prompts=study.n_prompts)
        kinds: dict[tuple[Kind, str], object] = {("metric", name): lookup("metric", name) for name in study.metrics}
        kinds |= {("method", spec.method.name): spec.method for spec in study.task_methods}
        own = {key: item for key, item in kinds.items() if not is_built_in(getattr(item, "code", item))}
        return Shared(study.metrics, self.path, self.memory, references, own)


def _as_given(answers: tuple[GivenAnswer, ...], accuracy: Any) -> tuple[GivenAnswer, ...]:
    """What a worker has sent along, in place of asking the model of this process."""
    return answers
