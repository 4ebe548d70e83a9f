"""Recording of a TransformerBridge: no code for any architecture.

One run records the arguments of every block and its keys and values; `bridge_recording` calls the blocks again with
them.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z
from headcats.models.replay.block_arguments import BlockArguments
from headcats.models.replay.bridge_recording import FINAL, BridgeRecording
from headcats.models.replay.kept import kept
from headcats.models.replay.unreplayable import Unreplayable


@torch.no_grad()
def record_bridge(model: HookedModel, tokens: Tensor, *, first: int) -> BridgeRecording:
    """Run `tokens` once and keep what is needed to run blocks again at positions `first` and later.

    Raises:
        Unreplayable: The blocks cannot be called on their own; the text is the reason.
    """
    bridge = model.model
    if FINAL not in bridge.hook_dict:
        raise Unreplayable(f"it has no hook {FINAL!r}")
    tokens, cache = tokens.to(model.device), DynamicCache()
    calls: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    z: dict[int, Tensor] = {}
    final: list[Tensor] = []

    def keep_arguments(layer: int) -> Callable[..., None]:
        return lambda _, args, kwargs: calls.__setitem__(layer, (args, dict(kwargs)))

    def keep_z(layer: int) -> Callable[..., Tensor]:
        def hook_function(value: Tensor, hook: Any) -> Tensor:
            z[layer] = kept(value, slice(first, None), 1)
            return value

        return hook_function

    def keep_final(value: Tensor, hook: Any) -> Tensor:
        final.append(value[:, -1].clone())
        return value

    with model.lock:
        handles = [
            block.register_forward_pre_hook(keep_arguments(layer), with_kwargs=True)
            for layer, block in enumerate(bridge.blocks)
        ]
        try:
            output = bridge.run_with_hooks(
                tokens,
                fwd_hooks=[*((hook_z(layer), keep_z(layer)) for layer in model.layers), (FINAL, keep_final)],
                return_type="logits",
                past_key_values=cache,
                **model.forward_options(tokens),
            )
        finally:
            for handle in handles:
                handle.remove()
    prefixes = _prefixes(cache, len(bridge.blocks), tokens.shape[1], first)
    arguments = []
    for layer, block in enumerate(bridge.blocks):
        args, kwargs = calls[layer]
        one = BlockArguments(block, args, kwargs, cache=cache, shape=(tokens.shape[0], tokens.shape[1]))
        one.residual = kept(one.residual, slice(first, None), 1)
        arguments.append(one)
    logits = output[:, -1].to(torch.float32, copy=True)
    return BridgeRecording(model, tokens, first, logits, z, arguments, prefixes, final[0])


def _prefixes(cache: DynamicCache, n_layers: int, length: int, first: int) -> list[tuple[Tensor, Tensor]]:
    layers = cache.layers
    if len(layers) != n_layers or any(not layer.is_initialized for layer in layers):
        raise Unreplayable("not every block keeps keys and values")
    if any(layer.keys.shape[-2] != length for layer in layers):
        raise Unreplayable("its key-value cache does not hold every position")
    return [(kept(layer.keys, slice(first), 2), kept(layer.values, slice(first), 2)) for layer in layers]
