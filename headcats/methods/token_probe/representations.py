"""What a model computes at the role positions of texts of different length."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from headcats.errors import ModelError, OptionError
from headcats.methods.token_probe.generation import TOKENS_AT_ONCE, by_length
from headcats.methods.token_probe.settings import REPRESENTATIONS
from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit

KEPT_BYTES = 2 << 30
"""Layers whose representations do not fit into this together are read in several passes."""


def representations(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    *,
    representation: str,
    advance: Callable[[float], None] = lambda share: None,
) -> Iterator[tuple[int, Float32[np.ndarray, "text role width"]]]:
    """Layer by layer, a representation at the positions of every text.

    All layers come out of one forward pass per text, unless they do not fit into `KEPT_BYTES` together. Texts of equal
    length go through the model together, never padded; nothing but the role positions is kept.

    Args:
        model: The model.
        texts: Token ids; lengths may differ.
        positions: Positions of each text, equally many.
        representation: One of `REPRESENTATIONS`.
        advance: Called with the share of the texts that is done, over all layers.

    Raises:
        OptionError: An unknown representation, or one that the model does not have.
        ModelError: Values that are not finite.
    """
    names = {layer: hook_name(model, layer, representation) for layer in model.layers}
    width = max(part.shape[-1] for part in _read(model, texts[:1], positions[:1], names).values())
    size = len(texts) * len(positions[0]) * width * 4
    together = max(1, KEPT_BYTES // size)
    for start in range(0, len(model.layers), together):
        layers = model.layers[start : start + together]

        def passed(share: float, before: int = start, count: int = len(layers)) -> None:
            advance((before + share * count) / len(model.layers))

        values = _read(model, texts, positions, {layer: names[layer] for layer in layers}, passed)
        for layer in layers:
            yield layer, values.pop(layer)


def hook_name(model: HookedModel, layer: int, representation: str) -> str:
    """Name of the hook of a representation in one layer.

    Raises:
        OptionError: Not one of `REPRESENTATIONS`, or the model has no such hook.
    """
    if representation not in REPRESENTATIONS:
        raise OptionError(f"Expected representation {', '.join(REPRESENTATIONS)}; got {representation!r}.")
    name = f"blocks.{layer}.{REPRESENTATIONS[representation]}"
    if name not in model.model.hook_dict:
        available = [
            representation
            for representation, hook in REPRESENTATIONS.items()
            if f"blocks.{layer}.{hook}" in model.model.hook_dict
        ]
        raise OptionError(
            f"Model {model.name!r} has no hook {name!r}, so no representation {representation!r}; it has "
            f"{', '.join(available)}."
        )
    return name


def _read(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    names: dict[int, str],
    advance: Callable[[float], None] = lambda share: None,
) -> dict[int, Float32[np.ndarray, "text role width"]]:
    values: dict[int, np.ndarray] = {}
    done = 0
    for group in by_length(texts):
        size = max(1, TOKENS_AT_ONCE // len(texts[group[0]]))
        for start in range(0, len(group), size):
            part = group[start : start + size]
            token_positions = torch.tensor([list(positions[place]) for place in part])
            seen: dict[int, Tensor] = {}
            hooks = {name: _keeping(seen, layer, token_positions) for layer, name in names.items()}
            model.run(torch.tensor([list(texts[place]) for place in part]), hooks=hooks)
            for layer, value in seen.items():
                if not bool(value.isfinite().all()):
                    raise ModelError(
                        f"{names[layer]!r} of model {model.name!r} holds NaN or infinite values: load it in float32."
                    )
                if layer not in values:
                    values[layer] = np.empty((len(texts), *value.shape[1:]), dtype=np.float32)
                values[layer][part] = value.numpy()
            done += len(part)
            advance(done / len(texts))
    return values


def _keeping(seen: dict[int, Tensor], layer: int, where: Tensor) -> Edit:
    def keep(value: Tensor) -> Tensor:
        rows = torch.arange(len(where), device=value.device)[:, None]
        seen[layer] = value[rows, where.to(value.device)].flatten(2).float().cpu()
        return value

    return keep
