"""Layer x token role: what patching the residual stream or the attention output does there."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.errors import DataError, OptionError
from headcats.metrics import Targets, measure
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.hooks import Edit
from headcats.prompts.batch import PromptBatch
from headcats.statistics.task import PromptEffects, estimate

PATCHED = {"resid": "hook_resid_pre", "attn_out": "hook_attn_out"}
"""What can be patched -> hook inside a block: the residual stream before it, or what its attention adds."""
# Tokens of one forward pass.
_AT_ONCE = 4096
_NOTHING: Mapping[str, Any] = MappingProxyType({})


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

    In the corrupted run, the value at every token of the role is set to that of the clean run. Effect = mean(patched -
    corrupted) / mean(clean - corrupted): 1 restores the clean answer, positive = what stands there helps the task. At
    layer 0 the residual stream is the embedding, so a role whose tokens are the same in both prompts has 0 there.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
        batches: Clean and corrupted prompts with named roles at the same places, as `hc.task_prompts` makes them;
            lengths may differ between batches.
        quantity: "resid" (`hook_resid_pre`) or "attn_out" (`hook_attn_out`).
        metric: Name of a metric.
        roles: Roles such as "y1" or "last"; None takes, in the order of the text, those that every prompt has.
        seed: Seed of the intervals.

    Returns:
        `effect, low, high (layer, role)` in shares of the gap, with 95 % intervals by resampled query items; `gap`, and
        `n`, `n_items`. Attribute `left_out`: roles that some prompts lack, one per line.

    Raises:
        OptionError: Another quantity.
        UnknownNameError: An unknown metric.
        DataError: No prompt, no named role, roles that do not align, or no clear gap.
        ModelError: A model without such hooks.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> two = ["country_capital", "country_language"]
        >>> batches = hc.task_prompts(model, "country_capital", suite=two, n_prompts=8)
        >>> restored = hc.methods.token_probe.patching_by_role(model, batches, roles=["y5", "between_query"])
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
    listed = [batches] if isinstance(batches, PromptBatch) else list(batches)
    if not listed or not all(isinstance(one, PromptBatch) for one in listed):
        raise DataError(f"Expected one or several PromptBatch with named roles; got {batches!r:.80}.")
    adapted = adapt(model)
    check_model(adapted)
    used, left_out = shared_roles(listed, roles)
    names = [f"blocks.{layer}.{PATCHED[quantity]}" for layer in adapted.layers]
    changes, gaps = [], []
    for batch in itertools.chain.from_iterable(batch.in_parts(max_tokens=_AT_ONCE) for batch in listed):
        change, gap = _patched(adapted, batch, names, used, metric)
        changes.append(change)
        gaps.append(gap)
    change, gap = np.concatenate(changes), np.concatenate(gaps)
    prompts = PromptEffects(
        change.reshape(len(change), -1),
        gap,
        np.array([item for batch in listed for item in batch.items], dtype=object).astype(str),
        np.array([name for batch in listed for name in batch.distractor_tasks], dtype=object).astype(str),
    )
    found = estimate(prompts, task=f"layer_role {listed[0].task}", seed=seed, draws=None)
    if not found.gap_low > 0:
        raise DataError(
            f"The prompts show no clear gap between clean and corrupted ({metric} {found.gap:.2f}, 95 % interval from "
            f"{found.gap_low:.2f}), so no share of it means anything: take a task that the model solves."
        )
    shape = (len(adapted.layers), len(used))
    values = {name: (("layer", "role"), getattr(found, name).reshape(shape)) for name in ("effect", "low", "high")}
    attrs = {"method": "denoising_patch", "quantity": quantity, "metric": metric, "left_out": "\n".join(left_out)}
    attrs |= tasks_of(listed)
    return by_layer_and_role(adapted, used, {**values, "gap": found.gap, "n": found.n, "n_items": found.n_items}, attrs)


def _patched(
    model: HookedModel, batch: PromptBatch, names: Sequence[str], roles: Sequence[str], metric: str
) -> tuple[Float[np.ndarray, "prompt layer role"], Float[np.ndarray, " prompt"]]:
    """Change of the metric by every patch, and the gap."""
    clean: dict[str, Tensor] = {}
    clean_logits = model.run(batch.clean, hooks={name: _keeping(clean, name) for name in names})
    device = clean_logits.device
    targets = Targets(batch.answer.to(device), batch.distractor.to(device), clean_logits)

    def of(logits: Tensor) -> np.ndarray:
        return np.asarray(measure((metric,), logits, targets)[0].cpu().double())

    corrupted = of(model.run(batch.corrupted, hooks={}))
    change = np.empty((len(batch), len(names), len(roles)))
    for column, role in enumerate(roles):
        mask = batch.positions(role)
        for row, name in enumerate(names):
            change[:, row, column] = of(model.run(batch.corrupted, hooks={name: _setting(clean[name], mask)}))
    return change - corrupted[:, None, None], of(clean_logits) - corrupted


def _keeping(kept: dict[str, Tensor], name: str) -> Edit:
    def keep(value: Tensor) -> Tensor:
        kept[name] = value.detach().clone()
        return value

    return keep


def _setting(clean: Tensor, mask: Bool[Tensor, "prompt pos"]) -> Callable[[Tensor], Tensor]:
    return lambda value: torch.where(mask.to(value.device)[..., None], clean, value)


def shared_roles(batches: Sequence[PromptBatch], asked: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The roles to show, and those that are left out because some prompts lack them."""
    if asked is not None:
        if not asked:
            raise DataError("roles must name at least one role, or be None for those that every prompt has.")
        return [asked] if isinstance(asked, str) else list(asked), []
    prompts = [labels for batch in batches for labels in batch.labels or ()]
    if any(batch.labels is None for batch in batches) or not prompts:
        raise DataError(
            "These prompts have no named roles, so there is nothing to put beside the layers. "
            "hc.task_prompts(model, task) makes those of a task, with roles."
        )
    owned = [list(dict.fromkeys(label.split("[")[0] for label in labels)) for labels in prompts]
    known = list(dict.fromkeys(role for own in owned for role in own))
    shared = [role for role in known if all(role in own for own in map(set, owned))]
    if not shared:
        raise DataError(f"No role is in every prompt; roles of some: {', '.join(known)}.")
    return shared, [role for role in known if role not in shared]


def tasks_of(batches: Sequence[PromptBatch]) -> dict[str, str]:
    """The attribute `task`: names of the tasks of the prompts, where they have names."""
    names = list(dict.fromkeys(batch.task for batch in batches if batch.task))
    return {"task": ", ".join(names)} if names else {}


def by_layer_and_role(
    model: HookedModel,
    roles: Sequence[str],
    values: Mapping[str, Any],
    attrs: Mapping[str, str],
    *,
    provenance: Mapping[str, Any] = _NOTHING,
) -> xr.Dataset:
    """Values over layers, roles and, where there are `attention_by_head`, heads; `provenance` beside the attributes."""
    made = {**attrs, **provenance, "model": model.name, "model_class": model.model_class}
    return xr.Dataset(
        values,
        coords={"layer": list(model.layers), "role": list(roles)}
        | ({"head": list(range(model.max_heads))} if "attention_by_head" in values else {}),
        attrs={**attrs, "model": model.name, "provenance": json.dumps(made, ensure_ascii=False)},
    )
