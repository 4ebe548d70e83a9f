"""What a study hands a joint method, and what such a method looks like."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import xarray as xr

from headcats.methods.options import Option
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredText
from headcats.prompts.few_shot import few_shot_texts
from headcats.prompts.template import Template
from headcats.results.declaration import Declaration
from headcats.tasks.definition import Task

WordPair = tuple[str, str]


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
        n_prompts: Prompts per task that the study asks for; methods that fit something may use more.
        seed: Seed of every random choice.
        advance: To be called with the share of a part that is done (0 to 1) and what is being done. Times are told by
            it, so the share is to grow evenly; it is 0 as long as that cannot be said.
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
        """The same tasks, with another place to report to."""
        return replace(self, advance=advance)

    def texts(self, task: str, *, n: int, purpose: str) -> list[AnsweredText]:
        """Few-shot prompts of a task with their answers (see `few_shot_texts`)."""
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


class JointMethod(Protocol):
    """A method that judges all heads over the tasks of a suite at once.

    Its work falls into named parts (a relation, a seed), each saved when it is finished. A part that raises DataError
    is refused, with the message; the others go on. Where parts differ in how long they take, the method may also have
    `work(inputs, part, **options)`: how much work the part is, in any unit (0 for all where the part that is done first
    does it for all); times are estimated by it.

    Attributes:
        declaration: Of kind "joint".
        name: Its registered name.
        options: As of any method (see `headcats.methods.options`).
    """

    declaration: Declaration
    name: str
    options: dict[str, Option]

    def parts(self, inputs: SuiteInputs, **options: Any) -> dict[str, tuple[str, ...]]:
        """Name of each part -> names of the tasks it reads, in the order in which they are done."""

    def on_part(self, inputs: SuiteInputs, part: str, **options: Any) -> xr.Dataset:
        """The result of one part, with the attribute `provenance` (JSON)."""

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """Parts, finished ones in the order of `parts`, as one dataset."""

    def summary(self, block: xr.Dataset) -> list[str]:
        """What a reader should know of a finished result, as plain sentences."""
