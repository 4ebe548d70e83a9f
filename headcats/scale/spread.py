"""The tasks of a run on other processes: its cells, and how their pieces become blocks again."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from headcats.base.errors import MemoryLimitError
from headcats.base.guard import is_built_in
from headcats.base.registry import Kind, lookup
from headcats.methods.spec import MethodSpec
from headcats.models.checks import Report
from headcats.models.replay.record import is_replayable
from headcats.prompts.batch import PromptBatch
from headcats.results.block_schema import join_batches
from headcats.results.records import TaskRecord
from headcats.scale.cells import Assessment, Cell, Shared, Workers
from headcats.study.assessment import judge, plan_of
from headcats.study.preparation import Preparation
from headcats.study.progress import Advance
from headcats.study.references import References, reference_kind
from headcats.study.scorer import Here, Scored
from headcats.sweeps.within_memory import budget
from headcats.tasks.definition import Task


class _Pieces:
    """Cells of one method on one task that have come back."""

    def __init__(self) -> None:
        self._scored: list[tuple[Cell, Scored]] = []
        self.checks: dict[str, Report] = {}

    def add(self, cell: Cell, scored: Scored, checks: dict[str, Report]) -> None:
        """Keep a piece until all prompts are there."""
        self._scored.append((cell, scored))
        self.checks = self.checks or checks

    @property
    def n_prompts(self) -> int:
        """Prompts that they cover."""
        return sum(cell.n_prompts for cell, _ in self._scored)

    @property
    def is_refused_in_part(self) -> bool:
        """True if pieces of the task have no block."""
        return any(cell.is_piece and scored.refusal for cell, scored in self._scored)

    def joined(self) -> Scored:
        """Join all pieces, in the order of the prompts."""
        ordered = [scored for _, scored in sorted(self._scored, key=lambda piece: piece[0].place)]
        blocks = [scored.block for scored in ordered if scored.block is not None]
        return Scored(
            ordered[0].label,
            join_batches(blocks) if len(blocks) > 1 else next(iter(blocks), None),
            "" if blocks else ordered[0].refusal,
            sum(scored.seconds for scored in ordered),
            ", ".join(sorted({scored.device for scored in ordered})),
        )


class Spread(Here):
    """The scorer of a run on `workers`; numbers are those of a run in one process."""

    memory_of = "Memory of each worker"

    def __init__(self, workers: Workers, preparation: Preparation, *, path: str, memory: str | int | None) -> None:
        super().__init__(preparation, path=path, memory=memory)
        self.workers = workers
        self._assessed: dict[str, TaskRecord] = {}

    def memory_needed(self) -> str:
        """See `Here`. Memory that is free here says nothing of workers: theirs is known where it is given."""
        return "" if self.memory is None else super().memory_needed()

    def assess(self, tasks: Sequence[str], advance: Advance) -> dict[str, TaskRecord]:
        """Entries of tasks in the manifest, by what workers measure."""
        calls = []
        for name in tasks:
            prepared = self.preparation.of(name)
            if prepared.problem:
                self._assessed[name] = judge(self.study, prepared, None)
                advance(1, name)
            else:
                calls.append(Assessment(name, self.preparation.batches(name), prepared.scored))
        for call, measured in self.workers.map(calls, shared=self._shared({})):
            self._assessed[call.task] = judge(self.study, self.preparation.of(call.task), measured)
            advance(1, call.task)
        return {name: self._assessed[name] for name in tasks}

    def score(
        self, missing: Mapping[Task, Sequence[MethodSpec]], advance: Advance
    ) -> Iterator[tuple[Task, TaskRecord | Scored | dict[str, Report]]]:
        """See `Here`; tasks as workers finish them."""
        self.assess([task.name for task in missing if task.name not in self._assessed], lambda steps, label: None)
        left: dict[Task, list[MethodSpec]] = {}
        for task, specs in missing.items():
            if specs or self._assessed[task.name].refusal:
                yield task, self._assessed[task.name]
            if self._assessed[task.name].refusal:
                advance(sum(self.model.n_heads.values()) * len(specs), task.name)
            elif specs:
                left[task] = list(specs)
            else:
                yield from super().score({task: []}, advance)
        checks: dict[Task, dict[str, Report]] = defaultdict(dict)
        n_left = {task: len(specs) for task, specs in left.items()}
        for task, scored, reports in self._blocks(left, advance):
            checks[task] = checks[task] or reports
            n_left[task] -= 1
            yield task, scored
            del scored  # or it is kept while the next is awaited
            if not n_left[task]:
                yield task, checks[task]

    def _blocks(
        self, missing: Mapping[Task, Sequence[MethodSpec]], advance: Advance
    ) -> Iterator[tuple[Task, Scored, dict[str, Report]]]:
        """Blocks as they become whole; one of every task comes with checks of the model on the first prompts."""
        tasks = {task.name: task for task in missing}
        n_prompts = {name: sum(map(len, self.preparation.of(name).scored)) for name in tasks}
        pieces: dict[tuple[str, str], _Pieces] = defaultdict(_Pieces)
        heads, shown = sum(self.model.n_heads.values()), defaultdict[str, float](float)
        cells = [cell for task, of_task in missing.items() for cell in self._cells(task, of_task)]
        reference = self.preparation.references.batches_of
        references = {name: reference(name) for name in self._read_as_reference(missing)}
        while cells:
            whole: list[Cell] = []
            for cell, (scored, checks) in self.workers.map(cells, shared=self._shared(references)):
                key = cell.task, cell.label
                pieces[key].add(cell, scored, checks)
                reached = shown[cell.title] + heads * cell.n_prompts / n_prompts[cell.task]
                advance(int(reached) - int(shown[cell.title]), cell.title)
                shown[cell.title] = reached
                if pieces[key].n_prompts < n_prompts[cell.task]:
                    continue
                of_block = pieces.pop(key)
                if of_block.is_refused_in_part:
                    # Too many prompts left out of a piece may be few of the whole task.
                    whole.append(self._whole(cell))
                else:
                    yield tasks[cell.task], of_block.joined(), of_block.checks
            cells = whole

    def _read_as_reference(self, missing: Mapping[Task, Sequence[MethodSpec]]) -> list[str]:
        """Tasks whose prompts are references of any of these methods, in the order of the suite."""
        kinds = {(task.name, reference_kind(spec)) for task, specs in missing.items() for spec in specs}
        read = {name for task, kind in kinds for name in self.preparation.references.sources(task, kind)}
        return [task.name for task in self.study.suite.tasks if task.name in read]

    def _cells(self, task: Task, specs: Sequence[MethodSpec]) -> list[Cell]:
        """Prompt by prompt where the method allows it; those of one chunk of prompts follow each other."""
        alike: dict[tuple[PromptBatch, ...], list[MethodSpec]] = defaultdict(list)
        for spec in specs:
            alike[self.preparation.batches(task.name, spec)].append(spec)
        cells = []
        for batches, of_batches in alike.items():
            labels = tuple(spec.label for spec in of_batches)
            cut = [spec for spec in of_batches if getattr(spec.method, "scores_prompts_apart", False)]
            cells += [
                Cell(task.name, spec.label, labels, (chunk,), place=(number, start))
                for number, batch in enumerate(batches)
                for start, chunk in self._chunks(batch, cut)
                for spec in cut
            ]
            whole = [spec for spec in of_batches if spec not in cut]
            cells += [Cell(task.name, spec.label, labels, batches, is_piece=False) for spec in whole]
        return [replace(cell, checked=not number) for number, cell in enumerate(cells)]

    def _chunks(self, batch: PromptBatch, specs: Sequence[MethodSpec]) -> Iterator[tuple[int, PromptBatch]]:
        """First prompt and prompts of the largest parts in which one of the methods would go through a batch here."""
        path, available = self.path if is_replayable(self.model) else "hooked", budget(self.memory, *self.model.devices)
        try:
            plans = [plan_of(spec, self.model, self.study, batch, budget=available, path=path) for spec in specs]
        except MemoryLimitError:
            plans = []  # too little is free here; a worker cuts what it gets to what it has
        size = max((plan.prompts if plan else len(batch) for plan in plans), default=len(batch))
        if size >= len(batch):
            yield 0, batch
            return
        for start in range(0, len(batch), size):
            yield start, batch.select(range(start, min(start + size, len(batch))))

    def _whole(self, cell: Cell) -> Cell:
        """Cell of the method on all prompts of its task."""
        batches = self.preparation.batches(cell.task, MethodSpec.parse(cell.label))
        return Cell(cell.task, cell.label, (cell.label,), batches, is_piece=False, checked=True)

    def _shared(self, references: Mapping[str, Sequence[PromptBatch]]) -> Shared:
        """Values for all calls; `references`: task -> its reference prompts, of all that a call may ask for."""
        study, tasks = self.study, [task.name for task in self.study.suite.tasks]
        n_scored = {task.name: self.preparation.of(task.name).prompts.kept for task in study.cells}
        items: dict[tuple[Kind, str], object] = {("metric", name): lookup("metric", name) for name in study.metrics}
        items |= {("method", spec.method.name): spec.method for spec in study.task_methods}
        return Shared(
            study.metrics,
            self.path,
            self.memory,
            References(tasks, references.__getitem__, seed=study.seed, n_scored=n_scored.__getitem__),
            {key: item for key, item in items.items() if not is_built_in(getattr(item, "code", item))},
        )
