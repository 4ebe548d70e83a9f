"""Layers and heads of a model, as its hooks and a captured z show them: configs do not say all of it."""

import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.errors import DataError, ModelError
from headcats.models.head import Head
from headcats.models.hooks import hook_z, layers_with_heads, unnoticed


class Anatomy:
    """What `HookedModel` knows of its parts; see there."""

    def __init__(self, model: Any, *, name: str) -> None:
        self.model, self.name = model, name
        sizes = (int(getattr(model.cfg, size)) for size in ("n_layers", "d_model", "d_vocab", "n_ctx"))
        self.n_layers, self.d_model, self.d_vocab, self.n_ctx = sizes
        self.layers: tuple[int, ...] = layers_with_heads(model)
        if not self.layers:
            raise ModelError(
                f"Model {self.name!r} has no attention heads to intervene on: none of its hooks is named "
                f"'blocks.<layer>.attn.hook_z'. Use a decoder-only (causal) transformer."
            )

    def capture(self, tokens: Tensor) -> tuple[Tensor, dict[int, Tensor]]:
        """Logits, and layer -> z."""
        raise NotImplementedError

    @functools.cached_property
    def _z_shapes(self) -> dict[int, torch.Size]:
        with unnoticed(next(iter(self.model.parameters())).device):
            _, z = self.capture(torch.zeros((1, 1), dtype=torch.long))
        for layer, value in z.items():
            if value.ndim != 4:
                raise ModelError(
                    f"Hook {hook_z(layer)!r} of model {self.name!r} gives shape {tuple(value.shape)}; expected "
                    f"[prompt, pos, head, d_head]. This architecture has no head outputs that can be replaced."
                )
        return {layer: value.shape for layer, value in z.items()}

    @functools.cached_property
    def n_heads(self) -> Mapping[int, int]:
        """Layer -> number of query heads; keys are `layers`."""
        return MappingProxyType({layer: shape[2] for layer, shape in self._z_shapes.items()})

    @property
    def max_heads(self) -> int:
        """Largest number of heads in a layer: the size of the `head` axis of results."""
        return max(self.n_heads.values())

    @property
    def axes(self) -> dict[str, list[int]]:
        """Coordinates of results over heads: `layer` holds `layers`, `head` counts to `max_heads`."""
        return {"layer": list(self.layers), "head": list(range(self.max_heads))}

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads, by layer."""
        return tuple(Head(layer, head) for layer in self.layers for head in range(self.n_heads[layer]))

    def find_head(self, head: Any) -> Head:
        """A head in any form that `Head.parse` takes; a DataError if the model does not have it.

        Args:
            head: Its name, or a pair of layer and head.
        """
        parsed = Head.parse(head)
        if not 0 <= parsed.head < self.n_heads.get(parsed.layer, 0):
            raise DataError(
                f"Model {self.name!r} has no head {parsed}: its layers {self.layers[0]} to {self.layers[-1]} have up "
                f"to {self.max_heads} heads, counted from 0."
            )
        return parsed

    @functools.cached_property
    def d_head(self) -> Mapping[int, int]:
        """Layer -> size of one head's output; keys are `layers`."""
        return MappingProxyType({layer: shape[3] for layer, shape in self._z_shapes.items()})

    def W_O(self, layer: int) -> Float[Tensor, "head d_head d_model"]:
        """Output projection of one layer, per query head: `z @ W_O` is what the head adds to the residual stream.

        Args:
            layer: A layer with heads.
        """
        self._check_layers([layer])
        return self.model.blocks[layer].attn.W_O.detach()

    def _check_layers(self, layers: Iterable[int]) -> None:
        if without := [layer for layer in layers if layer not in self.layers]:
            raise ModelError(
                f"Layer {without[0]} of model {self.name!r} has no attention heads; layers with heads: "
                f"{', '.join(map(str, self.layers))}."
            )
