"""Before any head is scored: can the model do a task, and how much memory and time will its sweeps take?"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from headcats.errors import StatisticsWarning
from headcats.models.adapter import HookedModel
from headcats.models.replay.record import is_replayable
from headcats.results.records import DropCounts, TaskRecord
from headcats.statistics.task import mean_interval
from headcats.study.plan import Study
from headcats.study.preparation import Preparation, Prepared
from headcats.sweeps.memory import MemoryPlan, budget
from headcats.sweeps.runs import BaseRuns


def assess(study: Study, prepared: Prepared, runs: Sequence[BaseRuns]) -> TaskRecord:
    """The entry of a task in the manifest, with its accuracy, its gap and the reason if it is skipped.

    Skipped: no prompt, clean accuracy below that of the study, a gap whose 95 % interval reaches 0 (effects are shares
    of the gap), or a task that is marked as solvable without demonstrations. A StatisticsWarning names near-duplicates.
    """
    record = TaskRecord(
        category=study.suite.category_of(prepared.task).name,
        source=prepared.task.source,
        rows=DropCounts() if prepared.task.drops is None else DropCounts(**asdict(prepared.task.drops)),
        word_pairs=DropCounts(**asdict(prepared.words)),
        prompts=DropCounts(**asdict(prepared.prompts)),
        reference_prompts=DropCounts(**asdict(prepared.references)),
        refusal=prepared.problem,
        near_duplicates=len(prepared.near_duplicates),
    )
    if prepared.problem:
        return record
    if keys := prepared.near_duplicates:
        warnings.warn(
            f"{len(keys)} prompts of task {prepared.task.name!r} have the answer, the distractor and the words that "
            f"differ between clean and corrupted of a prompt with another item, such as {keys[0]!r} and {keys[1]!r}. "
            "Every item counts as a case of its own: if these are wordings of one case, give them one item.",
            StatisticsWarning,
            stacklevel=2,
        )
    metric = study.metrics[0]
    clean, corrupted = (
        np.concatenate([run.measured((metric, "accuracy"), run.base_run(side)).cpu().numpy() for run in runs], axis=1)
        for side in ("clean", "corrupted")
    )
    items = np.array([item for batch in prepared.scored for item in batch.items])
    gap, low, high = mean_interval(clean[0] - corrupted[0], items)
    accuracy, reason = float(clean[1].mean()), ""
    if not prepared.task.needs_demonstrations:
        reason = "marked as solvable without demonstrations, so its corrupted prompts test nothing"
    elif accuracy < study.min_accuracy:
        least = f"min_accuracy={study.min_accuracy:g}"
        reason = f"the model cannot do it: accuracy {accuracy:.2f} on clean prompts, below {least}"
    elif not low > 0:
        interval = f"{metric} {gap:.2f}, 95 % interval {low:.2f} to {high:.2f}"
        reason = f"no clear gap between clean and corrupted prompts: {interval}"
    return replace(
        record,
        accuracy=accuracy,
        corrupted_accuracy=float(corrupted[1].mean()),
        metric=metric,
        gap=gap,
        low=low,
        high=high,
        n_items=len(np.unique(items)),
        refusal=reason,
        prompt_hash=tuple(batch.fingerprint() for batch in prepared.scored),
    )


def memory_plan(
    model: HookedModel, study: Study, preparation: Preparation, *, limit: str | int | None, path: str = "auto"
) -> MemoryPlan | None:
    """The plan of the sweep that needs most; None if no task can be written as prompts.

    An OptionError for a limit that cannot be read, or that nothing fits into.
    """
    available = budget(limit, model.device)
    path = path if is_replayable(model) else "hooked"
    methods = study.task_methods
    batches = {
        (len(batch), batch.length, *(spec.method.first_change(batch, spec.positions) for spec in methods)): batch
        for task in study.tasks
        for batch in preparation.prepared[task.name].scored
    }
    plans = [
        spec.method.memory_plan(
            model, batch, positions=spec.positions, n_metrics=len(study.metrics), budget=available, path=path
        )
        for batch in batches.values()
        for spec in methods
    ]
    return max(plans, key=lambda sweep: sweep.peak, default=None)


def seconds_expected(
    model: HookedModel, study: Study, preparation: Preparation, unpatched: Mapping[str, float], *, path: str = "auto"
) -> float:
    """Seconds of the sweeps, estimated from those of the unpatched runs and the tokens that each block will see.

    `unpatched` holds the seconds of the clean and corrupted runs of each task; missing tasks do not count. Tiny models
    take longer, because calling a block takes time too.
    """
    replays = path != "hooked" and is_replayable(model)
    blocks = sum(heads * (model.n_layers - layer * replays) for layer, heads in model.n_heads.items())
    total = 0.0
    for task, seconds in unpatched.items():
        batches = preparation.prepared[task].scored
        tokens = sum(len(batch) * batch.length for batch in batches)
        swept = sum(
            len(batch) * (batch.length - replays * spec.method.first_change(batch, spec.positions))
            for spec in study.task_methods
            for batch in batches
        )
        total += seconds / (2 * model.n_layers * tokens) * swept * blocks
    return total
