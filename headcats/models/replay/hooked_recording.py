"""Replay of a HookedTransformer: its blocks and its readout, computed from its weights."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import checked_edit, hook_z
from headcats.models.replay.fused_layers import apply_norm
from headcats.models.replay.hooked_block import HookedBlock, Positions
from headcats.models.replay.recording import Recording, RowEdit, Rows, reads_alike
from headcats.models.replay.shared_attention import SharedPrefix, shared_attention

# Rows of logits that are cast to fp32 at once.
_READ_CHUNK = 512


class RecordedLayer(NamedTuple):
    """What one block does to rows that have not changed before it, and what changed rows share with them."""

    block: HookedBlock
    positions: Positions
    prefix: SharedPrefix
    residual: Float[Tensor, "prompt pos d_model"]
    """What the attention's output of fresh rows is added to: before the block, and in parallel blocks after the MLP.
    In the last layer, of the last position alone.
    """


class HookedTransformerRecording(Recording):
    """A run of a HookedTransformer; see `Recording`."""

    def __init__(
        self,
        model: HookedModel,
        tokens: Tensor,
        first: int,
        z: dict[int, Tensor],
        layers: list[RecordedLayer],
    ) -> None:
        self.tokens = tokens
        self.first = first
        self.z = z
        self._model = model
        self._layers = layers
        self._final = self.block(len(layers) - 1, None, fresh=1, edit=None, last_only=True)[:, 0, 0]
        self._columns: tuple[Tensor, Tensor, Tensor] | None = None
        self._plain_columns = False
        self.logits = self.read(self._final)

    @torch.no_grad()
    def block(self, layer: int, rows: Rows | None, *, fresh: int, edit: RowEdit | None, last_only: bool) -> Rows:
        """See `Recording.block`."""
        block, _, _, base = self._layers[layer]
        z_base = self.z[layer]
        if last_only:
            base, z_base = base[:, -1:], z_base[:, -1:]
        old = base.new_empty(len(base), 0, *base.shape[1:]) if rows is None else rows.to(base.device)
        count = old.shape[1]
        with self._model.lock:
            z = z_base.new_empty(len(z_base), count + fresh, *z_base.shape[1:])
            if count:
                self._attend(layer, old, out=z[:, :count])
            z[:, count:] = z_base.unsqueeze(1)
            if edit is not None:
                z = checked_edit(hook_z(layer), edit, z)
            after = block.attention_output(z)
            del z
            after[:, :count] += block.before_attention_output(old[:, :, -after.shape[2] :])
            after[:, count:] += base.unsqueeze(1)
            block.finish(after)
        return after

    def _attend(self, layer: int, rows: Tensor, *, out: Tensor) -> None:
        """Head outputs of changed rows, at as many last positions as `out` has."""
        block, positions, prefix, _ = self._layers[layer]
        normed = block.pre_attention(rows)
        keys, values = block.keys(normed, positions), block.values(normed)
        if out.shape[2] < normed.shape[2]:
            normed, positions = normed[:, :, -1:], positions.at(slice(-1, None))
        queries = block.queries(normed, positions)
        shared_attention(queries, keys, values, prefix=prefix, rule=block.rule, out=out)

    @torch.no_grad()
    def read(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """See `Recording.read`."""
        unembed = self._model.model.unembed
        with self._model.lock:
            x = self._normed(residual)
            if x.dtype == torch.float32:
                return self._capped(torch.addmm(unembed.b_U, x, unembed.W_U))
            logits = torch.empty(len(x), unembed.W_U.shape[1], dtype=torch.float32, device=x.device)
            for part, into in zip(x.split(_READ_CHUNK), logits.split(_READ_CHUNK), strict=True):
                into.copy_(self._capped(torch.addmm(unembed.b_U, part, unembed.W_U)))
        return logits

    @torch.no_grad()
    def read_some(
        self, residual: Float[Tensor, "prompt row d_model"], ids: Int[Tensor, "prompt token"]
    ) -> Float[Tensor, "prompt row token"] | None:
        """See `Recording.read_some`."""
        with self._model.lock:
            if self._columns is None or not torch.equal(self._columns[0], ids):
                unembed = self._model.model.unembed
                index = ids.to(unembed.W_U.device)
                self._columns = ids.clone(), unembed.W_U.T[index], unembed.b_U[index]
                logits = self._dot_columns(self._final.unsqueeze(1))[:, 0]
                self._plain_columns = reads_alike(logits, self.logits.gather(1, index), self._model.dtype)
            return self._dot_columns(residual) if self._plain_columns else None

    def _dot_columns(self, residual: Tensor) -> Tensor:
        assert self._columns is not None
        _, weight, bias = self._columns
        return self._capped(torch.baddbmm(bias.unsqueeze(1), self._normed(residual), weight.mT)).float()

    def _normed(self, residual: Tensor) -> Tensor:
        model = self._model.model
        # Some versions have a final norm that the config does not ask for and the model's own pass skips.
        normed = residual if model.cfg.normalization_type is None else apply_norm(model.ln_final, residual)
        return normed.to(model.unembed.W_U.device)

    def _capped(self, logits: Tensor) -> Tensor:
        cap = self._model.model.cfg.output_logits_soft_cap
        return logits if cap is None or cap <= 0 else logits.div_(cap).tanh_().mul_(cap)
