"""Results of sweeps as labelled data, with their provenance and rounding noise."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor

from headcats.metrics.definition import Metrics, metric_name
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.paths import Choice
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns


def labelled(
    runs: BaseRuns,
    names: Metrics,
    patched: Tensor,
    axes: Mapping[str, Any],
    attrs: Mapping[str, str],
    *,
    over: tuple[str, ...],
    with_second: bool = False,
) -> xr.Dataset:
    """`patched (metric, prompt, *over)`, with `clean` and `corrupted (metric, prompt)` beside it.

    `axes` are the coordinates of the dimensions `over`, and others along them.
    """
    batch = runs.batch
    texts = {"key": batch.keys, "item": batch.items, "distractor_task": batch.distractor_tasks}
    if with_second:
        texts["second_task"] = batch.second_tasks or ()
    words = {name: ("prompt", np.array(values, dtype=object).astype(str)) for name, values in texts.items()}
    clean, corrupted = (
        (("metric", "prompt"), runs.measured(names, run).cpu().numpy()) for run in (runs.clean, runs.corrupted)
    )
    return xr.Dataset(
        {"patched": (("metric", "prompt", *over), patched.numpy()), "clean": clean, "corrupted": corrupted},
        coords={"metric": list(map(metric_name, names)), **words, **axes},
        attrs={**attrs, "provenance": json.dumps(dict(attrs), ensure_ascii=False)},
    )


def position_names(batch: PromptBatch, side: Side, tokenizer: Any | None) -> dict[str, tuple[Any, ...]]:
    """Coordinates of `position`: the text of every token (or its id) and the `role` of all prompts, or ""."""
    ids = getattr(batch, side).tolist()
    texts = {
        token: str(token) if tokenizer is None else tokenizer.decode([token], clean_up_tokenization_spaces=False)
        for token in {token for row in ids for token in row}
    }
    names: dict[str, tuple[Any, ...]] = {"token": (("prompt", "position"), [[texts[t] for t in row] for row in ids])}
    if batch.labels is not None:
        by_position = [set(roles) for roles in zip(*batch.roles_of(side), strict=True)]
        names["role"] = ("position", [next(iter(roles)) if len(roles) == 1 else "" for roles in by_position])
    return names


def provenance(
    runs: BaseRuns, intervention: Intervention, *, positions: str, choice: Choice, reference: Reference
) -> dict[str, str]:
    """Provenance of a sweep, as text attributes."""
    return {
        "method": intervention.name,
        "base": intervention.base,
        "positions": positions,
        "path": choice.path,
        "self_check": choice.check,
        "reference": reference.name if intervention.uses_reference else "none",
        **({} if intervention.what == "z" else {"what": intervention.what}),
        **model_provenance(runs.model),
    }


def model_provenance(model: HookedModel) -> dict[str, str]:
    """Provenance that all methods share: the model, the layers covered, and the sign of effects."""
    described = {
        "model": model.name,
        "model_class": model.model_class,
        "sign": "positive effect = the head helps the task",
    }
    if len(model.layers) < model.n_layers:
        covered = ", ".join(map(str, model.layers))
        described["covers"] = f"attention layers only: {covered} of {model.n_layers} blocks"
    return described
