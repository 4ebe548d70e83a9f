"""Memory and time of a run, scaled up from a part of its sweeps, done as the run will do it.

Shapes alone say too little: how fast a processor is depends on the sizes of what it is given, and how many copies of a
tensor exist at once on the architecture.
"""

import contextlib
import itertools
import logging
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from headcats.base.errors import DataError, format_duration
from headcats.methods.method import TaskInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.replay.record import is_replayable
from headcats.study.assessment import assess, work_of
from headcats.study.plan import Study
from headcats.study.preparation import Preparation
from headcats.sweeps.descriptors.describing import describe_model, describe_prompts
from headcats.sweeps.free_memory import peak_bytes
from headcats.sweeps.memory import MemoryPlan
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

_log = logging.getLogger("headcats")


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

    What happens once, such as the self-check of a path and the means of reference prompts, is not timed.
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


def seconds_expected(
    model: HookedModel,
    study: Study,
    preparation: Preparation,
    unpatched: Mapping[str, float],
    *,
    rates: Mapping[MethodSpec, float],
    path: str = "auto",
) -> float:
    """Seconds of the unpatched runs (`unpatched`, by task) and the sweeps, by the tokens that each block computes.

    `rates`: method -> seconds per token and block in its sweeps; for others the rate of the unpatched runs is taken.
    """
    path = path if is_replayable(model) else "hooked"
    total = 0.0
    for task, seconds in unpatched.items():
        batches = preparation.of(task).scored
        of_runs = sum(batch.continued(side).rows.numel() for batch in batches for side in ("clean", "corrupted"))
        in_runs = seconds / (model.n_layers * of_runs)
        total += seconds + sum(
            work_of(spec, model, batch, path=path) * rates.get(spec, in_runs)
            for spec in study.task_methods
            for batch in batches
        )
    return total


def log_plan(
    preparation: Preparation, sweep: MemoryPlan, usable: Mapping[str, float], *, limit: str | int | None, path: str
) -> None:
    """Log memory and time of a run; `usable` holds the seconds of the unpatched runs of each task that is scored."""
    model, study = preparation.model, preparation.study
    if not usable:
        _log.info("Memory: %s.", sweep.describe())
        return
    largest = max(usable, key=lambda name: sum(batch.corrupted.numel() for batch in preparation.of(name).scored))
    rehearsal = rehearse(preparation, largest, limit=limit, path=path)
    expected = seconds_expected(model, study, preparation, usable, rates=rehearsal.rates, path=path)
    expected += rehearsal.describing + len(usable) * rehearsal.describing_task
    _log.info("Memory: %s.", sweep.describe(measured=rehearsal.peak))
    _log.info(
        "Time: %s for %s and descriptors of heads, estimated from a part of it.",
        format_duration(expected),
        ", ".join(spec.label for spec in study.task_methods),
    )
