"""The scorer of a run: this process, or others that hold the model; and checks of the model around each task."""

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import xarray as xr

from headcats.base.errors import DataError
from headcats.base.guard import working_on
from headcats.methods.method import SuiteInputs, TaskInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.checks import Report, check_clean_unchanged, check_hooks, check_residual
from headcats.prompts.batch import PromptBatch
from headcats.results.records import TaskRecord
from headcats.study.assessment import assess, memory_plan
from headcats.study.plan import Study
from headcats.study.preparation import Preparation
from headcats.study.progress import Advance
from headcats.sweeps.runs import BaseRuns
from headcats.tasks.definition import Task

_CHECKED_PROMPTS = 2


@dataclass(frozen=True)
class Scored:
    """A part of a method, or, with no `block`, the `refusal`: why the method is skipped on it; "" for a block.

    It took `seconds`, on the `device` of the worker that made it; "" of this process.
    """

    label: str
    block: xr.Dataset | None
    refusal: str
    seconds: float
    device: str = ""

    @classmethod
    def of(cls, spec: MethodSpec, inputs: TaskInputs | SuiteInputs, part: str, *, device: str = "") -> "Scored":
        """Score a task, or another part, by a method."""
        started = time.monotonic()
        options = dict(spec.options) | ({} if spec.is_joint else {"positions": spec.positions})
        try:
            block, refusal = spec.method.on_part(inputs, part, **options), ""
        except DataError as error:
            block, refusal = None, str(error)
        return cls(spec.label, block, refusal, time.monotonic() - started, device)


class Here:
    """Scores cells of a study, each a method on a task, in this process; `preparation` has model, study and prompts."""

    memory_of = "Memory"

    def __init__(self, preparation: Preparation, *, path: str, memory: str | int | None) -> None:
        self.preparation, self.path, self.memory = preparation, path, memory

    @property
    def model(self) -> HookedModel:
        """The model that is scored."""
        return self.preparation.model

    @property
    def study(self) -> Study:
        """The study, with the distractors that its model leaves."""
        return self.preparation.study

    def memory_needed(self) -> str:
        """Line on the memory of the sweeps, "" where it is not known; an OptionError if the limit is too small."""
        sweep = memory_plan(self.model, self.study, self.preparation, limit=self.memory, path=self.path)
        return f"{self.memory_of}: {sweep.describe()}." if sweep else ""

    def assess(self, tasks: Sequence[str], advance: Advance) -> dict[str, TaskRecord]:
        """Entries of tasks in the manifest."""
        records = {}
        for name in tasks:
            with working_on(f"task {name!r}"):
                runs = [BaseRuns(self.model, batch, limit=self.memory) for batch in self.preparation.batches(name)]
                records[name] = assess(self.study, self.preparation.of(name), runs)
            advance(1, name)
        return records

    def score(
        self, missing: Mapping[Task, Sequence[MethodSpec]], advance: Advance
    ) -> Iterator[tuple[Task, TaskRecord | Scored | dict[str, Report]]]:
        """For each task its entry; if it is not refused, then its blocks, and last the checks of the model."""
        for task, specs in missing.items():
            with working_on(f"task {task.name!r}"):
                yield from ((task, made) for made in self._score_task(task, specs, advance))

    def _score_task(
        self, task: Task, specs: Sequence[MethodSpec], advance: Advance
    ) -> Iterator[TaskRecord | Scored | dict[str, Report]]:
        prepared, heads = self.preparation.of(task.name), sum(self.model.n_heads.values())
        made: dict[tuple[PromptBatch, ...], tuple[BaseRuns, ...]] = {}

        def runs_of(spec: MethodSpec | None) -> tuple[BaseRuns, ...]:
            batches = self.preparation.batches(task.name, spec)
            if batches not in made:
                made[batches] = tuple(BaseRuns(self.model, batch, limit=self.memory) for batch in batches)
            return made[batches]

        for spec in specs:
            for runs in runs_of(spec):
                spec.method.announce(runs, positions=spec.positions, path=self.path)
        record = assess(self.study, prepared, runs_of(None))
        if record.refusal:
            yield record
            advance(heads * len(specs), task.name)
            return
        checks = TaskChecks(self.model, prepared.scored)
        yield record
        reference = functools.partial(self.preparation.references.of, task.name)
        for spec in specs:
            of_spec = runs_of(spec)
            step = _heads_done(advance, f"{task.name} {spec.label}", n_batches=len(of_spec))
            inputs = TaskInputs(of_spec, self.study.metrics, reference, step, self.path)
            yield Scored.of(spec, inputs, task.name)
        yield checks.done()


class TaskChecks:
    """Checks of the model on the first prompts of a task, before and after it is scored."""

    def __init__(self, model: HookedModel, scored: Sequence[PromptBatch]) -> None:
        self.model, self.first = model, scored[0].select(range(min(_CHECKED_PROMPTS, len(scored[0]))))
        clean, corrupted = self.first.clean, self.first.corrupted
        self._reports = {
            "hooks": check_hooks(model, clean, corrupted),
            "residual": check_residual(model, clean, corrupted),
        }
        self._before = model.logits(clean)

    def done(self) -> dict[str, Report]:
        """Reports of all checks, after the model was used."""
        unchanged = check_clean_unchanged(self.model, self.first.clean, self._before)
        return {**self._reports, "clean_unchanged": unchanged}


def _heads_done(advance: Advance, label: str, *, n_batches: int) -> Callable[[int], None]:
    """Advance by whole heads where each is done once per batch."""
    done = 0

    def step(heads: int) -> None:
        nonlocal done
        before, done = done // n_batches, done + heads
        advance(done // n_batches - before, label)

    return step
