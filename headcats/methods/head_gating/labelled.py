"""Fits of gates as labelled arrays: scores of every head, and parts put together."""

import json
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import torch
import xarray as xr

from headcats.methods.head_gating.fitting import GateFit
from headcats.methods.head_gating.settings import STAGES
from headcats.models.adapter import HookedModel

GRID = ("dataset", "seed", "layer", "head")


def labelled(
    model: HookedModel,
    fits: Mapping[int, GateFit],
    *,
    dataset: str,
    n: int,
    n_held_out: int,
    open_loss: float,
    provenance: Mapping[str, str],
) -> xr.Dataset:
    """The fits of one data set, by number of the seed, as `head_gating` returns them."""
    gates = {stage: torch.stack([fit.gates[stage] for fit in fits.values()])[None].numpy() for stage in STAGES}
    values = {
        **gates,
        "facilitation": gates["g_minus"],
        "interference": 1 - gates["g_plus"],
        "irrelevance": gates["g_plus"] * (1 - gates["g_minus"]),
    }
    losses = np.array([[[fit.losses[stage] for stage in STAGES] for fit in fits.values()]])
    return xr.Dataset(
        {
            **{name: (GRID, grid) for name, grid in values.items()},
            "loss": (("dataset", "seed", "stage"), losses),
            "start_loss": (("dataset", "seed"), np.array([[fit.losses["start"] for fit in fits.values()]])),
            "open_loss": ("dataset", [open_loss]),
            "n": ("dataset", [n]),
            "n_held_out": ("dataset", [n_held_out]),
        },
        coords={
            "dataset": [dataset],
            "seed": list(fits),
            "layer": list(model.layers),
            "head": list(range(model.max_heads)),
            "stage": list(STAGES),
        },
        attrs={**provenance, "provenance": json.dumps(dict(provenance), ensure_ascii=False)},
    )


def joined(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Parts of one model, each with any data sets and seeds, as one; NaN where there is none.

    Data sets come in the order of the parts, seeds in their own. Attributes are those of the first part, but for
    `left_out`, which is that of all.
    """
    datasets = list(dict.fromkeys(str(name) for part in parts for name in part.dataset.values))
    seeds = sorted({int(seed) for part in parts for seed in part.seed.values})
    sizes = {"dataset": len(datasets), "seed": len(seeds)}
    variables = {}
    for name, first in parts[0].data_vars.items():
        shape = tuple(sizes.get(str(dim), first.sizes[dim]) for dim in first.dims)
        values_of_all = np.full(shape, np.nan if first.dtype.kind == "f" else 0, dtype=first.dtype)
        for part in parts:
            for (row, dataset), (column, seed) in product(enumerate(part.dataset.values), enumerate(part.seed.values)):
                to = {"dataset": datasets.index(str(dataset)), "seed": seeds.index(int(seed))}
                at = {"dataset": row, "seed": column}
                values_of_all[tuple(to.get(str(dim), slice(None)) for dim in first.dims)] = part[name].values[
                    tuple(at.get(str(dim), slice(None)) for dim in first.dims)
                ]
        variables[name] = (first.dims, values_of_all)
    coords = {axis: parts[0][axis].values for axis in ("layer", "head", "stage")}
    provenance = json.loads(parts[0].attrs["provenance"])
    provenance["left_out"] = " ".join(filter(None, dict.fromkeys(part.attrs["left_out"] for part in parts)))
    attrs = {"left_out": provenance["left_out"], "provenance": json.dumps(provenance, ensure_ascii=False)}
    return xr.Dataset(
        variables, coords={"dataset": datasets, "seed": seeds, **coords}, attrs={**parts[0].attrs, **attrs}
    )
