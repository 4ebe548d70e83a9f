"""Layer x token role: what patching the residual stream or the attention output does there."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import DataError, OptionError
from headcats.metrics.definition import Targets, measure
from headcats.metrics.rest import Rest
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.continued import Continued
from headcats.models.hooks import Edit, keeping
from headcats.prompts.alignment import aligned_places, at_places
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts
from headcats.statistics.task import Estimate, PromptEffects, estimate, intervals
from headcats.sweeps.hooked import rest_of_rows

PATCHED = {"resid": "hook_resid_pre", "attn_out": "hook_attn_out"}
"""Patched quantity -> hook inside a block: the residual stream before it, or what its attention adds."""


def patching_by_role(
    model: Any,
    batches: PromptBatch | Sequence[PromptBatch],
    *,
    quantity: str = "resid",
    metric: str = "logit_diff",
    roles: Sequence[str] | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Denoising patches of a layer's residual stream or attention output at the tokens of one role.

    In the corrupted run, the value at every token of the role is replaced by that of the clean run. Effect =
    mean(patched - corrupted) / mean(clean - corrupted): 1 restores the clean answer, positive = the value helps the
    task. At layer 0 the residual stream is the embedding, so a role with the same tokens in both prompts has 0 there.
    Each role is patched in the prompts in which it has as many tokens in both, and compared with their gap.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        batches: Clean and corrupted prompts with named roles, as `hc.task_prompts` returns them, of any lengths.
        quantity: "resid" (`hook_resid_pre`) or "attn_out" (`hook_attn_out`).
        metric: Name of a metric.
        roles: Roles such as "y1" or "last"; None takes those that every prompt has, in the order of the text.
        seed: Seed of the draws behind the intervals.

    Returns:
        `effect, low, high (layer, role)` in shares of the gap, with 95 % intervals over resampled query items;
        `gap, n, n_items (role)`, of the prompts in which the role is patched. Attribute `left_out`: roles that some
        prompts lack, that match in no prompt, or whose prompts show no clear gap, one per line.

    Raises:
        OptionError: Another quantity.
        UnknownNameError: An unknown metric.
        DataError: No prompt, no role that every prompt has, roles that do not align, or no clear gap.
        ModelError: A model without such hooks.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> two = ["country_capital", "country_language"]
        >>> batches = hc.task_prompts(model, "country_capital", suite=two, n_prompts=8)
        >>> restored = hc.papers.token_probe.patching_by_role(model, batches, roles=["y5", "between_query"])
        >>> restored.effect.dims
        ('layer', 'role')
        >>> float(restored.effect.sel(layer=5, role="between_query")) > 0.5  # late layers: at the last token
        True

    References:
        Meng et al. (2022), Locating and editing factual associations in GPT, arXiv 2202.05262, for patches of the
        residual stream by token and layer; Hendel et al. (2023), arXiv 2310.15916, for where a task stands in a prompt.
    """
    if quantity not in PATCHED:
        raise OptionError(f"Expected quantity {' or '.join(map(repr, PATCHED))}; got {quantity!r}.")
    batches = _listed(batches)
    adapted = adapt(model)
    check_model(adapted)
    roles, left_out = _shared_roles(batches, roles)
    names = [f"blocks.{layer}.{PATCHED[quantity]}" for layer in adapted.layers]
    parts = [part for batch in batches for part in batch.in_parts()]
    changes, gaps = zip(*(_patched(adapted, part, names, roles, metric) for part in parts), strict=True)
    change, gap = np.concatenate(changes), np.concatenate(gaps)
    effects = {role: _estimated(change[:, :, column], gap, batches, role, seed) for column, role in enumerate(roles)}
    matched = {role: of_role for role, of_role in effects.items() if of_role is not None}
    if not matched:
        raise DataError(f"No role of {', '.join(roles)} has as many tokens in a clean as in its corrupted prompt.")
    estimates = {role: of_role for role, of_role in matched.items() if of_role.gap_low > 0}
    if not estimates:
        role, of_role = max(matched.items(), key=lambda each: each[1].n)
        shown = f"{metric} {of_role.gap:.2f}, 95 % interval from {of_role.gap_low:.2f}"
        raise DataError(
            f"The {of_role.n} prompts with {role!r} show no clear gap between clean and corrupted ({shown}), so no "
            "share of it means anything: take a task that the model solves, or more prompts."
        )
    left_out += [role for role in roles if role not in estimates]
    ends = intervals(estimates, seed=seed)
    values: dict[str, Any] = {
        "effect": (("layer", "role"), np.stack([of_role.effect for of_role in estimates.values()], 1)),
        "low": (("layer", "role"), np.stack([low for low, _ in ends.values()], 1)),
        "high": (("layer", "role"), np.stack([high for _, high in ends.values()], 1)),
    }
    values |= {
        name: ("role", [getattr(of_role, name) for of_role in estimates.values()]) for name in ("gap", "n", "n_items")
    }
    attrs = {"method": "denoising_patch", "quantity": quantity, "metric": metric, "left_out": "\n".join(left_out)}
    if names := list(dict.fromkeys(batch.task for batch in batches if batch.task)):
        attrs["task"] = ", ".join(names)
    attrs |= {"model": adapted.name}
    provenance = json.dumps(attrs | {"model_class": adapted.model_class}, ensure_ascii=False)
    coords = {"layer": list(adapted.layers), "role": list(estimates)}
    return xr.Dataset(values, coords=coords, attrs=attrs | {"provenance": provenance})


def _estimated(
    change: Float[np.ndarray, "prompt layer"],
    gap: Float[np.ndarray, " prompt"],
    batches: Sequence[PromptBatch],
    role: str,
    seed: int,
) -> Estimate | None:
    """Effects at one role, of the prompts in which it is patched; None where it is in none."""
    patched = np.isfinite(change).all(1)
    if not patched.any():
        return None
    items = np.array([item for batch in batches for item in batch.items], dtype=object).astype(str)
    prompts = PromptEffects(change[patched], gap[patched], items[patched])
    return estimate(prompts, task=f"layer_role {batches[0].task} {role}", seed=seed)


def _patched(
    model: HookedModel, batch: PromptBatch, names: Sequence[str], roles: Sequence[str], metric: str
) -> tuple[Float[np.ndarray, "prompt layer role"], Float[np.ndarray, " prompt"]]:
    """Change of the metric by every patch, NaN where a role has no counterpart in the clean prompt; and the gap."""
    clean: dict[str, Tensor] = {}
    keep = {name: keeping(clean, name) for name in names}
    clean_logits, clean_rest = _read(model, batch.continued("clean"), keep)
    device, continued = clean_logits.device, batch.continued("corrupted")
    targets = Targets(batch.answer.to(device), batch.distractor.to(device), clean_logits)

    def measured(logits: Tensor, rest: Rest) -> np.ndarray:
        return np.asarray(measure((metric,), logits, targets, rest=rest)[0].cpu().double())

    corrupted = measured(*_read(model, continued, {}))
    change = np.full((len(batch), len(names), len(roles)), np.nan)
    for column, role in enumerate(roles):
        mask, places, without = _matched(batch, role)
        if len(without) == len(batch):
            continue
        width = mask.shape[1] - int(mask.any(0).nonzero()[0])
        of_rows = continued.unpack(mask[:, -width:])
        for row, name in enumerate(names):
            donor = at_places(batch.continued("clean").pack(clean[name]), places, width=width)
            edit = partial(_set, continued.unpack(donor), of_rows)
            change[:, row, column] = measured(*_read(model, continued, {name: edit})) - corrupted
        change[without, :, column] = np.nan
    return change, measured(clean_logits, clean_rest) - corrupted


def _matched(
    batch: PromptBatch, role: str
) -> tuple[Bool[Tensor, "prompt packed"], Int[Tensor, "prompt packed"] | None, list[int]]:
    """Tokens of a role in the corrupted prompts, their places in the clean ones, and prompts in which it has none."""
    mask, without = batch.positions(role, of="corrupted"), list[int]()
    try:
        places = aligned_places(batch, mask, base="corrupted", source="clean")
    except UnmatchedPrompts as problem:
        without = list(problem.prompts)
        mask[without] = False
        places = aligned_places(batch, mask, base="corrupted", source="clean")
    return mask, places, without


@torch.no_grad()
def _read(
    model: HookedModel, continued: Continued, hooks: Mapping[str, Edit]
) -> tuple[Float[Tensor, "prompt d_vocab"], Rest]:
    """Logits of the first token of every answer, and what later ones add."""
    logits = model.forward_last(continued.rows, continued.steps + 1, hooks=hooks)
    return logits[: len(continued), 0], rest_of_rows(continued, logits[:, 1:])


def _set(donor: Tensor, mask: Bool[Tensor, "row width"], value: Tensor) -> Tensor:
    """The value with that of the donor at the last positions, where the mask is true."""
    edited = value.clone()
    end = edited[:, -mask.shape[1] :]
    end.copy_(torch.where(mask.to(value.device)[..., None], donor.to(value.device, value.dtype), end))
    return edited


def _listed(batches: PromptBatch | Sequence[PromptBatch]) -> list[PromptBatch]:
    """One or several batches of prompts as a list; a DataError for anything else."""
    listed = [batches] if isinstance(batches, PromptBatch) else list(batches)
    if not listed or not all(isinstance(batch, PromptBatch) for batch in listed):
        received = " and ".join(sorted({type(batch).__name__ for batch in listed})) or "none"
        raise DataError(f"Expected one or several PromptBatch with named roles; got {received}.")
    return listed


def _shared_roles(batches: Sequence[PromptBatch], roles: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The roles to show: `roles`, or those that every clean and corrupted prompt has; and those that some lack."""
    if roles is not None:
        if not roles:
            raise DataError("roles must name at least one role, or be None for those that every prompt has.")
        return [roles] if isinstance(roles, str) else list(roles), []
    roles_by_prompt = [
        dict.fromkeys(label.split("[")[0] for label in labels)
        for batch in batches
        for side in ("clean", "corrupted")
        for labels in batch.roles_of(side)
    ]
    all_roles = list(dict.fromkeys(role for prompt_roles in roles_by_prompt for role in prompt_roles))
    shared = [role for role in all_roles if all(role in prompt_roles for prompt_roles in roles_by_prompt)]
    if not shared:
        raise DataError(f"No role is in every prompt; roles of some: {', '.join(all_roles)}.")
    return shared, [role for role in all_roles if role not in shared]
