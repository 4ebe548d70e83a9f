"""Can the model do the task, and do the corrupted prompts change anything? Asked before any head is scored."""

from dataclasses import dataclass

import numpy as np

from headcats.metrics import measure
from headcats.models.adapter import HookedModel
from headcats.statistics.task import mean_interval
from headcats.study.plan import Study
from headcats.study.preparation import Prepared
from headcats.sweeps.runs import BaseRuns

LEAST_ACCURACY = 0.5


@dataclass(frozen=True)
class Assessment:
    """What a task's unpatched runs show.

    Attributes:
        accuracy: Share of clean prompts whose most likely next token is the answer.
        corrupted_accuracy: The same for the corrupted prompts.
        metric: Metric of the gap.
        gap: Mean clean minus corrupted metric, in the metric's unit.
        low: Lower end of its 95 % interval (bootstrap of query items).
        high: Upper end.
        n_items: Different queries.
        refusal: Why the task is not scored, or "".
    """

    accuracy: float
    corrupted_accuracy: float
    metric: str
    gap: float
    low: float
    high: float
    n_items: int
    refusal: str


def base_runs(model: HookedModel, prepared: Prepared, *, memory: str | int | None = None) -> tuple[BaseRuns, ...]:
    """The unpatched runs of a task's batches, not made yet."""
    return tuple(BaseRuns(model, batch, limit=memory) for batch in prepared.scored)


def assess(study: Study, prepared: Prepared, runs: tuple[BaseRuns, ...]) -> Assessment:
    """Accuracy and gap of a task, and whether it is to be scored.

    Refused: clean accuracy below .5, or a gap whose 95 % interval reaches 0 (effects are shares of the gap), or a task
    that is marked as solvable without demonstrations.
    """
    metric = study.metrics[0]
    clean, corrupted = (
        np.concatenate(
            [measure((metric, "accuracy"), getattr(run, side).logits, run.targets).cpu().numpy() for run in runs],
            axis=1,
        )
        for side in ("clean", "corrupted")
    )
    items = np.array([item for run in runs for item in run.batch.items])
    strata = np.array([name for run in runs for name in run.batch.distractor_tasks])
    gap, low, high = mean_interval(clean[0] - corrupted[0], items, strata, task=prepared.task.name, seed=study.seed)
    accuracy = float(clean[1].mean())
    refusal = ""
    if not prepared.task.needs_demonstrations:
        refusal = "marked as solvable without demonstrations, so its corrupted prompts test nothing"
    elif accuracy < LEAST_ACCURACY:
        refusal = (
            f"the model cannot do it: accuracy {accuracy:.2f} on clean prompts, at least {LEAST_ACCURACY} is needed"
        )
    elif not low > 0:
        refusal = (
            f"no clear gap between clean and corrupted prompts: {metric} {gap:.2f}, 95 % "
            f"interval {low:.2f} to {high:.2f}"
        )
    return Assessment(
        accuracy=accuracy,
        corrupted_accuracy=float(corrupted[1].mean()),
        metric=metric,
        gap=gap,
        low=low,
        high=high,
        n_items=len(np.unique(items)),
        refusal=refusal,
    )
