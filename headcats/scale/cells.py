"""The work of a study in calls for processes that hold its model: a task's unpatched runs, and cells.

A cell is a method on some prompts of a task, whole parts in which a sweep goes through a batch here, so that the same
numbers are added up in the same order. Only prompts and names are sent: a process needs no suite and no folder.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headcats.base.guard import working_on
from headcats.base.registry import Kind, register
from headcats.methods.method import TaskInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import Report
from headcats.prompts.batch import PromptBatch
from headcats.study.assessment import Measured, measure
from headcats.study.references import References
from headcats.study.scorer import Scored, TaskChecks
from headcats.sweeps.runs import BaseRuns


class Call(Protocol):
    """A piece of work that can be sent to a process with the model."""

    @property
    def title(self) -> str:
        """Name in messages."""

    @property
    def group(self) -> Any:
        """Calls of one group have unpatched runs in common; a process does them one after the other if it can."""

    def on(self, model: HookedModel, shared: Any) -> Any:
        """Do it; `shared` is what all calls have in common, which the process keeps from call to call."""

    def halves(self) -> "Sequence[Call]":
        """Smaller pieces of the work; none if it cannot be cut."""


class Workers(Protocol):
    """Processes that hold the model."""

    def map(self, calls: Iterable[Any], *, shared: Any = None) -> Iterator[tuple[Any, Any]]:
        """(call, result) as they are finished, in any order; of a call that was cut, its pieces.

        An error of headcats that a call raises is raised here.
        """


@dataclass
class Shared:
    """Values that all calls of a run have in common, which a process keeps, with the runs and means it has computed."""

    metrics: tuple[str, ...]
    path: str
    memory: str | int | None
    references: References
    own_items: Mapping[tuple[Kind, str], Any] = field(default_factory=dict)
    _last: tuple[Any, tuple[BaseRuns, ...]] = (None, ())

    def register_items(self) -> None:
        """Make them known to this process."""
        for (kind, name), item in self.own_items.items():
            register(kind, name, item)

    def runs(self, model: HookedModel, cell: "Cell") -> tuple[BaseRuns, ...]:
        """The unpatched runs of a cell: those of the cell before, if it has the same prompts."""
        key = cell.group
        if self._last[0] != key:
            runs = tuple(BaseRuns(model, batch, limit=self.memory) for batch in cell.batches)
            for label in cell.labels:
                spec = MethodSpec.parse(label)
                for of_batch in runs:
                    spec.method.announce(of_batch, positions=spec.positions, path=self.path)
            self._last = key, runs
        return self._last[1]


@dataclass(frozen=True)
class Assessment:
    """The unpatched runs of a task, by which it is judged, and answers of the model where it is wrong."""

    task: str
    batches: tuple[PromptBatch, ...]
    scored: tuple[PromptBatch, ...]  # the same prompts, each length apart

    @property
    def title(self) -> str:
        """Name in messages."""
        return f"task {self.task!r}"

    @property
    def group(self) -> str:
        """The task: it shares runs with no other call."""
        return self.task

    def on(self, model: HookedModel, shared: Shared) -> Measured:
        """Metrics of its prompts, and a few answers where it is wrong."""
        with working_on(self.title):
            shared.register_items()
            runs = [BaseRuns(model, batch, limit=shared.memory) for batch in self.batches]
            measured = measure(shared.metrics[0], runs, self.scored)
            return measured._replace(answers=tuple(measured.answers))

    def halves(self) -> "list[Assessment]":
        """No pieces: unpatched runs cut themselves to the memory of the process that makes them."""
        return []


@dataclass(frozen=True)
class Cell:
    """A method on some prompts of a task; `place` is batch and first prompt, and a piece may be cut further."""

    task: str
    label: str
    labels: tuple[str, ...]
    batches: tuple[PromptBatch, ...]
    place: tuple[int, int] = (0, 0)
    is_piece: bool = True
    checked: bool = False

    @property
    def title(self) -> str:
        """Name in messages."""
        return f"{self.task} {self.label}"

    @property
    def n_prompts(self) -> int:
        """Number of prompts of all its batches."""
        return sum(map(len, self.batches))

    @property
    def group(self) -> tuple[Any, ...]:
        """Cells with the same prompts."""
        return self.task, self.labels, self.place, self.n_prompts

    def on(self, model: HookedModel, shared: Shared) -> tuple[Scored, dict[str, Report]]:
        """Score it, as a run in one process would, with checks of the model where they are asked for."""
        with working_on(f"task {self.task!r}"):
            shared.register_items()
            checks = TaskChecks(model, self.batches) if self.checked else None
            inputs = TaskInputs(
                shared.runs(model, self),
                shared.metrics,
                lambda kind: shared.references.of(self.task, kind),
                path=shared.path,
            )
            scored = Scored.of(MethodSpec.parse(self.label), inputs, self.task, device=model.placement)
            return scored, {} if checks is None else checks.done()

    def halves(self) -> "list[Cell]":
        """Two cells of half as many prompts each; none of a cell that cannot be cut."""
        halves = _halved(self.batches) if self.is_piece else []
        batch, first = self.place
        starts = [first, first + sum(map(len, halves[0]))] if halves else []
        return [
            replace(self, batches=half, place=(batch, start), checked=self.checked and not number)
            for number, (half, start) in enumerate(zip(halves, starts, strict=True))
        ]


def _halved(batches: tuple[PromptBatch, ...]) -> list[tuple[PromptBatch, ...]]:
    if len(batches) > 1:
        return [batches[: len(batches) // 2], batches[len(batches) // 2 :]]
    (batch,), n = batches, len(batches[0])
    if n == 1:
        return []
    return [(batch.select(range(n // 2)),), (batch.select(range(n // 2, n)),)]
