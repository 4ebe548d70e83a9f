"""A part of the sweeps of a study, done as the study will do it: what the whole will take is scaled up from there.

Shapes alone say too little: how fast a processor is depends on the sizes of what it is given, and how many copies of a
tensor exist at once on the architecture.
"""

import contextlib
import itertools
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from headcats.base.errors import DataError
from headcats.methods.causal.on_task import TaskInputs
from headcats.methods.spec import MethodSpec
from headcats.models.replay.record import is_replayable
from headcats.study.assessment import assess, work_of
from headcats.study.preparation import Preparation
from headcats.sweeps.descriptors.describing import describe_model, describe_prompts
from headcats.sweeps.peak import peak_bytes
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns


@dataclass(frozen=True)
class Rehearsal:
    """Time of a part of the work."""

    peak: int
    """Bytes beside the weights, those of the unpatched runs and of the descriptors of heads among them."""
    rates: Mapping[MethodSpec, float]
    """Method -> seconds per unit of its `work`; methods that cannot do a part of it are missing."""
    describing: float
    """Seconds of the descriptors of heads, whatever the task."""
    describing_task: float
    """Seconds of those that need the prompts of a task."""


def rehearse(preparation: Preparation, task: str, *, limit: str | int | None, path: str) -> Rehearsal:
    """The unpatched runs of a task, and of its largest batch a part of every sweep: once to count, once to time.

    Descriptors of heads are computed once, for both. `limit` and `path` are those of the run. What happens once, such
    as the self-check of a path and the means of reference prompts, is not timed.
    """
    model, study, prepared = preparation.model, preparation.study, preparation.of(task)
    able: list[MethodSpec] = []

    def largest_runs() -> BaseRuns:
        runs = [BaseRuns(model, batch, limit=limit) for batch in prepared.scored]
        for spec, of_batch in itertools.product(study.task_methods, runs):
            spec.method.announce(of_batch, positions=spec.positions, path=path)
        assess(study, prepared, runs)
        return max(runs, key=lambda of_batch: of_batch.corrupted.continued.rows.numel())

    def reference(kind: str) -> Reference:
        # Means over the suite take as much memory as those over one task.
        return preparation.references.of(task, "task" if kind == "suite" else kind)

    def part_of(spec: MethodSpec, runs: BaseRuns) -> float:
        inputs = TaskInputs((runs,), study.metrics, reference, path=path)
        return float(spec.method.rehearse(inputs, positions=spec.positions, **dict(spec.options)))

    def count() -> None:
        runs = largest_runs()
        for spec in study.task_methods:
            if hasattr(spec.method, "rehearse"):
                with contextlib.suppress(DataError):  # the run says so
                    part_of(spec, runs)
                    able.append(spec)

    def describe() -> None:
        _, paths = describe_model(model, seed=study.seed)
        clock.append(time.monotonic())
        describe_prompts(model, paths, {task: prepared.scored})
        clock.append(time.monotonic())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run gives them
        peak = peak_bytes(count)
        clock = [time.monotonic()]
        peak = max(peak, peak_bytes(describe))
        runs, rates = largest_runs(), {}
        replays = path if is_replayable(model) else "hooked"
        for spec in able:
            started = time.monotonic()
            share = part_of(spec, runs)
            rates[spec] = (time.monotonic() - started) / (share * work_of(spec, model, runs.batch, path=replays))
    started, described, ended = clock
    return Rehearsal(peak, rates, described - started, ended - described)
