"""What a study hands a method for one task."""

from collections.abc import Callable
from dataclasses import dataclass

from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns


@dataclass(frozen=True)
class TaskInputs:
    """One task, ready to be scored.

    Attributes:
        runs: Base runs of the task's batches (one per prompt length).
        metrics: Names of the metrics to read.
        reference: Name of a reference ("suite", "task", "corrupted", "other_tasks", "other_items") -> its prompts.
        advance: To be called with the number of heads done, per batch.
        path: Path of sweeps: "auto", "hooked" or a fast one.
    """

    runs: tuple[BaseRuns, ...]
    metrics: tuple[str, ...]
    reference: Callable[[str], Reference]
    advance: Callable[[int], None] = lambda heads: None
    path: str = "auto"
