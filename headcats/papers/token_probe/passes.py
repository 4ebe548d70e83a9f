"""Activations at token roles of texts of different length, in batches of one length."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from headcats.base.errors import ModelError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.generation import equal_lengths
from headcats.models.hooks import keeping
from headcats.papers.token_probe.settings import REPRESENTATIONS

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
    """Layer by layer, a representation at the positions of every text, from as few passes as `KEPT_BYTES` allows.

    An OptionError for a representation that the model does not have, a ModelError for values that are not finite.
    """
    names = {layer: hook_name(model, layer, representation) for layer in model.layers}
    width = max(values.shape[-1] for values in _read(model, texts[:1], positions[:1], names).values())
    together = max(1, KEPT_BYTES // (len(texts) * len(positions[0]) * width * 4))
    for start in range(0, len(names), together):
        part = model.layers[start : start + together]

        def advance_layers(share: float, before: int = start, count: int = len(part)) -> None:
            advance((before + share * count) / len(names))

        values = _read(model, texts, positions, {layer: names[layer] for layer in part}, advance_layers)
        for layer in part:
            yield layer, values.pop(layer)


def hook_name(model: HookedModel, layer: int, representation: str) -> str:
    """Name of the hook of a representation in one layer; OptionError where the model has none."""
    if representation not in REPRESENTATIONS:
        raise OptionError(f"Expected representation {', '.join(REPRESENTATIONS)}; got {representation!r}.")
    hooks = {name: f"blocks.{layer}.{hook}" for name, hook in REPRESENTATIONS.items()}
    if hooks[representation] not in model.model.hook_dict:
        available = ", ".join(name for name, hook in hooks.items() if hook in model.model.hook_dict)
        raise OptionError(
            f"Model {model.name!r} has no hook {hooks[representation]!r}, so no representation {representation!r}; it "
            f"has {available}."
        )
    return hooks[representation]


def _read(
    model: HookedModel,
    texts: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    names: dict[int, str],
    advance: Callable[[float], None] = lambda share: None,
) -> dict[int, Float32[np.ndarray, "text role width"]]:
    values: dict[int, np.ndarray] = {}
    done = 0
    for part in equal_lengths([len(text) for text in texts]):
        captured: dict[int, Tensor] = {}
        token_positions = torch.tensor([list(positions[place]) for place in part])
        at_roles = partial(_at, token_positions)
        hooks = {name: keeping(captured, layer, at_roles) for layer, name in names.items()}
        model.run(torch.tensor([list(texts[place]) for place in part]), hooks=hooks)
        for layer, value in captured.items():
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


def _at(positions: Tensor, value: Tensor) -> Tensor:
    rows = torch.arange(len(positions), device=value.device)[:, None]
    return value[rows, positions.to(value.device)].flatten(2).float().cpu()
