"""Damage of sets of heads to a task: joint ablation on held-out prompts, measured in logit difference."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import DataError
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

# Pieces that the work of all tasks is cut into, if none gets fewer prompts than the least.
_PIECES, _LEAST = 24, 4
_SIDES = ("clean", "corrupted")
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


@dataclass(frozen=True)
class AblationInputs:
    """Inputs that all ablations have in common: the prompts of the mean, and a limit of memory beside the weights."""

    reference: Reference
    memory: str | int | None = None


@dataclass(frozen=True, eq=False)
class Ablation:
    """Every set of heads ablated on some prompts of a task, as a piece of work."""

    task: str
    number: int
    batch: PromptBatch
    sets: Sequence[HeadSet]  # sorted, none empty
    positions: str

    @property
    def title(self) -> str:
        """Name in messages."""
        return f"{self.task} {self.number + 1}"

    @property
    def group(self) -> str:
        """Name of the piece, as it shares runs with no other."""
        return self.title

    def halves(self) -> list["Ablation"]:
        """No pieces: runs cut themselves to the memory."""
        return []

    @property
    def contents(self) -> list[str]:
        """Everything that its result depends on, beside model and reference."""
        return [self.batch.fingerprint(), self.positions, " ".join("+".join(map(str, heads)) for heads in self.sets)]

    def on(self, model: HookedModel, shared: AblationInputs) -> xr.Dataset:
        """Logit differences `clean`, `corrupted (prompt)` and `ablated (prompt, set)`; attribute `problem` or "".

        Prompts whose roles the reference lacks are left out, unless they are the most.
        """
        try:
            runs, ablated = _ablated(
                BaseRuns(model, self.batch, limit=shared.memory),
                list(self.sets),
                reference=shared.reference,
                positions=self.positions,
            )
        except DataError as error:
            return xr.Dataset(attrs={"problem": str(error)})
        sides = {name: runs.measured((METRIC,), runs.base_run(name))[0].cpu().double() for name in _SIDES}
        return xr.Dataset(
            {name: ("prompt", values) for name, values in sides.items()} | {"ablated": (("prompt", "set"), ablated)},
            coords={"item": ("prompt", np.array(runs.batch.items, dtype=object).astype(str))},
            attrs={"problem": ""},
        )


Work = Callable[[Sequence[Ablation], AblationInputs], Iterator[tuple[Ablation, xr.Dataset]]]
"""Does pieces, in any order, and gives each with its result."""


def done_here(model: HookedModel) -> Work:
    """Do the pieces one after the other."""
    return lambda pieces, shared: ((piece, piece.on(model, shared)) for piece in pieces)


def measure_tasks(
    batches: Mapping[str, Sequence[PromptBatch]],
    sets: Mapping[str, Collection[HeadSet]],
    *,
    reference: Reference,
    positions: str,
    work: Work,
    memory: str | int | None = None,
) -> tuple[dict[str, TaskDamage], dict[str, str]]:
    """Task -> damage by its sets, and task -> why it cannot be measured.

    All heads of a set are ablated at once, each to its mean over reference prompts. Not measured is a task without
    prompts, whose roles the reference lacks in most of them, or without a clear gap.
    """
    pieces = ablations(batches, sets, positions=positions)
    tables = {(piece.task, piece.number): table for piece, table in work(pieces, AblationInputs(reference, memory))}
    measured: dict[str, TaskDamage] = {}
    left_out: dict[str, str] = {}
    for task in sets:
        of_task = [piece for piece in pieces if piece.task == task]
        try:
            results = [tables[piece.task, piece.number] for piece in of_task]
            measured[task] = _damage(results, of_task[0].sets if of_task else [])
        except DataError as error:
            left_out[task] = str(error).rstrip(".")
    return measured, left_out


def ablations(
    batches: Mapping[str, Sequence[PromptBatch]], sets: Mapping[str, Collection[HeadSet]], *, positions: str
) -> list[Ablation]:
    """The work in pieces, at least about so many, as what is finished is kept.

    At all positions, where a batch may be left out for the roles of most of its prompts, its prompts stay together.
    """
    prompts = sum(len(batch) for task in sets for batch in batches[task])
    size = prompts if positions == "all" else max(_LEAST, prompts // _PIECES)
    pieces = []
    for task, of_task in sets.items():
        ordered = sorted({tuple(sorted(heads)) for heads in of_task if heads})
        starts = [(batch, start) for batch in batches[task] for start in range(0, len(batch), size)]
        pieces += [
            Ablation(task, number, batch.select(range(start, min(start + size, len(batch)))), ordered, positions)
            for number, (batch, start) in enumerate(starts)
        ]
    return pieces


def _damage(tables: Sequence[xr.Dataset], sets: Sequence[HeadSet]) -> TaskDamage:
    """Damage on all prompts of a task; a DataError without prompts, for a problem of some, or for no clear gap."""
    if not tables:
        raise DataError(
            "no prompt is left that the run has not seen and that asks about the other half of the query items; run "
            "with a smaller n_prompts or with more pairs, or append more finished prompts to the list of the run and "
            "name that suite with --suite (suite=...)"
        )
    if problem := next((table.attrs["problem"] for table in tables if table.attrs["problem"]), ""):
        raise DataError(problem)
    clean, corrupted, ablated, items = (
        np.concatenate([table[name].values for table in tables]) for name in (*_SIDES, "ablated", "item")
    )
    gap = clean - corrupted
    mean, low, _ = mean_interval(gap, items)
    if not low > 0:
        interval = "unknown with a single query item" if np.isnan(low) else f"95 % interval from {low:.2f}"
        raise DataError(
            f"the held-out prompts show no clear gap between clean and corrupted ({METRIC} {mean:.2f}, {interval})"
        )
    return TaskDamage(clean[:, None] - ablated, gap, {heads: place for place, heads in enumerate(sets)})


def blocks_needed(batches: Sequence[PromptBatch], sets: Iterable[HeadSet], *, positions: str, n_layers: int) -> int:
    """Passes of a token through a block that ablating the sets takes; the time is proportional to it."""
    nonempty = [heads for heads in sets if heads]
    if not nonempty:
        return 0
    rows, passed = 0, 0
    for step in grow(nonempty, n_layers=n_layers)[0]:
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
