"""Record and replay a HookedTransformer (transformer-lens 3.x), computed from its weights.

Its blocks can only be called on whole prompts. So the rows of a prompt share its recorded keys and values, and in the
last block only what the last position needs is done at the others.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued, Standing, in_order
from headcats.models.hooks import checked_edit, forward_options, hook_z
from headcats.models.replay.hooked_block import HookedBlock, Positions, apply_norm, is_from_transformer_lens
from headcats.models.replay.recording import Recording, RowEdit, Rows, Unreplayable, compact_slice
from headcats.models.replay.shared_attention import SharedPrefix, shared_attention

_ODD_POSITIONS = {
    "alibi": "its positions are ALiBi",
    "shortformer": "its positions are added to queries and keys alone",
}
# Rows of logits that are cast to fp32 at once.
_READ_CHUNK = 512


@torch.no_grad()
def record_hooked_transformer(model: HookedModel, continued: Continued, *, first: int) -> "HookedTransformerRecording":
    """Record a HookedTransformer (see `record`)."""
    rows = continued.rows
    model.check_tokens(rows)
    wrapped = model.model
    if not is_from_transformer_lens(wrapped, "HookedTransformer"):
        raise Unreplayable(f"its class is {type(wrapped).__qualname__}, whose forward pass may be another")
    kind = wrapped.cfg.positional_embedding_type
    if kind not in ("standard", "rotary"):
        raise Unreplayable(_ODD_POSITIONS.get(kind, f"its positions are {kind!r}"))
    if wrapped.cfg.load_in_4bit:
        raise Unreplayable("its weights are quantised to 4 bits")
    if not is_from_transformer_lens(wrapped.unembed, "Unembed"):
        raise Unreplayable(f"its unembedding is a {type(wrapped.unembed).__qualname__}")
    rows = rows.to(model.device)
    blocks = [HookedBlock(block, layer) for layer, block in enumerate(wrapped.blocks)]
    layers, z = list[RecordedLayer](), dict[int, Tensor]()
    with model.lock:
        residual = wrapped(rows, stop_at_layer=0, **forward_options(wrapped, rows))
        for layer, block in enumerate(blocks):
            recorded, z[layer], residual = _computed(block, residual, continued, first, is_last=block is blocks[-1])
            layers.append(recorded)
        return HookedTransformerRecording(model, continued, first, z, layers)


class RecordedLayer(NamedTuple):
    """Block with rows that have not changed before it, and what changed rows share with them."""

    block: HookedBlock
    positions: Positions
    standing: Standing
    prefix: SharedPrefix
    entering: Float[Tensor, "prompt pos d_model"]
    """The residual stream before the block."""
    residual: Float[Tensor, "prompt pos d_model"]
    """Stream that the attention's output of fresh rows is added to: before the block, in parallel blocks after the MLP.
    In the last layer, of the positions that are read alone.
    """


class HookedTransformerRecording(Recording):
    """A run of a HookedTransformer; see `Recording`."""

    def __init__(
        self, model: HookedModel, continued: Continued, first: int, z: dict[int, Tensor], layers: list[RecordedLayer]
    ) -> None:
        self.continued, self.first, self.z = continued, first, z
        self._model, self._layers = model, layers
        self.final = self.block(len(layers) - 1, None, fresh=1, edit=None, last_only=True)[:, 0]
        self.logits = self.read(self.final[:, 0])

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
        block, base, z_base = self._layers[layer].block, self._layers[layer].residual, self.z[layer]
        if last_only:
            base, z_base = (values[:, -self.continued.tail :] for values in (base, z_base))
        base, z_base = base[:, :width], z_base[:, :width]
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

    def entering(self, layer: int) -> Tensor:
        """See `Recording.entering`."""
        return self._layers[layer].entering

    def _attend(self, layer: int, rows: Tensor, *, out: Tensor) -> None:
        """Head outputs of changed rows, at as many last positions as `out` has."""
        block, positions, standing, prefix, *_ = self._layers[layer]
        normed, read = block.pre_attention(rows), slice(-out.shape[2], None)
        keys, values = block.keys(normed, positions), block.values(normed)
        queries = block.queries(normed[:, :, read], positions.at(read))
        shared_attention(queries, keys, values, prefix=prefix, rule=block.rule, at=standing, out=out)

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

    def _unembedding(self) -> AbstractContextManager[tuple[Tensor, Tensor | None]]:
        unembed = self._model.model.unembed
        return nullcontext((unembed.W_U.T, unembed.b_U))

    def _dot(self, residual: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        assert bias is not None
        return self._capped(torch.baddbmm(bias.unsqueeze(1), self._normed(residual), weight.mT)).float()

    def _normed(self, residual: Tensor) -> Tensor:
        model = self._model.model
        # Some versions have a final norm that the config does not ask for and the model's own pass skips.
        normed = residual if model.cfg.normalization_type is None else apply_norm(model.ln_final, residual)
        return normed.to(model.unembed.W_U.device)

    def _capped(self, logits: Tensor) -> Tensor:
        cap = self._model.model.cfg.output_logits_soft_cap
        return logits if cap is None or cap <= 0 else logits.div_(cap).tanh_().mul_(cap)


def _computed(
    block: HookedBlock, residual: Float[Tensor, "row pos d_model"], continued: Continued, first: int, *, is_last: bool
) -> tuple[RecordedLayer, Float[Tensor, "prompt packed head d_head"], Float[Tensor, "row pos d_model"]]:
    """A layer and its z from `first` on, and the residual stream after it; after the last layer it is not computed.

    In the last layer the positions that are read are computed apart: their numbers are the same, to the bit, whatever
    `first` is.
    """
    rows, length = residual.to(block.device).unsqueeze(1), residual.shape[1]
    begin = continued.length - 1 if is_last else 0
    positions = block.positions(length)
    normed = block.pre_attention(rows)
    keys, values = block.keys(normed, positions), block.values(normed)
    z = _head_outputs(block, normed, keys, values, positions, slice(begin, length))
    if first < begin:
        earlier = _head_outputs(block, normed, keys, values, positions, slice(first, begin))
        kept_z = torch.cat([earlier, z], 2)[:, 0]
    else:
        kept_z = compact_slice(z[:, 0], slice(first - begin, None), 1)
    window = block.rule.window
    shared = slice(0 if window is None else max(0, first - window + 1), first)
    prompts = slice(len(continued))
    prefix = _prefix(keys[prompts, 0, shared], values[prompts, 0, shared])
    del normed, keys, values
    before = block.before_attention_output(rows[:, :, begin:])
    base = compact_slice(before[:, 0], slice(max(first, begin) - begin, None), 1)
    standing = continued.standing.at(slice(first, None))
    base = continued.pack(base)
    entering = continued.pack(compact_slice(residual, slice(first, None), 1)) if is_last or block.is_parallel else base
    recorded = RecordedLayer(block, positions.at(standing.places), standing, prefix, entering, base)
    if not is_last:
        after = block.attention_output(z).add_(before)
        del z, before
        block.finish(after)
        residual = after[:, 0]
    return recorded, continued.pack(kept_z), residual


def _head_outputs(
    block: HookedBlock,
    normed: Float[Tensor, "prompt row pos d_model"],
    keys: Float[Tensor, "prompt row pos kv_head d_head"],
    values: Float[Tensor, "prompt row pos kv_head d_head"],
    positions: Positions,
    some: slice,
) -> Float[Tensor, "prompt row some_pos head d_head"]:
    """Z at some positions next to each other."""
    queries = block.queries(normed[:, :, some], positions.at(some))
    z, nothing = torch.empty_like(queries), _prefix(keys[:, 0, :0], values[:, 0, :0])
    keys, values = keys[:, :, : some.stop], values[:, :, : some.stop]
    at = in_order(some.stop)
    shared_attention(queries, keys, values, prefix=nothing, rule=block.rule, at=at, out=z)
    return z


def _prefix(
    keys: Float[Tensor, "prompt shared kv_head d_head"], values: Float[Tensor, "prompt shared kv_head d_head"]
) -> SharedPrefix:
    return SharedPrefix(*(part.transpose(1, 2).clone(memory_format=torch.contiguous_format) for part in (keys, values)))
