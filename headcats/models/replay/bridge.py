"""Record and replay a TransformerBridge: no code for any architecture.

One run records the arguments of every block and its keys and values. A block is called again with other residual
streams, the arguments it got at the positions in question, and an object in place of the cache that gives back the
recorded keys and values. Everything the block does is done by the model itself.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache

from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued, in_order
from headcats.models.hooks import forward_options, hook_z
from headcats.models.replay.bridge_block import (
    BlockArguments,
    FixedPrefix,
    RowLayout,
    Stop,
    fused,
    with_fresh,
    written_out,
)
from headcats.models.replay.recording import Recording, RowEdit, Rows, Unreplayable, compact_slice, reads_alike
from headcats.models.weights import in_place

_FINAL = "ln_final.hook_in"
"""Hook at the residual stream before the last norm."""
_CHECKED_TOKENS = 64


@torch.no_grad()
def record_bridge(model: HookedModel, continued: Continued, *, first: int) -> "BridgeRecording":
    """Record a TransformerBridge (see `record`)."""
    bridge = model.model
    if _FINAL not in bridge.hook_dict:
        raise Unreplayable(f"it has no hook {_FINAL!r}")
    rows, read = continued.rows.to(model.device), continued.steps + 1
    run = _Run(list(bridge.blocks), continued, first)
    with model.lock, fused(written_out(bridge)), run:
        output = bridge.run_with_hooks(
            rows.clamp(min=0),
            fwd_hooks=[*((hook_z(layer), run.keep_z(layer)) for layer in model.layers), (_FINAL, run.keep_final)],
            return_type="logits",
            past_key_values=run.cache,
            **forward_options(bridge, rows, last=read),
        )
    return BridgeRecording(model, run, output[: len(continued), -read].to(torch.float32, copy=True))


class _Ahead(NamedTuple):
    """Parts of the last block that are computed before the positions that are read go through it."""

    earlier: Tensor
    """Residual stream before the block, at all other positions."""
    keys: Tensor
    values: Tensor
    z: Tensor | None
    """Head outputs at positions `first` and later, of the others; None if there are none."""


class _Run:
    """Inputs and outputs of the blocks in one forward pass over rows, which runs inside `with`.

    The positions that are read (the last one of the prompts, and those after it) go through the last block alone: of
    the others only keys, values and z are made there. So their numbers are the same, to the bit, whatever `first` is.
    """

    def __init__(self, blocks: Sequence[Any], continued: Continued, first: int) -> None:
        self.cache = DynamicCache()
        self.arguments: list[BlockArguments] = []
        # Layer -> head outputs at positions `first` and later; residual stream after the last block where it is read.
        self.z: dict[int, Tensor] = {}
        self.final: Tensor
        self.continued, self.first = continued, first
        self._blocks = blocks
        self._read, self._length = continued.length - 1, continued.length + continued.steps
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
            z = compact_slice(value, slice(self.first - self._length, None), 1)
            self.z[layer] = self.continued.pack(z if ahead is None else torch.cat([ahead, z], 1))
            return value

        return hook_function

    def keep_final(self, value: Tensor, hook: Any) -> Tensor:
        """A hook at the residual stream after the last block."""
        self.final = self.continued.pack(value[:, self._read - self._length :]).clone()
        return value

    def prefixes(self) -> list[tuple[Tensor, Tensor]]:
        """Keys and values before `first`, layer by layer."""
        layers = [(layer.keys, layer.values) for layer in self.cache.layers if layer.is_initialized]
        if self._ahead is not None:
            layers.append((self._ahead.keys, self._ahead.values))
        if len(layers) != len(self._blocks):
            raise Unreplayable("not every block keeps keys and values")
        if any(keys.shape[-2] != self._length for keys, _ in layers):
            raise Unreplayable("its key-value cache does not hold every position")
        prompts, earlier = slice(len(self.continued)), slice(self.first)
        return [
            (compact_slice(keys[prompts], earlier, 2), compact_slice(values[prompts], earlier, 2))
            for keys, values in layers
        ]

    def _before(self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._looks_ahead:
            return None
        if block is not self._blocks[len(self.arguments)]:
            raise Unreplayable("its blocks do not run one after the other")
        arguments = BlockArguments(block, args, kwargs, cache=self.cache, continued=self.continued)
        residual, read = arguments.residual, self._read
        arguments.residual = self.continued.pack(compact_slice(residual, slice(self.first, None), 1))
        self.arguments.append(arguments)
        if len(self.arguments) < len(self._blocks) or read == 0:
            return None
        self._looks_ahead = arguments.of_rows = True
        try:
            self._ahead = self._look_ahead(arguments, residual, read)
            prefix = FixedPrefix(self._ahead.keys[..., :read, :], self._ahead.values[..., :read, :])
            at = in_order(self._length).at(slice(read, None))
            return arguments.adapted(residual[:, read:], prefix=prefix, at=at, one_sequence=False)
        except Unreplayable:  # run all positions
            return None
        finally:
            self._looks_ahead = self._asks_for_z = arguments.of_rows = False

    def _look_ahead(self, arguments: BlockArguments, residual: Tensor, read: int) -> _Ahead:
        nothing, standing = residual.new_empty(len(residual), 1, 0, 1), in_order(self._length)
        keys, values = arguments.keys_and_values(residual, prefix=FixedPrefix(nothing, nothing), at=standing)
        # As the cache does in the other blocks: some norms give keys in fp32 in a model of 16 bits.
        values = values.to(torch.promote_types(keys.dtype, values.dtype))
        if self.first == read:
            return _Ahead(residual[:, :read], keys, values, None)
        middle = slice(self.first, read)
        prefix = FixedPrefix(keys[..., : self.first, :], values[..., : self.first, :])
        self._asks_for_z = True
        try:
            arguments.call(residual[:, middle], prefix=prefix, at=standing.at(middle), one_sequence=False)
        except Stop as stop:
            return _Ahead(residual[:, :read], keys, values, *stop.tensors)
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
        self.continued, self.first, self.logits, self.z, self.final = run.continued, run.first, logits, run.z, run.final
        self._model, self._arguments = model, run.arguments
        self._standing = run.continued.standing
        self._prefixes = run.prefixes()
        # The arguments still name the cache, to know it by.
        run.cache.layers.clear()
        with model.lock:
            self._activations = [written_out(block) for block in model.model.blocks]
            # One prompt and its likeliest tokens show it: the whole vocabulary takes as long as many rows of a block.
            expected, ids = logits[:1].topk(min(_CHECKED_TOKENS, logits.shape[1]))
            self._plain = reads_alike(
                self._dot(self.final[:1, :1], *self._columns_of(ids))[:, 0], expected, model.dtype
            )
            alike = self._plain or reads_alike(self._finish(self.final[:1, 0]), logits[:1], model.dtype)
        if not alike:
            raise Unreplayable("its logits are not made from the residual stream at the last position alone")

    @torch.no_grad()
    def block(
        self,
        layer: int,
        rows: Rows | None,
        *,
        fresh: int,
        edit: RowEdit | None,
        last_only: bool,
        width: int | None = None,
    ) -> Rows:
        """See `Recording.block`."""
        base, z = self._arguments[layer].residual, self.z[layer]
        changed = base.new_empty(len(base), 0, *base.shape[1:]) if rows is None else rows.to(base.device)
        residual = with_fresh(changed, base, fresh)[:, :, :width]
        prompts, count, width = residual.shape[:3]
        # Head outputs of fresh rows are recorded. Without any other row, one of them goes through the attention.
        attending = max(1, count - fresh)
        arguments, (keys, values) = self._arguments[layer], self._prefixes[layer]
        first, read = self.first, self.continued.length - 1
        one_sequence = first == read or width == 1
        prefix = FixedPrefix(keys, values, rows=1 if one_sequence else attending)
        with self._model.lock, fused(self._activations[layer]):
            if last_only and not one_sequence:
                # Of positions that are not read only keys and values; the rest of the block is not run for them.
                earlier, at = residual[:, :attending, : read - first], self._standing.at(slice(first, read))
                together = prefix.update(*arguments.keys_and_values(earlier.flatten(0, 1), prefix=prefix, at=at))
                prefix, residual = FixedPrefix(*together, rows=attending), residual[:, :, read - first :]
                z, first, width = z[:, read - first :], read, width - (read - first)
            at, layout = self._standing.at(slice(first, first + width)), RowLayout(prompts, width, one_sequence)

            def replace(value: Tensor, hook: Any) -> Tensor:
                of_rows = with_fresh(layout.spread(value)[:, : count - fresh], z[:, :width], fresh)
                return layout.gather(of_rows if edit is None else edit(of_rows))

            with (
                layout.attending(self._model.model.blocks[layer].attn, attending, of=residual),
                self._model.model.hooks(fwd_hooks=[(hook_z(layer), replace)]),
            ):
                after = arguments.call(
                    layout.gather(residual),
                    prefix=prefix,
                    at=at,
                    one_sequence=one_sequence,
                    attending=layout.gather(residual[:, :attending]),
                )
        return layout.spread(after)

    def entering(self, layer: int) -> Tensor:
        """See `Recording.entering`."""
        return self._arguments[layer].residual

    @torch.no_grad()
    def read(self, residual: Tensor) -> Tensor:
        """See `Recording.read`."""
        model = self._model.model
        with self._model.lock:
            return model.unembed(model.ln_final(residual[None]))[0].float() if self._plain else self._finish(residual)

    @contextmanager
    def _unembedding(self) -> Iterator[tuple[Tensor, Tensor | None]]:
        unembed = self._model.model.unembed
        with in_place(unembed):
            yield unembed.W_U.T, getattr(unembed.original_component, "bias", None)

    def _dot(self, residual: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        logits = torch.einsum("prd,ptd->prt", self._normed(residual).to(weight), weight)
        return (logits if bias is None else logits + bias[:, None]).float()

    def _normed(self, residual: Tensor) -> Tensor:
        return self._model.model.ln_final(residual)

    def _finish(self, residual: Tensor) -> Tensor:
        """End of an ordinary forward pass over one token, whose residual stream before the last norm is replaced."""
        output = self._model.model.run_with_hooks(
            self.continued.prompts[:1, -1:].to(self._model.device),
            fwd_hooks=[(_FINAL, lambda value, hook: residual[None].to(value.device, value.dtype))],
            return_type="logits",
        )
        return output[0].float()
