"""`joint_sweep`: several heads replaced at once, for sets of heads and for growing sequences of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from headcats.base.errors import DataError, OptionError
from headcats.metrics.definition import Metric
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.results.block_schema import mark_noise
from headcats.sweeps.batch_sweep import check_second, checked_runs, find_intervention, prepare
from headcats.sweeps.engine import EACH, measure_sets, measured_noise
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.labels import labelled, provenance
from headcats.sweeps.reference import Reference, given_reference
from headcats.sweeps.tree import HeadSet

AnyHead = Head | str | tuple[int, int]


def joint_sweep(
    model: Any,
    batch: PromptBatch,
    method: "str | Intervention",
    sets: Sequence[Iterable[AnyHead]],
    *,
    metrics: Sequence[str | Metric] = ("logit_diff",),
    positions: str | None = None,
    path: str = "auto",
    reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
    memory: str | int | None = None,
) -> xr.Dataset:
    """Replace sets of heads, all heads of a set at once, and measure every prompt.

    The new z of each head is that of the method (for a patch, of the other unpatched run), as for one head alone. Sets
    that agree in the first layers share their computation there, so a growing sequence costs no more than one
    head at a time. A set of one head gives the number of `hc.sweep`; an empty set the unpatched run.

    Args:
        model: As in `hc.sweep`, like every argument that is not named here.
        batch: Clean prompts of one length and corrupted prompts of one length.
        method: Name of a causal method, or an `Intervention`.
        sets: Sets of heads: `Head`, "L9H6", "9.6" or (layer, head).
        metrics: Names of metrics, or functions.
        positions: "last", "answer", "all" or a token role; None takes the method's own.
        path: "auto" or "hooked".
        reference: Held-out prompts.
        memory: Limit, such as "4GB".

    Returns:
        `patched (metric, prompt, set)`, `clean` and `corrupted (metric, prompt)`, in each metric's own unit. `set`
        holds the heads by name, in the order they were given ("L2H3+L0H1", "none" for an empty set) and `size (set)`
        their number. For a model in 16 bits also `noise (metric)` and `below_noise (metric, set)`, as in `hc.sweep`.

    Raises:
        DataError: A head that the model does not have, or no set at all; and as `hc.sweep`.
        OptionError: Each position on its own; and as `hc.sweep`.

    Example:
        >>> import headcats as hc
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> sets = [["L0H1"], ["L0H1", "L4H1"]]
        >>> curve = hc.evidence.joint_sweep(hc.load_model("mini"), batch, "zero_ablation", sets)
        >>> curve.patched.dims
        ('metric', 'prompt', 'set')
        >>> [str(name) for name in curve["set"].values]
        ['L0H1', 'L0H1+L4H1']

    References:
        As the method's: `hc.methods.denoising_patch` and the others name their papers.
    """
    intervention = find_intervention(method)
    runs = checked_runs(model, batch, metrics=metrics, path=path, memory=memory).keeping(intervention.what)
    check_second(intervention, batch)
    ordered = [_heads(runs.model, heads) for heads in sets]
    sorted_sets: list[HeadSet] = [tuple(sorted(heads)) for heads in ordered]
    if not sorted_sets:
        raise DataError("joint_sweep needs at least one set of heads.")
    used_positions = positions or intervention.positions
    if used_positions == EACH:
        raise OptionError("joint_sweep replaces the heads of a set at the same positions; 'each' is for hc.sweep.")
    used = given_reference(reference, batch)
    replacements, choice = prepare(runs, intervention, positions=used_positions, reference=used, path=path)
    names = tuple(metrics)
    base = runs.base_run(intervention.base)
    filled = [heads for heads in dict.fromkeys(sorted_sets) if heads]
    values: dict[HeadSet, Tensor] = {(): runs.measured(names, base).cpu()}
    if filled:
        patched = measure_sets(runs, intervention.base, filled, replacements, names=names, choice=choice)
        values |= dict(zip(filled, patched.unbind(-1), strict=True))
    ds = labelled(
        runs,
        names,
        torch.stack([values[heads] for heads in sorted_sets], -1),
        {"set": ["+".join(map(str, heads)) or "none" for heads in ordered]},
        provenance(runs, intervention, positions=used_positions, choice=choice, reference=used),
        over=("set",),
        with_second=intervention.uses_second,
    )
    noise = measured_noise(runs, intervention.base, names, first=replacements.first, choice=choice)
    return mark_noise(ds.assign_coords(size=("set", [len(heads) for heads in sorted_sets])), noise)


def _heads(model: HookedModel, heads: Iterable[AnyHead]) -> tuple[Head, ...]:
    if isinstance(heads, str | Head) or (isinstance(heads, tuple) and heads and isinstance(heads[0], int)):
        raise DataError(
            f"joint_sweep takes sets of heads, such as [['L0H1', 'L2H3']]; got {heads!r} in place of a set."
        )
    return tuple(dict.fromkeys(map(model.find_head, heads)))
