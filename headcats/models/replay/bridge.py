"""Recording of a TransformerBridge: no code for any architecture.

One run records the arguments of every block and its keys and values; `bridge_recording` calls the blocks again with
them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache

from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z
from headcats.models.replay.block_arguments import BlockArguments, FixedPrefix
from headcats.models.replay.bridge_recording import FINAL, BridgeRecording
from headcats.models.replay.fused_activations import fused, written_out
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
    tokens = tokens.to(model.device)
    run = _Run(list(bridge.blocks), tokens, first)
    z: dict[int, Tensor] = {}
    final: list[Tensor] = []

    def keep_z(layer: int) -> Callable[..., Tensor]:
        def hook_function(value: Tensor, hook: Any) -> Tensor:
            z[layer] = kept(value, slice(first - tokens.shape[1], None), 1)
            return value

        return hook_function

    def keep_final(value: Tensor, hook: Any) -> Tensor:
        final.append(value[:, -1].clone())
        return value

    with model.lock, fused(written_out(bridge)), run:
        output = bridge.run_with_hooks(
            tokens,
            fwd_hooks=[*((hook_z(layer), keep_z(layer)) for layer in model.layers), (FINAL, keep_final)],
            return_type="logits",
            past_key_values=run.cache,
            **model.forward_options(tokens),
        )
    logits = output[:, -1].to(torch.float32, copy=True)
    return BridgeRecording(model, tokens, first, logits, z, run.arguments, run.prefixes(), final[0])


class _Run:
    """What the blocks get in one forward pass, and what they leave in its cache; `with` it, the pass is run.

    In the last block, positions before `first` stop at their keys and values: nothing reads more of them.
    """

    def __init__(self, blocks: Sequence[Any], tokens: Tensor, first: int) -> None:
        self.cache = DynamicCache()
        self.arguments: list[BlockArguments] = []
        self._blocks = blocks
        self._shape = tokens.shape[0], tokens.shape[1]
        self._first = first
        self._cut: _Cut | None = None
        self._handles: list[Any] = []

    def __enter__(self) -> None:
        for block in self._blocks:
            self._handles.append(block.register_forward_pre_hook(self._before, with_kwargs=True))
        self._handles.append(self._blocks[-1].register_forward_hook(self._after))

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def prefixes(self) -> list[tuple[Tensor, Tensor]]:
        """Keys and values before `first`, layer by layer.

        Raises:
            Unreplayable: The cache does not hold those of every block and position.
        """
        layers = [(layer.keys, layer.values) for layer in self.cache.layers if layer.is_initialized]
        if self._cut is not None:
            layers.append((self._cut.keys, self._cut.values))
        if len(layers) != len(self._blocks):
            raise Unreplayable("not every block keeps keys and values")
        if any(keys.shape[-2] != self._shape[1] for keys, _ in layers):
            raise Unreplayable("its key-value cache does not hold every position")
        return [(kept(keys, slice(self._first), 2), kept(values, slice(self._first), 2)) for keys, values in layers]

    def _before(self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(self.arguments) == len(self._blocks):
            return None  # the last block's keys and values are being asked for, below
        if block is not self._blocks[len(self.arguments)]:
            raise Unreplayable("its blocks do not run one after the other")
        one = BlockArguments(block, args, kwargs, cache=self.cache, shape=self._shape)
        residual, since = one.residual, slice(self._first, None)
        one.residual = kept(residual, since, 1)
        self.arguments.append(one)
        if self._first == 0 or len(self.arguments) < len(self._blocks):
            return None
        nothing = residual.new_empty(len(residual), 1, 0, 1)
        try:
            keys, values = one.keys_and_values(residual, prefix=FixedPrefix(nothing, nothing), positions=slice(None))
        except Unreplayable:
            return None
        self._cut = _Cut(residual[:, : self._first], keys, values)
        prefix = FixedPrefix(keys[..., : self._first, :], values[..., : self._first, :])
        return one.adapted(one.residual, prefix=prefix, positions=since, one_sequence=False)

    def _after(self, block: Any, args: tuple[Any, ...], output: Any) -> Any:
        """What comes after the last block expects every position: any number does at those that are not read."""
        if self._cut is None:
            return None
        if isinstance(output, tuple):
            return torch.cat([self._cut.earlier, output[0]], 1), *output[1:]
        return torch.cat([self._cut.earlier, output], 1)


class _Cut(NamedTuple):
    """The last block's residual stream at the positions that it does not finish; keys and values at all positions."""

    earlier: Tensor
    keys: Tensor
    values: Tensor
