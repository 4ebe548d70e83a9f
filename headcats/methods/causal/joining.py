"""A task's batches, one per prompt length, as one block."""

import json
from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from headcats.sweeps.labels import mark_noise


def join_batches(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Blocks of one method joined along `prompt`, in their order; the counts of dropped prompts are added up.

    The noise of 16-bit models is that of all parts together.
    """
    noises = [part.noise for part in parts if "noise" in part]
    numbers = [part.drop_vars(("noise", "below_noise"), errors="ignore") for part in parts]
    joined = xr.concat(numbers, dim="prompt", data_vars="minimal", coords="different", compat="equals", join="exact")
    joined.attrs = parts[0].attrs | {"dropped": sum(part.attrs["dropped"] for part in parts)}
    _say_of_all(joined, parts)
    if not noises:
        return joined
    sizes = [part.sizes["prompt"] for part in parts]
    return mark_noise(joined, torch.tensor(np.sqrt(np.average(np.square(noises), axis=0, weights=sizes))))


def _say_of_all(joined: xr.Dataset, parts: Sequence[xr.Dataset]) -> None:
    """What may differ between batches is said of each: the path that ran, and what its self-check found."""
    differing = {
        name: "; ".join(dict.fromkeys(part.attrs[name] for part in parts))
        for name in ("path", "self_check")
        if name in parts[0].attrs
    }
    provenance = json.loads(joined.attrs["provenance"]) | differing
    joined.attrs |= differing | {"provenance": json.dumps(provenance, ensure_ascii=False)}
