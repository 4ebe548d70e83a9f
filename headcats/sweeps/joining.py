"""Sweeps of one method over several batches, joined along their prompts."""

import json
from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from headcats.sweeps.labels import mark_noise
from headcats.sweeps.paths import worst_check


def join_batches(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Blocks of one method joined along `prompt`, in their order; counts of dropped prompts are added up.

    The noise of 16-bit models is that of all parts together; their paths are listed, and the worst self-check is kept.
    """
    numbers = [part.drop_vars(("noise", "below_noise"), errors="ignore") for part in parts]
    joined = xr.concat(numbers, dim="prompt", data_vars="minimal", coords="different", compat="equals", join="exact")
    attrs = {"path": "; ".join(dict.fromkeys(part.attrs["path"] for part in parts))} if "path" in parts[0].attrs else {}
    if "self_check" in parts[0].attrs:
        attrs["self_check"] = worst_check(part.attrs["self_check"] for part in parts)
    provenance = json.dumps(json.loads(parts[0].attrs["provenance"]) | attrs, ensure_ascii=False)
    # Sweeps of a script drop nothing, and do not count it.
    dropped = {"dropped": sum(part.attrs["dropped"] for part in parts)} if "dropped" in parts[0].attrs else {}
    joined.attrs = parts[0].attrs | dropped | attrs | {"provenance": provenance}
    noises = [part.noise for part in parts if "noise" in part]
    if not noises:
        return joined
    sizes = [part.sizes["prompt"] for part in parts]
    return mark_noise(joined, torch.tensor(np.sqrt(np.average(np.square(noises), axis=0, weights=sizes))))
