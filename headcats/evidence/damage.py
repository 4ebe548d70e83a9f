"""Damage of sets of heads to a task: joint ablation on held-out prompts, measured in logit difference."""

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from headcats.base.errors import DataError, about, pluralize
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.statistics.task import mean_interval
from headcats.sweeps.batch_sweep import prepare
from headcats.sweeps.donors import UncoveredRoles
from headcats.sweeps.engine import measure_sets
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.tree import HeadSet, grow

_log = logging.getLogger("headcats")
_PROBED_SETS = 32
_TO_THE_MEAN = Intervention("mean", "clean", lambda sources: sources.mean, positions="all", uses_reference=True)
# Of answers of several tokens the difference of whole answers. A log-probability would be saturated where the margin is
# large: two heads of 2 logits each would seem to do little alone and much together.
METRIC = "logit_diff"


@dataclass(frozen=True)
class TaskDamage:
    """Damage of sets of heads on the held-out prompts of one task, in logit difference (nats)."""

    drop: Float[np.ndarray, "prompt set"]  # clean minus ablated, positive = the heads help
    gap: Float[np.ndarray, " prompt"]  # clean minus corrupted
    columns: Mapping[HeadSet, int] = field(repr=False)

    def shares(self, sets: Sequence[HeadSet]) -> Float[np.ndarray, " set"]:
        """Mean drop of each set over the prompts, as a share of the mean gap; positive = the heads help."""
        padded = np.concatenate([self.drop, np.zeros((len(self.drop), 1))], axis=1)
        drop = padded[:, [self.columns[tuple(sorted(heads))] if heads else -1 for heads in sets]]
        return drop.mean(axis=0) / self.gap.mean()


def measure_damage(
    model: HookedModel,
    batches: Sequence[PromptBatch],
    sets: Iterable[HeadSet],
    *,
    reference: Reference,
    positions: str,
) -> TaskDamage:
    """Ablate every set of heads on a task's prompts, its heads all at once, each to its mean over reference prompts.

    A DataError for no prompts, roles that the reference lacks in most of them, or no clear gap.
    """
    ordered = sorted({tuple(sorted(heads)) for heads in sets if heads})
    gaps, drops, used = [], [], []
    for batch in batches:
        runs, ablated = _ablated(BaseRuns(model, batch), ordered, reference=reference, positions=positions)
        used.append(runs.batch)
        clean, corrupted = (
            runs.measured((METRIC,), side)[0].cpu().double().numpy() for side in (runs.clean, runs.corrupted)
        )
        gaps.append(clean - corrupted)
        drops.append(clean[:, None] - ablated)
    if not gaps:
        raise DataError(
            "no prompt is left that the run has not seen and that asks about the other half of the query items; run "
            "with a smaller n_prompts or with more pairs, or append more finished prompts to the list of the run and "
            "name that suite with --suite (suite=...)"
        )
    items = np.array([item for batch in used for item in batch.items])
    gap = np.concatenate(gaps)
    mean, low, _ = mean_interval(gap, items)
    if not low > 0:
        interval = "unknown with a single query item" if np.isnan(low) else f"95 % interval from {low:.2f}"
        raise DataError(
            f"the held-out prompts show no clear gap between clean and corrupted ({METRIC} {mean:.2f}, {interval})"
        )
    columns = {heads: place for place, heads in enumerate(ordered)}
    return TaskDamage(np.concatenate(drops), gap, columns)


def measure_tasks(
    model: HookedModel,
    batches: Mapping[str, Sequence[PromptBatch]],
    sets: Mapping[str, Collection[HeadSet]],
    *,
    reference: Reference,
    positions: str,
) -> tuple[dict[str, TaskDamage], dict[str, str]]:
    """Task -> damage by its sets, and task -> why it cannot be measured."""
    measured: dict[str, TaskDamage] = {}
    left_out: dict[str, str] = {}
    for task, task_sets in sets.items():
        try:
            measured[task] = measure_damage(model, batches[task], task_sets, reference=reference, positions=positions)
        except DataError as error:
            left_out[task] = str(error).rstrip(".")
    return measured, left_out


def log_expected_time(
    model: HookedModel,
    batches: Mapping[str, Sequence[PromptBatch]],
    sets: Mapping[str, Collection[HeadSet]],
    *,
    reference: Reference,
    positions: str,
) -> None:
    """Log the time that `measure_tasks` will take, estimated from a few of its ablations."""
    blocks = {
        task: blocks_needed(batches[task], task_sets, positions=positions, n_layers=model.n_layers)
        for task, task_sets in sets.items()
    }
    task = next((task for task in sets if blocks[task]), None)
    if task is None:
        return
    few = sorted(sets[task])[:: max(1, len(sets[task]) // _PROBED_SETS)]
    probe = batches[task][:1]
    seconds = 0.0
    try:
        # The first time also pays for checks and the means of the reference, which later tasks share.
        for _ in range(2):
            started = time.monotonic()
            measure_damage(model, probe, few, reference=reference, positions=positions)
            seconds = time.monotonic() - started
    except DataError:
        return
    probed = blocks_needed(probe, few, positions=positions, n_layers=model.n_layers)
    _log.info(
        "Time: at most %s for %s (sets of heads x tasks) at positions '%s', estimated from a few of them.",
        about(seconds * sum(blocks.values()) / probed),
        pluralize(sum(map(len, sets.values())), "ablation"),
        positions,
    )


def blocks_needed(batches: Sequence[PromptBatch], sets: Iterable[HeadSet], *, positions: str, n_layers: int) -> int:
    """Passes of a token through a block that ablating the sets takes; the time is proportional to it."""
    nonempty = [heads for heads in sets if heads]
    if not nonempty:
        return 0
    tree, rows, passed = grow(nonempty, n_layers=n_layers), 0, 0
    for step in tree.steps:
        rows = (rows if step.parents is None else len(step.parents)) + step.fresh
        passed += rows
    sizes = [(len(batch), batch.continued("clean")) for batch in batches]
    return passed * sum(n * (rows.tail if positions == "last" else rows.packed_length) for n, rows in sizes)


def _ablated(
    runs: BaseRuns, sets: list[HeadSet], *, reference: Reference, positions: str
) -> tuple[BaseRuns, Float[np.ndarray, "prompt set"]]:
    try:
        replacements, choice = prepare(runs, _TO_THE_MEAN, positions=positions, reference=reference, path="auto")
        replacements.of_layer(runs.model.layers[0])
    except UncoveredRoles as problem:
        some = runs.select(_covered_half(problem, len(runs.batch)))
        return _ablated(some, sets, reference=reference, positions=positions)
    if not sets:
        return runs, np.empty((len(runs.batch), 0))
    values = measure_sets(runs, "clean", sets, replacements, names=(METRIC,), choice=choice)
    return runs, values[0].double().numpy()


def _covered_half(problem: UncoveredRoles, n: int) -> list[int]:
    """Prompts whose roles the reference has; the problem again where these are fewer than half, or all."""
    covered = [prompt for prompt in range(n) if prompt not in problem.prompts]
    if 2 * len(covered) < n or len(covered) == n:
        raise problem
    return covered
