"""Record and replay a TransformerBridge: no code for any architecture.

One run records the arguments of every block and its keys and values. A block is called again with other residual
streams, the arguments it got at the positions in question, and an object in place of the cache that gives back the
recorded keys and values. Everything the block does (norms, rotary embeddings, soft caps, sinks, experts) is done by the
model itself; only activations that are written out as a formula are computed in another way (`fused`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache

from headcats.models.adapter import HookedModel
from headcats.models.hooks import forward_options, hook_z
from headcats.models.replay.block_arguments import BlockArguments, FixedPrefix, Stop
from headcats.models.replay.fused import fused, written_out
from headcats.models.replay.recording import Recording, RowEdit, Rows, Unreplayable, compact_slice, reads_alike

_FINAL = "ln_final.hook_in"
"""Hook at the residual stream before the last norm."""


@torch.no_grad()
def record_bridge(model: HookedModel, tokens: Tensor, *, first: int) -> "BridgeRecording":
    """As `record`, for a TransformerBridge."""
    bridge = model.model
    if _FINAL not in bridge.hook_dict:
        raise Unreplayable(f"it has no hook {_FINAL!r}")
    tokens = tokens.to(model.device)
    run = _Run(list(bridge.blocks), tokens, first)
    with model.lock, fused(written_out(bridge)), run:
        output = bridge.run_with_hooks(
            tokens,
            fwd_hooks=[*((hook_z(layer), run.keep_z(layer)) for layer in model.layers), (_FINAL, run.keep_final)],
            return_type="logits",
            past_key_values=run.cache,
            **forward_options(bridge, tokens),
        )
    return BridgeRecording(model, run, output[:, -1].to(torch.float32, copy=True))


class _Ahead(NamedTuple):
    """What is computed of the last block before its last position goes through it."""

    earlier: Tensor
    """Residual stream before the block, at all positions but the last."""
    keys: Tensor
    values: Tensor
    z: Tensor | None
    """Head outputs at positions `first` and later, but the last; None if there are none."""


class _Run:
    """What the blocks get and give in one forward pass, which runs inside `with`.

    The last position goes through the last block alone: of the others only keys, values and z are made there. So the
    numbers of the last position are the same, to the bit, whatever `first` is.
    """

    def __init__(self, blocks: Sequence[Any], tokens: Tensor, first: int) -> None:
        self.cache = DynamicCache()
        self.arguments: list[BlockArguments] = []
        # Layer -> head outputs at positions `first` and later; residual stream after the last block at the last one.
        self.z: dict[int, Tensor] = {}
        self.final: Tensor
        self.tokens, self.first = tokens, first
        self._blocks = blocks
        self._shape = tokens.shape[0], tokens.shape[1]
        self._ahead: _Ahead | None = None
        self._looks_ahead = self._asks_for_z = False
        self._handles: list[Any] = []

    def __enter__(self) -> None:
        for block in self._blocks:
            self._handles.append(block.register_forward_pre_hook(self._before, with_kwargs=True))
        self._handles.append(self._blocks[-1].register_forward_hook(self._after))

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def keep_z(self, layer: int) -> Callable[..., Tensor]:
        """A hook at z of a layer."""

        def hook_function(value: Tensor, hook: Any) -> Tensor:
            if self._asks_for_z:
                raise Stop(value)
            ahead = self._ahead.z if self._ahead is not None else None
            z = compact_slice(value, slice(self.first - self._shape[1], None), 1)
            self.z[layer] = z if ahead is None else torch.cat([ahead, z], 1)
            return value

        return hook_function

    def keep_final(self, value: Tensor, hook: Any) -> Tensor:
        """A hook at the residual stream after the last block."""
        self.final = value[:, -1].clone()
        return value

    def prefixes(self) -> list[tuple[Tensor, Tensor]]:
        """Keys and values before `first`, layer by layer."""
        layers = [(layer.keys, layer.values) for layer in self.cache.layers if layer.is_initialized]
        if self._ahead is not None:
            layers.append((self._ahead.keys, self._ahead.values))
        if len(layers) != len(self._blocks):
            raise Unreplayable("not every block keeps keys and values")
        if any(keys.shape[-2] != self._shape[1] for keys, _ in layers):
            raise Unreplayable("its key-value cache does not hold every position")
        earlier = slice(self.first)
        return [(compact_slice(keys, earlier, 2), compact_slice(values, earlier, 2)) for keys, values in layers]

    def _before(self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._looks_ahead:
            return None
        if block is not self._blocks[len(self.arguments)]:
            raise Unreplayable("its blocks do not run one after the other")
        arguments = BlockArguments(block, args, kwargs, cache=self.cache, shape=self._shape)
        residual, last = arguments.residual, self._shape[1] - 1
        arguments.residual = compact_slice(residual, slice(self.first, None), 1)
        self.arguments.append(arguments)
        if len(self.arguments) < len(self._blocks) or last == 0:
            return None
        self._looks_ahead = True
        try:
            self._ahead = self._look_ahead(arguments, residual, last)
        except Unreplayable:  # run all positions
            return None
        finally:
            self._looks_ahead = self._asks_for_z = False
        prefix = FixedPrefix(self._ahead.keys[..., :last, :], self._ahead.values[..., :last, :])
        return arguments.adapted(residual[:, last:], prefix=prefix, positions=slice(last, None), one_sequence=False)

    def _look_ahead(self, arguments: BlockArguments, residual: Tensor, last: int) -> _Ahead:
        nothing = residual.new_empty(len(residual), 1, 0, 1)
        keys, values = arguments.keys_and_values(residual, prefix=FixedPrefix(nothing, nothing), positions=slice(None))
        # As the cache does in the other blocks: some norms give keys in fp32 in a model of 16 bits.
        values = values.to(torch.promote_types(keys.dtype, values.dtype))
        if self.first == last:
            return _Ahead(residual[:, :last], keys, values, None)
        middle = slice(self.first, last)
        prefix = FixedPrefix(keys[..., : self.first, :], values[..., : self.first, :])
        self._asks_for_z = True
        try:
            arguments.call(residual[:, middle], prefix=prefix, positions=middle, one_sequence=False)
        except Stop as stop:
            return _Ahead(residual[:, :last], keys, values, *stop.tensors)
        raise Unreplayable("its last block has no head outputs")

    def _after(self, block: Any, args: tuple[Any, ...], output: Any) -> Any:
        """Restore all positions, which the rest of the model expects; the earlier ones are never read."""
        if self._ahead is None:
            return None
        after = output[0] if isinstance(output, tuple) else output
        residual = torch.cat([self._ahead.earlier.to(after.device), after], 1)
        return (residual, *output[1:]) if isinstance(output, tuple) else residual


class BridgeRecording(Recording):
    """A run of a TransformerBridge; see `Recording`."""

    def __init__(self, model: HookedModel, run: _Run, logits: Tensor) -> None:
        self.tokens, self.first, self.logits, self.z = run.tokens, run.first, logits, run.z
        self._model, self._arguments, self._final = model, run.arguments, run.final
        self._prefixes = run.prefixes()
        # The arguments still name the cache, to know it by.
        run.cache.layers.clear()
        with model.lock:
            self._activations = [written_out(block) for block in model.model.blocks]
            self._plain = reads_alike(self._unembed(self._final), logits, model.dtype)
            alike = self._plain or reads_alike(self._finish(self._final), logits, model.dtype)
        if not alike:
            raise Unreplayable("its logits are not made from the residual stream at the last position alone")

    @torch.no_grad()
    def block(self, layer: int, rows: Rows | None, *, fresh: int, edit: RowEdit | None, last_only: bool) -> Rows:
        """See `Recording.block`."""
        residual = self._with_fresh(layer, rows, fresh)
        prompts, count = residual.shape[:2]
        arguments, (keys, values) = self._arguments[layer], self._prefixes[layer]
        with self._model.lock, fused(self._activations[layer]):
            if self.width == 1:
                with self._editing(layer, edit, lambda z: z.unsqueeze(2), lambda z: z.squeeze(2)):
                    prefix, positions = FixedPrefix(keys, values), slice(self.first, None)
                    after = arguments.call(residual[:, :, 0], prefix=prefix, positions=positions, one_sequence=True)
                return after.unsqueeze(2)
            batch, first, last = residual.flatten(0, 1), self.first, self.tokens.shape[1] - 1
            prefix = FixedPrefix(keys, values, rows=count)
            if last_only:
                # Of all positions but the last only keys and values; the rest of the block is not run for them.
                earlier = arguments.keys_and_values(batch[:, :-1], prefix=prefix, positions=slice(first, last))
                prefix, batch, first = FixedPrefix(*prefix.update(*earlier), rows=count), batch[:, -1:], last
            with self._editing(layer, edit, lambda z: z.unflatten(0, (prompts, count)), lambda z: z.flatten(0, 1)):
                after = arguments.call(batch, prefix=prefix, positions=slice(first, None), one_sequence=False)
        return after.unflatten(0, (prompts, count))

    @torch.no_grad()
    def read(self, residual: Tensor) -> Tensor:
        """See `Recording.read`."""
        with self._model.lock:
            return self._unembed(residual) if self._plain else self._finish(residual)

    def _unembedding(self, ids: Tensor) -> tuple[Tensor, Tensor | None]:
        unembed = self._model.model.unembed
        weight = unembed.W_U.T
        bias = getattr(unembed.original_component, "bias", None)
        index = ids.to(weight.device)
        return weight[index], None if bias is None else bias[index]

    def _dot(self, residual: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        normed = self._model.model.ln_final(residual).to(weight.device)
        logits = torch.einsum("prd,ptd->prt", normed.to(weight.dtype), weight)
        return (logits if bias is None else logits + bias[:, None]).float()

    def _unembed(self, residual: Tensor) -> Tensor:
        model = self._model.model
        return model.unembed(model.ln_final(residual[None]))[0].float()

    def _finish(self, residual: Tensor) -> Tensor:
        """The end of an ordinary forward pass, for models that scale or cap their logits.

        A pass over one token, in which `residual` takes the place of the residual stream before the last norm.
        """
        output = self._model.model.run_with_hooks(
            self.tokens[:1, :1],
            fwd_hooks=[(_FINAL, lambda value, hook: residual[None].to(value.device, value.dtype))],
            return_type="logits",
        )
        return output[0].float()

    def _with_fresh(self, layer: int, rows: Tensor | None, fresh: int) -> Tensor:
        base = self._arguments[layer].residual
        added = base.unsqueeze(1).expand(-1, fresh, -1, -1)
        if rows is None:
            return added
        return torch.cat([rows.to(base.device), added], 1) if fresh else rows.to(base.device)

    def _editing(
        self, layer: int, edit: RowEdit | None, spread: Callable[[Tensor], Tensor], gather: Callable[[Tensor], Tensor]
    ) -> Any:
        hooks = [] if edit is None else [(hook_z(layer), lambda z, hook: gather(edit(spread(z))))]
        return self._model.model.hooks(fwd_hooks=hooks)
