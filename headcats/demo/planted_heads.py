"""Jobs of planted heads, at random places among 32 heads."""

from dataclasses import dataclass
from typing import Literal

from headcats.demo.planted_tasks import TASKS
from headcats.models.head import Head
from headcats.statistics.random_streams import stream

N_LAYERS, N_HEADS = 4, 8

Kind = Literal["helping", "suppressing", "one task", "or", "and", "none"]
PlannedJobs = tuple[tuple[Kind, tuple[str, ...], int], ...]
"""Kind of job, the categories it is done for, and how many heads do it. `or` and `and` are one pair each."""


@dataclass(frozen=True)
class Job:
    """Job that one head was made to do."""

    # `helping` and `suppressing` heads write the answer, or its opposite, in every task of their categories; `one
    # task` helps in the first task of its category only, so it is no member by any rule that asks for more; of an
    # `or` pair one head alone does the whole work, of an `and` pair neither does any without the other
    kind: Kind
    categories: tuple[str, ...]
    effect: float  # share of the gap; negative for suppressing heads; for a pair, of both together

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks the head works in."""
        own = tuple(task for task, category in TASKS.items() if category in self.categories)
        return own[:1] if self.kind == "one task" else own


Jobs = dict[Head, Job]


def place(*, effect: float, seed: int, jobs: PlannedJobs) -> Jobs:
    """A job for every head, `none` for those that are left; the places are random."""
    heads = [Head(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
    order = iter(stream(seed, "toy heads").permutation(len(heads)))
    sizes = {"suppressing": -effect, "none": 0.0}
    placed = {
        heads[next(order)]: Job(kind, categories, sizes.get(kind, effect))
        for kind, categories, count in jobs
        for _ in range(count)
    }
    return placed | {heads[number]: Job("none", (), 0.0) for number in order}


def of_kind(jobs: Jobs, *kinds: Kind) -> list[Head]:
    """The heads with such a job."""
    return [head for head, job in jobs.items() if job.kind in kinds]


def rest_of_gap(jobs: Jobs, task: str) -> float:
    """Share of a task's gap that no head carries: what is missing to 1. Negative where the heads carry more than 1."""
    carried = sum(job.effect / (2 if job.kind in ("or", "and") else 1) for job in jobs.values() if task in job.tasks)
    return 1 - carried
