"""Replay through the blocks of a TransformerBridge: no code for any architecture.

A block is called again with other residual streams, the arguments that it got in the recorded run at the positions in
question, and an object in place of the cache that gives back the recorded keys and values. Everything the block does
(norms, rotary embeddings, soft caps, sinks, experts) is done by the model itself; of its modules only activations that
are written out as a formula are computed in another way (`fused_activations`).
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z
from headcats.models.replay.block_arguments import BlockArguments, FixedPrefix
from headcats.models.replay.fused_activations import fused, written_out
from headcats.models.replay.recording import Recording, RowEdit, Rows, reads_alike
from headcats.models.replay.unreplayable import Unreplayable

FINAL = "ln_final.hook_in"
"""Hook at the residual stream before the last norm."""


class BridgeRecording(Recording):
    """A run of a TransformerBridge; see `Recording`."""

    def __init__(
        self,
        model: HookedModel,
        tokens: Tensor,
        first: int,
        logits: Tensor,
        z: Mapping[int, Tensor],
        arguments: list[BlockArguments],
        prefixes: list[tuple[Tensor, Tensor]],
        final: Tensor,
    ) -> None:
        self.tokens = tokens
        self.first = first
        self.logits = logits
        self.z = z
        self._model = model
        self._arguments = arguments
        self._prefixes = prefixes
        self._residuals = [block_arguments.residual for block_arguments in arguments]
        self._final = final
        with model.lock:
            self._activations = [written_out(block) for block in model.model.blocks]
            self._plain = reads_alike(self._unembed(final), logits, model.dtype)
            alike = self._plain or reads_alike(self._finish(final), logits, model.dtype)
        if not alike:
            raise Unreplayable("its logits are not made from the residual stream at the last position alone")
        self._columns: tuple[Tensor, Tensor, Tensor | None] | None = None
        self._plain_columns = False

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
            batch, first = residual.flatten(0, 1), self.first
            if last_only:
                keys, values = self._keys_before_last(layer, batch, count)
                batch, first = batch[:, -1:], self.tokens.shape[1] - 1
            prefix = FixedPrefix(keys, values, rows=count)
            with self._editing(layer, edit, lambda z: z.unflatten(0, (prompts, count)), lambda z: z.flatten(0, 1)):
                after = arguments.call(batch, prefix=prefix, positions=slice(first, None), one_sequence=False)
        return after.unflatten(0, (prompts, count))

    @torch.no_grad()
    def read(self, residual: Tensor) -> Tensor:
        """See `Recording.read`."""
        with self._model.lock:
            return self._unembed(residual) if self._plain else self._finish(residual)

    @torch.no_grad()
    def read_some(self, residual: Tensor, ids: Tensor) -> Tensor | None:
        """See `Recording.read_some`."""
        if not self._plain:
            return None
        with self._model.lock:
            if self._columns is None or not torch.equal(self._columns[0], ids):
                self._columns = self._columns_of(ids)
                logits = self._dot_columns(self._final.unsqueeze(1))[:, 0]
                expected = self.logits.gather(1, ids.to(self.logits.device))
                self._plain_columns = reads_alike(logits.to(expected.device), expected, self._model.dtype)
            return self._dot_columns(residual) if self._plain_columns else None

    def _columns_of(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        unembed = self._model.model.unembed
        weight = unembed.W_U.T
        bias = getattr(unembed.original_component, "bias", None)
        index = ids.to(weight.device)
        return ids, weight[index], None if bias is None else bias[index]

    def _dot_columns(self, residual: Tensor) -> Tensor:
        assert self._columns is not None
        _, weight, bias = self._columns
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
        with self._model.lock:
            output = self._model.model.run_with_hooks(
                self.tokens[:1, :1],
                fwd_hooks=[(FINAL, lambda value, hook: residual[None].to(value.device, value.dtype))],
                return_type="logits",
            )
        return output[0].float()

    def _with_fresh(self, layer: int, rows: Tensor | None, fresh: int) -> Tensor:
        base = self._residuals[layer]
        if not fresh:
            assert rows is not None
            return rows.to(base.device)
        added = base.unsqueeze(1).expand(-1, fresh, -1, -1)
        return added if rows is None else torch.cat([rows.to(base.device), added], 1)

    def _keys_before_last(self, layer: int, batch: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        """Keys and values of every row at all positions but the last; the rest of the block is not run for them."""
        prefix = FixedPrefix(*self._prefixes[layer], rows=rows)
        positions = slice(self.first, self.tokens.shape[1] - 1)
        return prefix.update(*self._arguments[layer].keys_and_values(batch[:, :-1], prefix=prefix, positions=positions))

    def _editing(
        self, layer: int, edit: RowEdit | None, spread: Callable[[Tensor], Tensor], gather: Callable[[Tensor], Tensor]
    ) -> Any:
        def hook_function(z: Tensor, hook: Any) -> Tensor:
            assert edit is not None
            return gather(edit(spread(z)))

        hooks = [] if edit is None else [(hook_z(layer), hook_function)]
        return self._model.model.hooks(fwd_hooks=hooks)
