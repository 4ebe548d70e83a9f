"""`hc.sweep`: one intervention on every head of a model, for one batch of prompts."""

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor

from headcats.errors import DataError, ModelWarning, OptionError, UnknownNameError
from headcats.metrics import measure
from headcats.models import HookedModel, adapt, check_model
from headcats.prompts.batch import PromptBatch
from headcats.registry import lookup, unknown_name_message
from headcats.sweeps.hooked import hooked_sweep
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

PATHS = ("auto", "hooked")


def sweep(
    model: Any,
    batch: PromptBatch,
    method: "str | Intervention",
    *,
    metrics: Sequence[str] = ("logit_diff",),
    positions: str | None = None,
    path: str = "auto",
    reference: "Reference | PromptBatch | Sequence[PromptBatch] | None" = None,
) -> xr.Dataset:
    """Intervene on every head, one at a time, and measure every prompt.

    Works on any tokens and any model, one without a tokenizer too. It refuses only what makes numbers meaningless;
    whether the prompts show what they are meant to show is checked where there is a task (`hc.run`, `headcats
    validate`).

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        batch: Clean and corrupted prompts of one length.
        method: Name of a causal method, such as "denoising_patch", or an `Intervention`.
        metrics: Names of metrics, all read from the same forwards.
        positions: "last", "all" or a token role; None takes the method's own ("last" for patching, "all" for ablation).
        path: "hooked" is the reference; "auto" picks the fastest exact path.
        reference: Held-out prompts for ablations that take a mean or a sample. Without it `mean_ablation` uses the mean
            over the batch's clean prompts at the same position, and `resample_ablation` another prompt of the batch.

    Returns:
        `patched (metric, prompt, layer, head)`, `clean (metric, prompt)`, `corrupted (metric, prompt)`, in each
        metric's own unit. Attributes name the method, the base run, positions, path and reference; with `base`
        "corrupted" the effect of a head is (patched - corrupted) / gap, with "clean" (clean - patched) / gap, positive
        = the head helps.

    Raises:
        UnknownNameError: Unknown method, metric or path.
        DataError: Token ids outside the vocabulary, prompts longer than the context, roles that do not align.
        ModelError: NaN in the weights, active dropout, a hook that does not fire.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> hc.sweep(model, batch, "denoising_patch").patched.dims
        ('metric', 'prompt', 'layer', 'head')
    """
    adapted = adapt(model)
    intervention = _intervention(method)
    _check_names(metrics, path)
    check_model(adapted)
    for name, tokens in (("clean", batch.clean), ("corrupted", batch.corrupted)):
        try:
            adapted.check_tokens(tokens)
        except DataError as error:
            raise DataError(f"The {name} prompts: {error}") from None
    for name, ids in (("answer", batch.answer), ("distractor", batch.distractor)):
        _check_ids(adapted, batch, name, ids)
    runs = BaseRuns(adapted, batch)
    return sweep_runs(
        runs, intervention, metrics=metrics, positions=positions, reference=as_reference(reference, batch)
    )


def sweep_runs(
    runs: BaseRuns,
    intervention: Intervention,
    *,
    metrics: Sequence[str],
    positions: str | None,
    reference: Reference,
    advance: Callable[[int], None] = lambda heads: None,
) -> xr.Dataset:
    """`sweep` on base runs that exist, so that several interventions share them; nothing is checked again."""
    model, batch = runs.model, runs.batch
    where = positions or intervention.positions
    mask = batch.positions(where)
    if intervention.name == "zero_ablation" and model.weight_processing == "processed":
        warnings.warn(
            "zero_ablation depends on weight processing: folded value biases change what a zeroed "
            "head removes (up to 0.45 "
            "nats on a GPT-2-like model). Load the model without processing, or use mean_ablation.",
            ModelWarning,
            stacklevel=3,
        )
    names = tuple(metrics)
    patched = hooked_sweep(runs, intervention, metrics=names, mask=mask, reference=reference, advance=advance)
    clean = measure(names, runs.clean[0], runs.targets).cpu()
    corrupted = measure(names, runs.corrupted[0], runs.targets).cpu()
    provenance = {
        "method": intervention.name,
        "base": intervention.base,
        "positions": where,
        "path": "hooked",
        "reference": reference.name if intervention.uses_reference else "none",
        "model": model.name,
        "model_class": model.model_class,
        "sign": "positive effect = the head helps the task",
    }
    return _labelled(batch, model, names, patched, clean, corrupted, provenance)


def as_reference(reference: "Reference | PromptBatch | Sequence[PromptBatch] | None", batch: PromptBatch) -> Reference:
    """The reference that was given, or the batch's own clean prompts, matched by index."""
    if isinstance(reference, Reference):
        return reference
    if reference is None:
        return Reference(batch.without_roles(), name="this batch's clean prompts, same position")
    return Reference(reference)


def _labelled(
    batch: PromptBatch,
    model: HookedModel,
    metrics: tuple[str, ...],
    patched: Tensor,
    clean: Tensor,
    corrupted: Tensor,
    provenance: dict[str, str],
) -> xr.Dataset:
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", "layer", "head"), patched.numpy()),
            "clean": (("metric", "prompt"), clean.numpy()),
            "corrupted": (("metric", "prompt"), corrupted.numpy()),
        },
        coords={
            "metric": list(metrics),
            "key": ("prompt", np.array(batch.keys, dtype=object).astype(str)),
            "item": ("prompt", np.array(batch.items, dtype=object).astype(str)),
            "distractor_task": ("prompt", np.array(batch.distractor_tasks, dtype=object).astype(str)),
            "layer": list(model.layers),
            "head": list(range(model.max_heads)),
        },
        attrs={**provenance, "provenance": json.dumps(provenance, ensure_ascii=False)},
    )


def _intervention(method: "str | Intervention") -> Intervention:
    if isinstance(method, Intervention):
        return method
    item = lookup("method", method) if isinstance(method, str) else method
    found = getattr(item, "intervention", None)
    if not isinstance(found, Intervention):
        raise OptionError(
            f"{method!r} does not intervene on heads, so it cannot be swept; call hc.methods.{method} itself."
        )
    return found


def _check_names(metrics: Sequence[str], path: str) -> None:
    if isinstance(metrics, str) or not metrics:
        raise OptionError(f"metrics must be a list of metric names, such as ['logit_diff']; got {metrics!r}.")
    for name in metrics:
        lookup("metric", name)
    if path not in PATHS:
        raise UnknownNameError(unknown_name_message("path", path, PATHS))


def _check_ids(model: HookedModel, batch: PromptBatch, name: str, ids: Tensor) -> None:
    wrong = ((ids < 0) | (ids >= model.d_vocab)).nonzero().flatten().tolist()
    if wrong:
        raise DataError(
            f"{batch.keys[wrong[0]]!r}: {name} id {int(ids[wrong[0]])} is outside the vocabulary of {model.name!r} "
            f"(0 to {model.d_vocab - 1}); {len(wrong)} of {len(batch)} prompts."
        )
