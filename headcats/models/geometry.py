"""Sizes of a model's attention, as a run of one token shows them: heads, their outputs, and shared keys and values.

Of H query heads and G key-value heads, query head h reads key-value head `h // (H / G)` (`repeat_kv` of transformers).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.hooks import configured_heads, hook_v, hook_z, keeping, unnoticed, z_shape
from headcats.results.head_axes import ABSENT, KV_HEAD


@dataclass(frozen=True)
class Geometry:
    """Layer -> a size of its attention, for every layer with heads."""

    n_heads: Mapping[int, int]
    d_head: Mapping[int, int]
    n_kv_heads: Mapping[int, int]
    """Key-value heads; as many as query heads where these share nothing, or the run does not confirm which do."""

    @property
    def axes(self) -> dict[str, Any]:
        """Coordinates of tables over query heads; `kv_head (layer, head)` where any heads share keys and values."""
        axes: dict[str, Any] = {"layer": list(self.n_heads), "head": list(range(max(self.n_heads.values())))}
        if self.n_kv_heads != self.n_heads:
            number = np.full((len(axes["layer"]), len(axes["head"])), ABSENT)
            for row, (layer, n) in enumerate(self.n_heads.items()):
                number[row, :n] = np.arange(n) // (n // self.n_kv_heads[layer])
            axes[KV_HEAD] = (("layer", "head"), number)
        return axes


def one_token_geometry(model: Any) -> Geometry:
    """The sizes of a `HookedModel`, by a run of one token."""
    captured: dict[str, Tensor] = {}
    layers, hooks = model.layers, model.model.hook_dict
    at_z, at_v = ({hook(layer): keeping(captured, hook(layer)) for layer in layers} for hook in (hook_z, hook_v))
    tokens = torch.zeros((1, 1), dtype=torch.long)
    with unnoticed(model.device):
        try:
            model.run(tokens, hooks=at_z | {name: edit for name, edit in at_v.items() if name in hooks})
        except ModelError:
            # Attention without values of its own, or that fires their hook another number of times.
            captured.clear()
            model.run(tokens, hooks=at_z)
    z = {layer: captured[hook_z(layer)] for layer in layers}
    configured_z = {layer: configured_heads(model.model, layer) for layer in layers}
    shapes = {layer: z_shape(z[layer], hook_z(layer), n_heads=n, model=model.name) for layer, n in configured_z.items()}
    configured = getattr(model.model.cfg, "n_key_value_heads", None)
    shared = {layer: _n_kv_heads(z[layer], captured.get(hook_v(layer)), configured) for layer in layers}
    n_heads, d_head = ({layer: shape[axis] for layer, shape in shapes.items()} for axis in (2, 3))
    return Geometry(*map(MappingProxyType, (n_heads, d_head, shared)))


def _n_kv_heads(z: Tensor, values: Tensor | None, configured: int | None) -> int:
    """The least number of key-value heads that hook or configuration name and z confirms; else that of query heads."""
    n_heads = z.shape[2]
    if values is None or values.ndim != 4 or values.shape[3] != z.shape[3]:
        return n_heads
    # The hook may give the values once for every query head: then only the configuration knows that they are shared.
    named = sorted({values.shape[2], configured or n_heads})
    return next((n for n in named if _is_confirmed(n, z, values)), n_heads)


def _is_confirmed(n: int, z: Tensor, values: Tensor) -> bool:
    """True if each query head gives out the value of its group.

    One token attends to itself alone, so z is its value times factors above 0 (a sink, a gate): signs must agree.
    """
    n_heads, n_values = z.shape[2], values.shape[2]
    if n_heads % n or n_values % n:
        return False
    expected = values[:, :, :: n_values // n].repeat_interleave(n_heads // n, dim=2)
    return bool(torch.all(z * expected.to(z.device) >= 0))
