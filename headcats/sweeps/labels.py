"""Results of sweeps as labelled data, with their provenance."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor

from headcats.metrics import measure
from headcats.models.adapter import HookedModel
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.paths import Choice
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns


def labelled(
    runs: BaseRuns,
    names: tuple[str, ...],
    patched: Tensor,
    axes: Mapping[str, list[Any]],
    attrs: Mapping[str, str],
    *,
    with_second: bool = False,
) -> xr.Dataset:
    """`patched (metric, prompt, *axes)`, with `clean` and `corrupted (metric, prompt)` beside it.

    With the coordinate `second_task (prompt)` where the second corruption was read.
    """
    batch = runs.batch
    seconds = {"second_task": _words(batch.second_tasks or ())} if with_second else {}
    clean = measure(names, runs.clean.logits, runs.targets).cpu()
    corrupted = measure(names, runs.corrupted.logits, runs.targets).cpu()
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", *axes), patched.numpy()),
            "clean": (("metric", "prompt"), clean.numpy()),
            "corrupted": (("metric", "prompt"), corrupted.numpy()),
        },
        coords={
            "metric": list(names),
            "key": _words(batch.keys),
            "item": _words(batch.items),
            "distractor_task": _words(batch.distractor_tasks),
            **seconds,
            **axes,
        },
        attrs={**attrs, "provenance": json.dumps(dict(attrs), ensure_ascii=False)},
    )


def _words(texts: Sequence[str]) -> tuple[str, np.ndarray]:
    return "prompt", np.array(texts, dtype=object).astype(str)


def provenance(
    runs: BaseRuns, intervention: Intervention, *, positions: str, choice: Choice, reference: Reference
) -> dict[str, str]:
    """How a sweep was computed, as text attributes."""
    return {
        "method": intervention.name,
        "base": intervention.base,
        "positions": positions,
        "path": choice.path,
        "self_check": choice.check,
        "reference": reference.name if intervention.uses_reference else "none",
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
