"""Protocol of methods, and their inputs from a study: the whole suite, or one task at a time."""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import xarray as xr

from headcats.base.errors import DataError
from headcats.methods.spec import Option
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredText, encode_answered, few_shot_texts
from headcats.prompts.pair import WordPair
from headcats.prompts.template import Template
from headcats.results.declaration import Declaration
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.tasks.definition import Task

__all__ = ["Method", "Option", "SuiteInputs", "TaskInputs", "encode_answered"]

K = TypeVar("K")
T = TypeVar("T")


def attempt_each(make: Callable[[K], T], keys: Iterable[K]) -> tuple[dict[K, T], dict[K, DataError]]:
    """Key -> what is made for it, and key -> the DataError of those for which it cannot be made."""
    made: dict[K, T] = {}
    problems: dict[K, DataError] = {}
    for key in keys:
        try:
            made[key] = make(key)
        except DataError as problem:
            problems[key] = problem
    return made, problems


@dataclass(frozen=True)
class SuiteInputs:
    """The tasks of a study, ready for a joint method.

    Attributes:
        model: The model.
        tasks: Tasks to judge heads by, in the order of the suite.
        categories: Task name -> category, as the suite spells it.
        pairs: Task name -> (input, output) word pairs; tasks of finished prompts are missing.
        template: How a prompt is written.
        n_demos: Demonstrations per prompt.
        n_prompts: Prompts per task in the study; methods that fit something may use more.
        seed: Seed of every random choice.
        advance: To be called with the share of a part that is done (0 to 1) and a description. Times are estimated
            from it, so the share should grow evenly; 0 while it is unknown.
    """

    model: HookedModel
    tasks: tuple[Task, ...]
    categories: Mapping[str, str]
    pairs: Mapping[str, Sequence[WordPair]]
    template: Template
    n_demos: int
    n_prompts: int
    seed: int
    advance: Callable[[float, str], None] = lambda share, what: None

    def reporting(self, advance: Callable[[float, str], None]) -> "SuiteInputs":
        """Copy with another `advance`."""
        return replace(self, advance=advance)

    def copied(self) -> "SuiteInputs":
        """Copy with lists of its own: what is written into them changes no other method's pairs."""
        pairs = {name: list(words) for name, words in self.pairs.items()}
        return replace(self, categories=dict(self.categories), pairs=pairs)

    @property
    def readable(self) -> tuple[str, ...]:
        """Names of the tasks of word pairs."""
        return tuple(task.name for task in self.tasks if task.name in self.pairs)

    def texts_of(self, tasks: Sequence[str], *, n: int, purpose: str) -> tuple[list[AnsweredText], dict[str, str]]:
        """Texts of the tasks that give some; and task -> why it gives none."""
        texts, problems = attempt_each(lambda task: self.texts(task, n=n, purpose=purpose), tasks)
        return list(itertools.chain(*texts.values())), {task: str(problem) for task, problem in problems.items()}

    def texts(self, task: str, *, n: int, purpose: str) -> list[AnsweredText]:
        """Few-shot prompts of a task with their answers (see `few_shot_texts`), or a DataError."""
        if task not in self.pairs:
            raise DataError(f"Task {task!r} is made of finished prompts, not of word pairs.")
        return few_shot_texts(
            self.pairs[task],
            n=n,
            n_demos=self.n_demos,
            template=self.template,
            seed=self.seed,
            task=task,
            category=self.categories[task],
            purpose=purpose,
        )


@dataclass(frozen=True)
class TaskInputs:
    """Inputs that a study hands a method for one task.

    Attributes:
        runs: Base runs of the task's batches: one per prompt length, or fewer where the method takes padding.
        metrics: Names of the metrics to read.
        reference: Name of a reference ("suite", "task", "corrupted", "other_tasks", "other_items") -> its prompts.
        advance: To be called with the number of heads done, per batch.
        path: Path of sweeps, "auto" or "hooked".
    """

    runs: tuple[BaseRuns, ...]
    metrics: tuple[str, ...]
    reference: Callable[[str], Reference]
    advance: Callable[[int], None] = lambda heads: None
    path: str = "auto"

    def copied(self) -> "TaskInputs":
        """Copy with runs and references of its own: what is written into them changes no other numbers."""
        runs = tuple(runs.select(list(range(len(runs.batch)))) for runs in self.runs)
        return replace(self, runs=runs, reference=functools.cache(lambda name: self.reference(name).copied()))


class Method(Protocol):
    """A way to judge heads. Its work falls into named parts, each saved when it is finished.

    Of a joint method (kind "joint" of its `Declaration`) a part is what it says, such as a relation or a seed, and
    `inputs` is a `SuiteInputs`. Of a method that judges one task at a time (kind "task") the parts are the tasks: it
    needs neither `parts` nor `join`, its `inputs` is a `TaskInputs`, it is told the `positions`, and it gives `patched
    (metric, prompt, layer, head)`, `clean` and `corrupted (metric, prompt)` in each metric's unit. What it has besides,
    so that its memory is planned, are `positions`, `memory_plan` and `announce`, as `CausalMethod` describes them. A
    part that raises a DataError is skipped, with the message. If the parts of a joint method differ in duration, it
    may also have `work(inputs, part, **options)`, the work of a part in any unit (0 for all if the first part does it
    for all), from which times are estimated.

    Attributes:
        declaration: What the rest of headcats needs to know of it.
        name: Its registered name.
        options: Name of an option -> its values, the default first, or a whole number (`headcats.methods.spec`).
    """

    declaration: Declaration
    name: str
    options: dict[str, Option]

    def parts(self, inputs: SuiteInputs, **options: Any) -> dict[str, tuple[str, ...]]:
        """Name of each part -> names of the tasks it reads, in the order of execution."""

    def on_part(self, inputs: Any, part: str, **options: Any) -> xr.Dataset:
        """The result of one part, with the attribute `provenance` (JSON); of a task also `dropped`, a number."""

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """Finished parts, in the order of `parts`, as one dataset."""

    def summary(self, block: xr.Dataset) -> list[str]:
        """Sentences on a finished block."""
