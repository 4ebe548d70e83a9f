"""`hc.sweep`: one intervention on every head of a model, for one batch of prompts."""

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import xarray as xr

from headcats.base.errors import DataError, ModelWarning, OptionError
from headcats.base.registry import lookup
from headcats.metrics.definition import Metric, check_metrics
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import check_fits
from headcats.results.block_schema import mark_noise
from headcats.results.head_axes import HEAD, unit_attrs
from headcats.sweeps.engine import EACH, in_the_middle, measure_positions, measure_sets, measured_noise, swept_sets
from headcats.sweeps.intervention import Change, Intervention
from headcats.sweeps.labels import labelled, position_names, provenance
from headcats.sweeps.paths import Choice, check_path, choose
from headcats.sweeps.reference import Reference, given_reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.sources import Replacements, expect, first_change


def sweep(
    model: Any,
    batch: PromptBatch,
    method: "str | Intervention",
    *,
    metrics: Sequence[str | Metric] = ("logit_diff",),
    positions: str | None = None,
    unit: str = HEAD,
    path: str = "auto",
    reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
    memory: str | int | None = None,
) -> xr.Dataset:
    """Intervene on every head, one at a time, or on every group of heads, and measure every prompt.

    Works on any tokens and any model, one without a tokenizer too. It refuses only what makes numbers meaningless;
    whether the prompts show what they are meant to show is checked where there is a task (`hc.run`, `headcats
    validate`).

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        batch: Clean prompts of one length and corrupted prompts of one length.
        method: Name of a causal method, such as "denoising_patch", or an `hc.Intervention` of your own.
        metrics: Names, or functions `f(logits, targets)` of your own (see `hc.metrics.metric`), called by their
            `__name__`.
        positions: "last", "answer", "all" or a token role (see `PromptBatch.positions`); None takes the method's own.
            "each" replaces every head at one position of the prompt at a time; clean and corrupted prompts must have
            one length or the same roles.
        unit: What is replaced at a time: "head", or "kv_group", all query heads that share keys and values. The axis
            `head` then counts the groups of a layer, by their key-value head.
        path: "auto" takes the fastest path that is exact on this model (the attribute `path` says which); "hooked" is
            the reference: one ordinary forward pass per head and prompt, heads batched.
        reference: Held-out prompts for methods that take a mean or a sample. Without it, `mean_ablation` takes the
            batch's clean prompts at the same position, and `resample_ablation` and `other_item_patch` another prompt of
            the batch.
        memory: Limit beside the model's weights, such as "4GB" or a number of bytes; None takes half of what is free.

    Returns:
        `patched (metric, prompt, layer, head)`, with "each" position `patched (metric, prompt, position, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)`, in each metric's own unit. Where heads share keys and
        values, the coordinate `kv_head (layer, head)` numbers those of the layer. Attributes name the method, the base
        run, positions, the unit (of groups), reference, path and its self-check; with `base` "corrupted" the effect of
        a head is (patched - corrupted) / gap, with "clean" (clean - patched) / gap, positive = the head helps. For a
        model in 16 bits also `noise (metric)`, how far the metric of one prompt moves by rounding alone (root mean
        square), and `below_noise (metric, layer, head)`: the mean change over the prompts, which share much of the
        rounding, is less than twice that. With "each" position, the coordinates `token (prompt, position)`, its text,
        and `role (position)`, where all prompts have the same.

    Raises:
        UnknownNameError: Unknown method, metric, unit or path.
        OptionError: Groups of a model whose heads share nothing; a function that is no metric, or gives anything but
            one real number per row.
        DataError: Token ids outside the vocabulary, prompts longer than the context, roles that do not align, or
            prompts without the second corruption that the method reads.
        ModelError: NaN in the weights, active dropout, a hook that does not fire.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> ds = hc.sweep(model, batch, "denoising_patch")
        >>> ds.patched.dims, ds.patched.shape
        (('metric', 'prompt', 'layer', 'head'), (1, 1, 6, 8))
        >>> effect = (ds.patched - ds.corrupted).mean("prompt") / (ds.clean - ds.corrupted).mean("prompt")
        >>> by_position = hc.sweep(model, batch, "denoising_patch", positions="each")
        >>> dict(by_position.patched.sizes)
        {'metric': 1, 'prompt': 1, 'position': 4, 'layer': 6, 'head': 8}

    References:
        As the method's: `hc.methods.denoising_patch` and the others name their papers.
    """
    intervention = find_intervention(method)
    runs = checked_runs(model, batch, metrics=metrics, path=path, memory=memory)
    check_second(intervention, batch)
    used = given_reference(reference, batch)
    ds = sweep_runs(runs, intervention, metrics=metrics, positions=positions, unit=unit, path=path, reference=used)
    return ds.assign_attrs(task=batch.task) if batch.task else ds


def sweep_runs(
    runs: BaseRuns,
    intervention: Intervention,
    *,
    metrics: Sequence[str | Metric],
    positions: str | None,
    reference: Reference,
    unit: str = HEAD,
    path: str = "auto",
    advance: Callable[[int], None] = lambda heads: None,
) -> xr.Dataset:
    """`sweep` on base runs that exist, so that several interventions share them; nothing is checked again.

    Prompts without a second corruption are patched with their own corrupted run: the caller leaves them out.
    """
    runs = runs.keeping(intervention.what)
    model, cells = runs.model, swept_sets(runs.model, unit)
    sets = list(cells.values())
    used_positions = positions or intervention.positions
    names, sizes = tuple(metrics), iter(map(len, sets))
    replacements, choice = prepare(runs, intervention, positions=used_positions, reference=reference, path=path)
    base, ran, over = intervention.base, choice, ["layer", "head"]
    axes = model.axes
    if unit != HEAD:
        axes = {"layer": list(model.layers), "head": list(range(max(model.n_kv_heads.values())))}
    places = [axes["layer"].index(cell.layer) for cell in cells], [cell.head for cell in cells]
    shape = len(axes["layer"]), len(axes["head"])
    if used_positions == EACH:
        values, ran = measure_positions(runs, base, sets, replacements, names=names, choice=choice, path=path)
        over = ["position", *over]
        axes = {"position": list(range(values.shape[2])), **axes}
    else:
        values = measure_sets(
            runs,
            base,
            sets,
            replacements,
            names=names,
            choice=choice,
            advance=lambda sets: advance(sum(itertools.islice(sizes, sets))),
        )
    patched = torch.full((*values.shape[:-1], *shape), float("nan"), dtype=torch.float32, device="cpu")
    patched[..., *places] = values
    about = provenance(runs, intervention, positions=used_positions, choice=ran, reference=reference)
    ds = labelled(
        runs, names, patched, axes, about | unit_attrs(unit), over=tuple(over), with_second=intervention.uses_second
    )
    if used_positions == EACH:
        ds = ds.assign_coords(position_names(runs.batch, base, model.tokenizer))
    noise = measured_noise(runs, base, names, first=replacements.first, choice=choice)
    return mark_noise(ds, noise)


def prepare(
    runs: BaseRuns, intervention: Intervention, *, positions: str, reference: Reference, path: str
) -> tuple[Replacements, Choice]:
    """The new values of z and the path of a sweep; announces to the unpatched runs what it needs of them."""
    if intervention.unprocessed and runs.model.weight_processing == "processed":
        warnings.warn(
            f"{intervention.name} depends on weight processing: folded value biases change what a zeroed head removes "
            "(up to 0.45 nats on a GPT-2-like model). Load the model without processing, or ablate to a mean.",
            ModelWarning,
            stacklevel=4,
        )
    mask = runs.batch.positions("all" if positions == EACH else positions, of=intervention.base)
    length = runs.base_run(intervention.base).continued.length
    if positions == EACH:
        mask[:, length:] = False  # the later tokens of answers
    replacements = Replacements(runs, intervention, reference=reference, mask=mask)
    change = replacements.change if positions != EACH else in_the_middle(replacements.first, length)
    return replacements, _announced(runs, intervention, change, path, first=replacements.first)


def announce(runs: BaseRuns, intervention: Intervention, *, positions: str, path: str = "auto") -> None:
    """Announce to the unpatched runs what a sweep needs of them; several announcements share one forward pass each."""
    mask = runs.batch.positions(positions, of=intervention.base)
    change = Change.under(mask, first=first_change(intervention, runs.batch, mask))
    _announced(runs, intervention, change, path, first=change.first)


def _announced(runs: BaseRuns, intervention: Intervention, change: Change, path: str, *, first: int) -> Choice:
    path = path if intervention.what == "z" else "hooked"
    choice = choose(runs.model, runs.base_run(intervention.base).continued, change=change, path=path)
    expect(runs, intervention, first=first, replays=choice.path != "hooked")
    return choice


def checked_runs(
    model: Any, batch: PromptBatch, *, metrics: Sequence[str | Metric], path: str, memory: str | int | None
) -> BaseRuns:
    """Runs, not made yet, of a batch that the model can take; anything else raises the errors of `hc.sweep`."""
    adapted = adapt(model)
    if not isinstance(batch, PromptBatch):
        raise DataError(
            f"batch must be a PromptBatch; got a {type(batch).__name__}. Make one of token ids with "
            "hc.PromptBatch.from_tokens(clean, corrupted, answer, distractor)."
        )
    check_metrics(metrics)
    check_path(path)
    check_model(adapted)
    check_fits(batch, adapted)
    return BaseRuns(adapted, batch, limit=memory)


def check_second(intervention: Intervention, batch: PromptBatch) -> None:
    """Refuse prompts without the second corruption that an intervention reads: nothing would change in them."""
    lacking = batch.lacks_second() if intervention.uses_second else []
    if lacking:
        raise DataError(
            f"{intervention.name} needs a second corruption, and {batch.keys[lacking[0]]!r} has none ({len(lacking)} "
            f"of {len(batch)} prompts). Give one to every prompt, PromptBatch.from_tokens(..., second=...), or leave "
            "such prompts out: batch.lacks_second() names them, batch.select(...) takes the others."
        )


def find_intervention(method: "str | Intervention") -> Intervention:
    """The intervention of a causal method, by name or as it is."""
    if isinstance(method, Intervention):
        return method
    if isinstance(method, str) and (":" in method or "@" in method):
        raise OptionError(
            f"A sweep takes the plain name of a method, got {method!r}: give positions=, reference= and other options "
            f"as arguments of their own. The short form is for hc.run."
        )
    item = lookup("method", method) if isinstance(method, str) else method
    intervention = getattr(item, "intervention", None)
    if isinstance(intervention, Intervention):
        return intervention
    if isinstance(method, str):
        raise OptionError(
            f"{method!r} does not intervene on heads, so it cannot be swept; call hc.methods.{method} itself."
        )
    if callable(method):
        name = getattr(method, "__name__", "mine")
        raise OptionError(
            f"A function does not say in which run it acts: pass hc.Intervention({name!r}, 'clean', {name}), or "
            "'corrupted'."
        )
    raise OptionError(
        f"The method of a sweep is the name of a causal method or an Intervention; got a {type(method).__name__}. The "
        "order is hc.sweep(model, batch, method)."
    )
