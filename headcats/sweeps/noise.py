"""Rounding noise of 16-bit models: how far metrics move when head outputs change by one rounding."""

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.metrics import measure
from headcats.models.head import Head
from headcats.sweeps.engine import measure_sets
from headcats.sweeps.intervention import Z
from headcats.sweeps.paths import Choice
from headcats.sweeps.runs import BaseRuns, Run

_LEVELS = 2


class Moved:
    """Head outputs of an unpatched run, moved by about one rounding."""

    def __init__(self, run: Run, *, first: int) -> None:
        self.first = first
        self.mask = torch.ones(len(run.tokens), run.tokens.shape[1] - first, dtype=torch.bool)
        self._run = run

    def of_layer(self, layer: int) -> Z:
        """Z times 1 + eps or 1 - eps, signs drawn with a fixed seed."""
        z = self._run.z(layer, first=self.first)
        draws = torch.Generator().manual_seed(layer)
        signs = 1 - 2 * torch.randint(2, z.shape, generator=draws).to(z.device, z.dtype)
        return z * (1 + signs * torch.finfo(z.dtype).eps)


@torch.no_grad()
def measured_noise(
    runs: BaseRuns, base: str, names: tuple[str, ...], *, first: int, choice: Choice
) -> Float[Tensor, " metric"] | None:
    """Root mean square change of each metric when head outputs move by about one rounding of the model's dtype.

    Three heads (of the first, the middle and the last layer) are replaced one at a time, at positions `first` and
    later, by the path that the sweep itself takes.

    Args:
        runs: The unpatched runs.
        base: Which of them is intervened on.
        names: Metrics.
        first: First position that a sweep changes.
        choice: Path of the sweep.

    Returns:
        In each metric's unit, for one prompt; None for fp32 and fp64, whose noise no effect comes near.
    """
    model, run = runs.model, runs.base_run(base)
    if torch.finfo(model.dtype).bits > 16:
        return None
    layers = (model.layers[0], model.layers[len(model.layers) // 2], model.layers[-1])
    heads = {Head(layer, part * (model.n_heads[layer] - 1) // 2) for part, layer in enumerate(layers)}
    moved = measure_sets(runs, base, [(head,) for head in heads], Moved(run, first=first), names=names, choice=choice)
    change = moved - measure(names, run.logits, runs.targets).cpu()[:, :, None]
    return change.square().mean((1, 2)).sqrt()


def mark_noise(ds: xr.Dataset, noise: Float[Tensor, " metric"] | None) -> xr.Dataset:
    """A sweep with the noise of its metrics, and the heads whose mean change lies below it.

    Args:
        ds: `patched (metric, prompt, layer, head)`, `clean` and `corrupted (metric, prompt)`, attribute `base`.
        noise: From `measured_noise`; None leaves `ds` as it is.

    Returns:
        `ds` with `noise (metric)` and `below_noise (metric, layer, head)`: |mean over prompts of patched - base| is
        less than twice the noise of one prompt. Such effects are not told from rounding: much of it is the same for
        all prompts, so that a mean does not get rid of it.
    """
    if noise is None:
        return ds
    limits = xr.DataArray(noise.numpy(), dims="metric")
    change = (ds.patched - ds[ds.attrs["base"]]).mean("prompt")
    return ds.assign(noise=limits, below_noise=abs(change) < _LEVELS * limits)
