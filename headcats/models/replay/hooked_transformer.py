"""Recording of a HookedTransformer (transformer-lens 3.x).

The model embeds the tokens. Its blocks can only be called on whole prompts, so they are computed from their weights,
in the recorded run as in a replay: the rows of a prompt share its recorded keys and values (`hooked_recording`), and in
the last block only what the last position needs is done at the others.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.replay.compact_slice import compact_slice
from headcats.models.replay.fused_layers import is_from_transformer_lens
from headcats.models.replay.hooked_block import HookedBlock, Positions
from headcats.models.replay.hooked_recording import HookedTransformerRecording, RecordedLayer
from headcats.models.replay.shared_attention import SharedPrefix, shared_attention
from headcats.models.replay.unreplayable import Unreplayable

_POSITIONS = ("standard", "rotary")
_ODD_POSITIONS = {
    "alibi": "its positions are ALiBi",
    "shortformer": "its positions are added to queries and keys alone",
}


@torch.no_grad()
def record_hooked_transformer(
    model: HookedModel, tokens: Int[Tensor, "prompt pos"], *, first: int
) -> HookedTransformerRecording:
    """As `record`, for a HookedTransformer.

    Raises:
        DataError: See `HookedModel.check_tokens`.
        Unreplayable: The model has a part that is not known here.
    """
    model.check_tokens(tokens)
    _check(model.model)
    tokens = tokens.to(model.device)
    blocks = [HookedBlock(block, layer) for layer, block in enumerate(model.model.blocks)]
    layers, z = list[RecordedLayer](), dict[int, Tensor]()
    with model.lock:
        residual = model.model(tokens, stop_at_layer=0, **model.forward_options(tokens))
        for layer, block in enumerate(blocks):
            recorded, z[layer], residual = _computed(block, residual, first, is_last=block is blocks[-1])
            layers.append(recorded)
        return HookedTransformerRecording(model, tokens, first, z, layers)


def _computed(
    block: HookedBlock, residual: Float[Tensor, "prompt pos d_model"], first: int, *, is_last: bool
) -> tuple[RecordedLayer, Float[Tensor, "prompt kept_pos head d_head"], Float[Tensor, "prompt pos d_model"]]:
    """A layer and its z from `first` on, and the residual stream after it; after the last layer it is not computed.

    The last layer's last position is computed alone: its numbers are the same, to the bit, whatever `first` is.
    """
    rows, length = residual.to(block.device).unsqueeze(1), residual.shape[1]
    begin = length - 1 if is_last else 0
    positions = block.positions(length)
    normed = block.pre_attention(rows)
    keys, values = block.keys(normed, positions), block.values(normed)
    z = _head_outputs(block, normed, keys, values, positions, slice(begin, length))
    if first < begin:
        earlier = _head_outputs(block, normed, keys, values, positions, slice(first, begin))
        kept_z = torch.cat([earlier, z], 2)[:, 0]
    else:
        kept_z = compact_slice(z[:, 0], slice(first - begin, None), 1)
    shared = slice(block.rule.first_visible(first), first)
    prefix = _prefix(keys[:, 0, shared], values[:, 0, shared])
    del normed, keys, values
    before = block.before_attention_output(rows[:, :, begin:])
    base = compact_slice(before[:, 0], slice(max(first, begin) - begin, None), 1)
    recorded = RecordedLayer(block, positions.at(slice(first, None)), prefix, base)
    if not is_last:
        after = block.attention_output(z).add_(before)
        del z, before
        block.finish(after)
        residual = after[:, 0]
    return recorded, kept_z, residual


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
    shared_attention(queries, keys, values, prefix=nothing, rule=block.rule, out=z)
    return z


def _prefix(
    keys: Float[Tensor, "prompt shared kv_head d_head"], values: Float[Tensor, "prompt shared kv_head d_head"]
) -> SharedPrefix:
    return SharedPrefix(*(part.transpose(1, 2).clone(memory_format=torch.contiguous_format) for part in (keys, values)))


def _check(model: Any) -> None:
    if not is_from_transformer_lens(model, "HookedTransformer"):
        raise Unreplayable(f"its class is {type(model).__qualname__}, whose forward pass may be another")
    kind = model.cfg.positional_embedding_type
    if kind not in _POSITIONS:
        raise Unreplayable(_ODD_POSITIONS.get(kind, f"its positions are {kind!r}"))
    if model.cfg.load_in_4bit:
        raise Unreplayable("its weights are quantised to 4 bits")
    if not is_from_transformer_lens(model.unembed, "Unembed"):
        raise Unreplayable(f"its unembedding is a {type(model.unembed).__qualname__}")
