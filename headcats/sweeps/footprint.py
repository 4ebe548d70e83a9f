"""How many bytes a sweep needs, from the model's geometry alone.

Estimates, compared with measured peaks on GPT-2 and Llama shapes, both model classes, fp32 and bf16: from the peak to
2.3 times it, 3.2 times in tiny models. Weights are not counted. What does not fit all the same is halved
(`headcats.sweeps.running_out.halving`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headcats.metrics import metric_traits
from headcats.metrics.measuring import LOGITS_AT_A_TIME
from headcats.models import HookedModel

# Buffers of one number per unit that are held at once, counted at the peak. In a block of the model's own: scores and
# pattern with the copies that hooks make of them (transformers takes the softmax in fp32 whatever the dtype); streams
# as wide as the model (residual, norms, queries, keys, values, z); hidden units (GELU by its formula makes five).
_SCORES_HOOKED, _SCORES_BRIDGE = 4.25, 2.1
_BYTES_OF_A_SCORE_16_BIT = 10.5
_STREAMS, _STREAMS_IN_MLP = 13, 6
_HIDDEN, _HIDDEN_GATED = 5.0, 3.2
_PATTERNS_IN_MLP = 1.1
_EDITED = 2
# In the blocks that are computed from a HookedTransformer's weights, a few positions at a time.
_OWN_STREAMS, _OWN_HEADS = 4, 3
_OWN_MLP_POSITIONS, _OWN_HIDDEN = 2048, {False: 2, True: 3}  # without and with a gate
_OWN_SCORES = {True: 2**20, False: 2**27}  # on a CPU, elsewhere
_MEASURED = 7  # fp32 numbers of every logit while `kl` is computed, a part of the rows at a time
_ALIGNMENT = 1.05  # allocators round up, masks and indices are small


@dataclass(frozen=True)
class Geometry:
    """Sizes of a model that decide about memory; the largest over its layers.

    Attributes:
        layers: Blocks with attention heads.
        d_model: Width of the residual stream.
        heads: Query heads of a layer.
        d_z: All heads' outputs of a layer together.
        d_kv: All keys of a layer together (and all values).
        d_mlp: Hidden units of the MLP that one token uses.
        gated: Whether the MLP has a gate.
        d_vocab: Token ids.
        number: Bytes of a number in the model's dtype.
        hooked: Whether the model is a HookedTransformer.
        all_logits: Whether a forward gives the logits of every position.
        caches: Whether a forward keeps the keys and values of every layer until it is done.
        fused: Whether attention without earlier positions holds no scores.
        patterns: Layers that keep the attention pattern of their last call, whoever made it.
    """

    layers: int
    d_model: int
    heads: int
    d_z: int
    d_kv: int
    d_mlp: int
    gated: bool
    d_vocab: int
    number: int
    hooked: bool
    all_logits: bool
    caches: bool
    fused: bool
    patterns: int


def geometry(model: HookedModel) -> Geometry:
    """Sizes of a model, from captured head outputs and its config; what the config lacks is guessed, not too low."""
    cfg = model.model.cfg
    d_z = max(heads * model.d_head[layer] for layer, heads in model.n_heads.items())
    d_head = max(model.d_head.values())
    # None where it equals the number of query heads.
    kv_heads = getattr(cfg, "n_key_value_heads", None) or model.max_heads
    hooked = model.model_class == "HookedTransformer"
    options = model.forward_options(torch.zeros(1, 1, dtype=torch.long))
    return Geometry(
        layers=len(model.layers),
        d_model=model.d_model,
        heads=model.max_heads,
        d_z=d_z,
        d_kv=min(kv_heads, model.max_heads) * d_head,
        d_mlp=(getattr(cfg, "d_mlp", None) or 4 * model.d_model) * (getattr(cfg, "experts_per_token", None) or 1),
        gated=bool(getattr(cfg, "gated_mlp", False)),
        d_vocab=model.d_vocab,
        number=torch.empty((), dtype=model.dtype).element_size(),
        hooked=hooked,
        all_logits=not options.get("logits_to_keep"),
        caches=not hooked and options.get("use_cache", True),
        fused=not (getattr(cfg, "attn_scores_soft_cap", 0) or 0) > 0 and not getattr(cfg, "use_attention_sinks", False),
        # Some attention modules of a bridge do; asking for head counts above has called every one of them.
        patterns=sum(getattr(model.model.blocks[layer].attn, "_pattern", None) is not None for layer in model.layers),
    )


def weights_bytes(model: HookedModel) -> int:
    """Bytes of all parameters and buffers; tied weights count once."""
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in (*model.model.parameters(), *model.model.buffers())
    }
    return sum(storages.values())


def z_bytes(model: HookedModel, prompts: int, width: int) -> int:
    """Head outputs of all layers at the last `width` positions, and the last logits, of one run."""
    g = geometry(model)
    return int(_ALIGNMENT * prompts * (g.layers * width * g.d_z * g.number + 4 * g.d_vocab))


def recording_bytes(model: HookedModel, prompts: int, length: int, first: int) -> int:
    """What a `Recording` keeps: keys and values before `first`; residual stream and z from there on; logits."""
    g, width = geometry(model), length - first
    kept = 2 * first * g.d_kv + width * g.d_model
    return z_bytes(model, prompts, width) + int(_ALIGNMENT * prompts * g.layers * kept * g.number)


def forward_bytes(model: HookedModel, rows: int, length: int) -> int:
    """Peak of an ordinary hooked forward and of what metrics make of its logits.

    A HookedTransformer gives the logits of every position, and reorders its weights as it goes; a bridge gives only the
    last where its architecture can.
    """
    g = geometry(model)
    logits = rows * (length if g.all_logits else 1) * g.d_vocab * g.number + readout_bytes(model, rows)
    block = rows * (_block_bytes(g, length, length) + _EDITED * length * g.d_z * g.number)
    weights = max(g.d_vocab, 3 * g.d_z) * g.d_model * g.number if g.hooked else 0
    return weights + int(_ALIGNMENT * max(block, logits))


def left_by_forward(model: HookedModel, rows: int, length: int) -> int:
    """What piles up over the layers during a forward: keys and values in a cache, patterns in the modules."""
    g = geometry(model)
    cache = g.caches * g.layers * 2 * length * g.d_kv
    return rows * (cache + _patterns(g, length, length)) * g.number


def record_bytes(model: HookedModel, prompts: int, length: int, first: int) -> int:
    """Peak of the run that makes a `Recording` for positions `first` and later.

    A bridge does it in one forward pass, whose cache holds keys and values of all positions until it is done. Blocks
    of a HookedTransformer are computed one by one, and what is not needed later is given back.
    """
    g = geometry(model)
    if g.hooked:
        return recording_bytes(model, prompts, length, first) + replay_bytes(model, prompts, 1, length=length, first=0)
    width = length - first
    held = width * (g.d_model + g.d_z) + (0 if g.caches else 2 * length * g.d_kv)
    forward = forward_bytes(model, prompts, length) + left_by_forward(model, prompts, length)
    return forward + prompts * g.layers * held * g.number


def replay_bytes(model: HookedModel, prompts: int, rows: int, *, length: int, first: int) -> int:
    """Peak of one block run again on `rows` variants of each prompt, at positions `first` and later.

    Rows of the last position share the keys and values before it; in the blocks of a bridge all rows of a prompt are
    columns of each other's scores. Longer rows of a bridge get their own copy of the earlier keys and values.
    """
    g, width = geometry(model), length - first
    every = prompts * rows
    if g.hooked:
        streams = _OWN_STREAMS * g.d_model + _OWN_HEADS * g.d_z + 2 * g.d_kv
        hidden = min(every * width, _OWN_MLP_POSITIONS) * _OWN_HIDDEN[g.gated] * (g.d_mlp + g.d_model)
        scores = 2 * min(every * width * g.heads * length, _OWN_SCORES[model.device.type == "cpu"])
        scores = 0 if g.fused and first == 0 else scores
        return int(_ALIGNMENT * (every * width * streams + max(hidden, scores)) * g.number)
    if width == 1:
        return int(_ALIGNMENT * every * _block_bytes(g, 1, length + rows))
    return int(_ALIGNMENT * every * (_block_bytes(g, width, length) + 2 * length * (g.d_kv + g.d_z) * g.number))


def left_by_replay(model: HookedModel, prompts: int, rows: int, *, length: int, first: int) -> int:
    """What piles up over the layers while `replay_bytes` are used in one of them: patterns in the modules."""
    g, width = geometry(model), length - first
    return prompts * rows * _patterns(g, width, length + rows if width == 1 else length) * g.number


def readout_bytes(model: HookedModel, rows: int, metrics: Sequence[str] = ()) -> int:
    """Logits of some rows in fp32, with the temporaries of the metric that needs most; of any metric if none is named.

    Metrics that look at answer and distractor alone need next to nothing.
    """
    if metrics and all(metric_traits(name).reads == "pair" for name in metrics):
        return 0
    g, logits = geometry(model), rows * model.d_vocab
    held = 4 + (g.number if g.number < 4 else 0)
    return held * logits + 4 * _MEASURED * min(logits, max(LOGITS_AT_A_TIME, model.d_vocab))


def _block_bytes(g: Geometry, width: int, length: int) -> float:
    """Peak of one row inside a block of the model: at its attention or at its MLP, whichever is more."""
    score = (_SCORES_HOOKED if g.hooked else _SCORES_BRIDGE) * g.number
    if g.number == 2:
        score = max(score, _BYTES_OF_A_SCORE_16_BIT)
    attention = _STREAMS * max(g.d_model, g.d_z) * g.number + score * g.heads * length
    hidden = (_HIDDEN_GATED if g.gated else _HIDDEN) * g.d_mlp + _STREAMS_IN_MLP * g.d_model
    mlp = (hidden + _PATTERNS_IN_MLP * g.heads * length) * g.number
    return width * max(attention, mlp)


def _patterns(g: Geometry, width: int, length: int) -> int:
    """Numbers in the patterns of one row that modules keep after they were called."""
    return g.patterns * width * g.heads * length
