"""Recording of a HookedTransformer (transformer-lens 3.x).

One run of the model itself records the residual stream before every block, head outputs, and keys and values before
`first`. Its blocks can only be called on whole prompts, so from there on they are computed from their weights, with the
rows of a prompt sharing its recorded keys and values (`hooked_recording`). The last block is computed that way in the
recorded run too: the model itself would do all of it at every position, and the last position alone is read.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z
from headcats.models.replay.fused_layers import is_from_transformer_lens
from headcats.models.replay.hooked_block import HookedBlock
from headcats.models.replay.hooked_recording import HookedTransformerRecording, RecordedLayer
from headcats.models.replay.kept import kept
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
    """Run `tokens` once and keep what is needed to run blocks again at positions `first` and later.

    Raises:
        DataError: See `HookedModel.check_tokens`.
        Unreplayable: The model does something that is not known here; the text is the reason.
    """
    model.check_tokens(tokens)
    _check(model.model)
    tokens = tokens.to(model.device)
    *before, last = (HookedBlock(block, layer) for layer, block in enumerate(model.model.blocks))
    with model.lock:
        seen, residual = _run(model, tokens, before, first)
        recorded = [_recorded(block, layer, seen, tokens.shape[1], first) for layer, block in enumerate(before)]
        recorded.append(_computed(last, residual, first))
        return HookedTransformerRecording(
            model,
            tokens,
            first,
            {layer: z for layer, (_, z) in enumerate(recorded)},
            [layer for layer, _ in recorded],
        )


def _run(
    model: HookedModel, tokens: Tensor, blocks: list[HookedBlock], first: int
) -> tuple[dict[str, Tensor], Float[Tensor, "prompt pos d_model"]]:
    """One run of the model itself up to the last block: what some hooks saw, and the residual stream after it."""
    seen: dict[str, Tensor] = {}
    hooks: list[tuple[str, Callable[..., Tensor]]] = []

    def keep(name: str, positions: slice) -> None:
        def hook_function(value: Tensor, hook: Any) -> Tensor:
            seen[name] = kept(value, positions, 1)
            return value

        hooks.append((name, hook_function))

    for layer, block in enumerate(blocks):
        shared = slice(block.rule.first_visible(first), first)
        keep(f"blocks.{layer}.hook_resid_pre", slice(first, None))
        keep(hook_z(layer), slice(first, None))
        keep(f"blocks.{layer}.attn.{block.keys_hook}", shared)
        keep(f"blocks.{layer}.attn.hook_v", shared)
        if block.parallel:
            keep(f"blocks.{layer}.hook_mlp_out", slice(first, None))
    residual = model.model.run_with_hooks(
        tokens, fwd_hooks=hooks, stop_at_layer=len(blocks), **model.forward_options(tokens)
    )
    return seen, residual


def _recorded(
    block: HookedBlock, layer: int, seen: dict[str, Tensor], length: int, first: int
) -> tuple[RecordedLayer, Tensor]:
    """A layer and its z, from what the hooks saw; they are taken out of `seen`."""
    keys = block.keys_at_hook(seen.pop(f"blocks.{layer}.attn.{block.keys_hook}"))
    values = block.values_at_hook(seen.pop(f"blocks.{layer}.attn.hook_v"))
    residual = seen.pop(f"blocks.{layer}.hook_resid_pre")
    if block.parallel:
        residual = residual + seen.pop(f"blocks.{layer}.hook_mlp_out")
    recorded = RecordedLayer(block, block.positions(length, first), _prefix(keys, values), residual)
    return recorded, seen.pop(hook_z(layer)).contiguous()


def _computed(
    block: HookedBlock, residual: Float[Tensor, "prompt pos d_model"], first: int
) -> tuple[RecordedLayer, Tensor]:
    """The last layer and its z: keys and values at every position, all else from `first` on."""
    rows, length = residual.to(block.device).unsqueeze(1), residual.shape[1]
    normed, positions = block.pre_attention(rows), block.positions(length, first)
    keys, values = block.keys(normed, block.positions(length, 0)), block.values(normed)
    queries = block.queries(normed[:, :, first:], positions)
    z, shared = torch.empty_like(queries), slice(block.rule.first_visible(first), first)
    nothing = _prefix(keys[:, 0, :0], values[:, 0, :0])
    shared_attention(queries, keys, values, prefix=nothing, rule=block.rule, out=z)
    own = rows[:, :, first:].clone()
    if block.parallel:
        block.add_mlp(own)
    return RecordedLayer(block, positions, _prefix(keys[:, 0, shared], values[:, 0, shared]), own[:, 0]), z[:, 0]


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
