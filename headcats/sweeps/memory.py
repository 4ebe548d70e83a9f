"""The memory plan of a sweep: how much work at a time stays below a limit.

Work is cut where its estimate (see `headcats.sweeps.footprint`) would exceed the limit, in powers of two below the
whole, so that a little more or less free memory cuts it in the same places.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from headcats.errors import OptionError
from headcats.formatting import pluralize
from headcats.models import HookedModel
from headcats.sweeps.footprint import (
    forward_bytes,
    left_by_forward,
    left_by_replay,
    readout_bytes,
    record_bytes,
    recording_bytes,
    replay_bytes,
    weights_bytes,
    z_bytes,
)
from headcats.sweeps.free_memory import free_memory

# Activations of more rows at a time than these bring nothing: about a thousand tokens keep a processor busy (measured
# on CPUs: less than 3 % between 1,000 and 6,000), and what leaves its caches is slower again.
ENOUGH_BYTES = 1 << 28

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b?\s*|\s*(\d+(?:\.\d+)?)\s*(?:b(?:ytes)?)?\s*", re.IGNORECASE)


def budget(memory: str | int | None, device: torch.device) -> int:
    """Bytes that a sweep may use beside the model's weights.

    Args:
        memory: A number of bytes, a text such as "4GB", "512 MB" or "1.5GiB" (GB = 10^9 bytes, GiB = 2^30), or None for
            half of what is free on `device`.
        device: Where the model runs.

    Raises:
        OptionError: Anything else, or nothing at all.
    """
    if memory is None:
        return free_memory(device) // 2
    wanted = (
        f"memory must be a number of bytes or a text such as '4GB', '512 MB' or '1.5GiB'; got {memory!r}. Leave it out "
        "for half of what is free."
    )
    if isinstance(memory, bool) or not isinstance(memory, str | int):
        raise OptionError(wanted)
    if isinstance(memory, str):
        match = _AMOUNT.fullmatch(memory)
        if match is None:
            raise OptionError(wanted)
        number, unit, binary, plain = match.groups()
        size = int(float(plain or number) * (_BINARY_UNITS if binary else _UNITS)[(unit or "").lower()])
    else:
        size = memory
    if size <= 0:
        raise OptionError(wanted)
    return size


@dataclass(frozen=True)
class MemoryPlan:
    """How a sweep is cut.

    Attributes:
        prompts: Prompts per part.
        rows: Variants of each of these prompts that are computed at a time.
        readouts: Rows whose logits over the whole vocabulary are held at a time.
        budget: Bytes that may be used beside the weights.
        peak: Bytes that are used beside the weights at most, by estimate.
        weights: Bytes of the weights.
    """

    prompts: int
    rows: int
    readouts: int
    budget: int
    peak: int
    weights: int

    def describe(self) -> str:
        """One sentence for people."""
        return (
            f"about {readable_bytes(self.peak)} beside {readable_bytes(self.weights)} of weights: "
            f"{pluralize(self.prompts, 'prompt')}, {pluralize(self.rows, 'row')} at a time; limit "
            f"{readable_bytes(self.budget)}"
        )


def plan(
    model: HookedModel,
    *,
    prompts: int,
    length: int,
    first: int,
    rows: int,
    path: str,
    budget: int,
    metrics: Sequence[str] = (),
    runs: int = 2,
) -> MemoryPlan:
    """The largest pieces of work that fit.

    Args:
        model: The model.
        prompts: Prompts of the batch.
        length: Their tokens.
        first: First position that can change.
        rows: Variants of each prompt (heads or sets of heads).
        path: "hooked", or anything else for a path that replays a recording.
        budget: Bytes beside the weights.
        metrics: What is read; none named counts as the one that needs most.
        runs: Unpatched runs that keep their z meanwhile.

    Raises:
        OptionError: Not even one variant of one prompt fits; the message says what it needs.
    """
    most = prompts_per_part(model, prompts, length, first=first, budget=budget, records=path != "hooked", runs=runs)
    for part in _steps(most):
        count, readouts, peak = _cut(
            model,
            prompts,
            part,
            length=length,
            first=first,
            rows=rows,
            path=path,
            budget=budget,
            metrics=metrics,
            runs=runs,
        )
        if peak <= budget:
            break
    weights = weights_bytes(model)
    if peak > budget:
        raise OptionError(
            f"A sweep of {pluralize(prompts, 'prompt')} of {length} tokens needs at least about {readable_bytes(peak)} "
            f"beside the {readable_bytes(weights)} of weights of model {model.name!r}; the limit is "
            f"{readable_bytes(budget)}. Raise it with --memory {_suggested(peak)} (memory={_suggested(peak)!r}), free "
            "memory, or take fewer or shorter prompts."
        )
    return MemoryPlan(part, count, readouts, budget, peak, weights)


def _cut(
    model: HookedModel,
    prompts: int,
    part: int,
    *,
    length: int,
    first: int,
    rows: int,
    path: str,
    budget: int,
    metrics: Sequence[str],
    runs: int,
) -> tuple[int, int, int]:
    """Rows and readouts at a time for parts of that many prompts, and the peak by estimate."""
    kept = _kept_bytes(model, prompts, part, length, first, budget, runs=runs)

    def chunk_bytes(count: int) -> tuple[int, int]:
        """What is at work at a time, and what piles up meanwhile."""
        if path == "hooked":
            return forward_bytes(model, part * count, length), left_by_forward(model, part * count, length)
        shape = {"length": length, "first": first}
        return replay_bytes(model, part, count, **shape), left_by_replay(model, part, count, **shape)

    def fits(active: int, left: int) -> bool:
        return active <= ENOUGH_BYTES and kept + left + active <= budget

    count = _largest(rows, lambda count: fits(*chunk_bytes(count)))
    active, left = chunk_bytes(count)
    readouts = _largest(part * count, lambda many: fits(readout_bytes(model, many, metrics), left))
    chunk = left + max(active, readout_bytes(model, readouts, metrics))
    unpatched = _unpatched_peak(model, prompts, part, length, first, budget, records=path != "hooked", runs=runs)
    return count, readouts, max(kept + chunk, unpatched)


def keeps_recordings(model: HookedModel, prompts: int, length: int, *, first: int, budget: int) -> bool:
    """Whether recordings of both runs of a batch are kept, with as much room again for the rows."""
    return 4 * recording_bytes(model, prompts, length, first) <= budget


def prompts_per_part(
    model: HookedModel, prompts: int, length: int, *, first: int, budget: int, records: bool, runs: int = 2
) -> int:
    """Prompts whose unpatched run and first rows fit; at least one. `records`: the run is a recording."""

    def fits(part: int) -> bool:
        rows = replay_bytes(model, part, 1, length=length, first=first)
        left = left_by_replay(model, part, 1, length=length, first=first)
        return (
            keeps_recordings(model, part, length, first=first, budget=budget)
            and _unpatched_peak(model, prompts, part, length, first, budget, records=records, runs=runs) <= budget
            and _kept_bytes(model, prompts, part, length, first, budget, runs=runs) + left + rows <= budget
            and rows <= ENOUGH_BYTES
        )

    return _largest(prompts, fits)


def readable_bytes(size: int) -> str:
    """`1.2 GB`, `34 MB`, `10 kB`, `7 B`."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9)):
        if size >= 0.9995 * scale:
            return f"{size / scale:.1f} {unit}"
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if size >= 0.9995 * scale:
            return f"{round(size / scale)} {unit}"
    return f"{size} B"


def _kept_bytes(model: HookedModel, prompts: int, part: int, length: int, first: int, budget: int, *, runs: int) -> int:
    """What stays while rows are computed: z of the runs, and recordings of all prompts or of one part.

    Of the clean and the corrupted run alone recordings are kept.
    """
    z = z_bytes(model, prompts, length - first)
    if keeps_recordings(model, prompts, length, first=first, budget=budget):
        return 2 * recording_bytes(model, prompts, length, first) + (runs - 2) * z
    return runs * z + recording_bytes(model, part, length, first)


def _unpatched_peak(
    model: HookedModel, prompts: int, part: int, length: int, first: int, budget: int, *, records: bool, runs: int
) -> int:
    """While the last of the unpatched runs is made: a recording like the first one, or an ordinary forward pass."""
    z = z_bytes(model, prompts, length - first)
    if not records:
        return runs * z + forward_bytes(model, part, length) + left_by_forward(model, part, length)
    keeps = keeps_recordings(model, prompts, length, first=first, budget=budget)
    kept = recording_bytes(model, prompts, length, first) if keeps else z
    return kept + (runs - 1) * z + record_bytes(model, part, length, first)


def _largest(whole: int, fits: Callable[[int], bool]) -> int:
    return next((step for step in _steps(whole) if step == 1 or fits(step)), 1)


def _steps(whole: int) -> Iterator[int]:
    """The whole, then the powers of two below it, downwards."""
    yield whole
    yield from (2**power for power in reversed(range(max(0, math.ceil(math.log2(max(1, whole)))))))


def _suggested(size: int) -> str:
    return f"{math.ceil(size / 1e8) / 10:g}GB"
