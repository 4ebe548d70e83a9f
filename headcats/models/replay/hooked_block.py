"""One block of a HookedTransformer, in parts that work on any number of rows and at any of the positions."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headcats.models.replay.recording import Unreplayable
from headcats.models.replay.shared_attention import AttentionRule

_ATTENTION = ("Attention", "GroupedQueryAttention")
_NORMS = ("LayerNorm", "LayerNormPre", "RMSNorm", "RMSNormPre")
_TANH_GELU = ("gelu_new", "gelu_fast", "gelu_pytorch_tanh")
_FULL_PRECISION = (torch.float32, torch.float64)
_POST_NORM = ("Olmo2ForCausalLM", "Olmo3ForCausalLM")

# Positions that an MLP takes at once: its hidden layer is the largest tensor of a block.
_MLP_CHUNK = 2048


class Positions(NamedTuple):
    """Rotation and mask of a block's attention at some positions."""

    cos: Float[Tensor, "pos rotary_dim"] | None
    sin: Float[Tensor, "pos rotary_dim"] | None
    query_scale: Float[Tensor, " pos"] | None

    def at(self, some: slice | Tensor) -> "Positions":
        """Only some of them."""
        return Positions(*(None if table is None else table[some] for table in self))


class HookedBlock:
    """A block; `rows` are residual streams `[prompt, row, pos, d_model]`, heads `[prompt, row, pos, head, d_head]`."""

    def __init__(self, block: Any, layer: int) -> None:
        _check_class(block, ("TransformerBlock",), layer)
        _check_class(block.attn, _ATTENTION, layer)
        self._block = block
        self._attn = attn = block.attn
        self._cfg = cfg = block.cfg
        if (getattr(attn, "_attention_dir_override", None) or cfg.attention_dir) != "causal":
            raise Unreplayable("its attention is not causal")
        self.is_parallel = bool(cfg.parallel_attn_mlp) and not cfg.attn_only
        self._post_norm = cfg.original_architecture in _POST_NORM
        cap = cfg.attn_scores_soft_cap
        self.rule = AttentionRule(
            scale=float(attn.attn_scale),
            cap=cap if cap is not None and cap > 0 else None,
            window=cfg.window_size if attn.attn_type == "local" else None,
            sinks=attn.sinks.detach() if getattr(cfg, "use_attention_sinks", False) else None,
        )

    @property
    def device(self) -> torch.device:
        """Where the block computes."""
        return self._attn.W_O.device

    def positions(self, length: int) -> Positions:
        """Positions of prompts of this length."""
        attn, cfg = self._attn, self._cfg
        cos = sin = scale = None
        if cfg.positional_embedding_type == "rotary":
            # Tables are extended, and in some models rescaled, to the length of a run.
            attn.apply_rotary(attn.W_O.new_zeros(1, length, 1, cfg.d_head))
            cos, sin = attn.rotary_cos[:length].clone(), attn.rotary_sin[:length].clone()
        if getattr(cfg, "use_logn_attn", False) and not attn.training:
            scale = attn._apply_logn_scaling(attn.W_O.new_ones(1, length, 1, 1), 0)[0, :, 0, 0].clone()
        return Positions(cos, sin, scale)

    def pre_attention(self, rows: Tensor) -> Tensor:
        """Input of queries, keys and values."""
        return rows if self._post_norm else apply_norm(self._block.ln1, rows)

    def queries(self, normed: Tensor, positions: Positions) -> Tensor:
        """Queries, rotated where the model does so."""
        q = self._normed_heads(project(normed, self._attn.W_Q, self._attn.b_Q), getattr(self._attn, "q_norm", None))
        q = self._rotated(self._clipped(q), positions)
        return q if positions.query_scale is None else q * positions.query_scale[:, None, None].to(q.device)

    def keys(self, normed: Tensor, positions: Positions) -> Tensor:
        """Keys, rotated where the model does so; one per group of query heads."""
        k = self._normed_heads(project(normed, *self._grouped("W_K", "b_K")), getattr(self._attn, "k_norm", None))
        return self._rotated(self._clipped(k), positions)

    def values(self, normed: Tensor) -> Tensor:
        """Values, one per group of query heads."""
        return self._clipped(project(normed, *self._grouped("W_V", "b_V")))

    def attention_output(self, z: Tensor) -> Tensor:
        """Output of the attention, added to the residual stream; a new tensor."""
        attn, block = self._attn, self._block
        weight = attn.W_O.flatten(0, 1).to(z.device)
        flat = z.reshape(-1, weight.shape[0]).to(weight.dtype)
        out = torch.addmm(attn.b_O.to(z.device), flat, weight).view(*z.shape[:-2], -1)
        if self._cfg.use_normalization_before_and_after:
            out = apply_norm(block.ln1_post, out)
        return apply_norm(block.ln1, out) if self._post_norm else out

    def before_attention_output(self, rows: Tensor) -> Tensor:
        """Rows that `attention_output` is added to, with the MLP's output where it is parallel to the attention."""
        if not self.is_parallel:
            return rows
        rows = rows.clone(memory_format=torch.contiguous_format)
        self._add_mlp(rows)
        return rows

    def finish(self, rows: Tensor) -> None:
        """Do in place (contiguous) what comes after the attention's output was added: the MLP, unless it is done."""
        if not self.is_parallel:
            self._add_mlp(rows)

    def _add_mlp(self, rows: Tensor) -> None:
        if self._cfg.attn_only:
            return
        block = self._block
        for part in rows.view(-1, rows.shape[-1]).split(_MLP_CHUNK):
            out = apply_mlp(block.mlp, part if self._post_norm else apply_norm(block.ln2, part))
            if self._cfg.use_normalization_before_and_after:
                out = apply_norm(block.ln2_post, out)
            part += (apply_norm(block.ln2, out) if self._post_norm else out).to(part.device)

    def _grouped(self, weight: str, bias: str) -> tuple[Tensor, Tensor]:
        # Grouped-query attention holds one head per group under these names, and copies of it under the plain ones.
        prefix = "_" if hasattr(self._attn, f"_{weight}") else ""
        return getattr(self._attn, prefix + weight), getattr(self._attn, prefix + bias)

    def _normed_heads(self, heads: Tensor, norm: Any) -> Tensor:
        if norm is None:
            return heads
        if self._cfg.use_qk_norm:
            return apply_norm(norm, heads.reshape(-1, heads.shape[-1])).view(heads.shape)
        return apply_norm(norm, heads.flatten(-2)).view(heads.shape)

    def _clipped(self, heads: Tensor) -> Tensor:
        limit = getattr(self._cfg, "clip_qkv", None)
        return heads if limit is None else heads.clamp(-limit, limit)

    def _rotated(self, heads: Tensor, positions: Positions) -> Tensor:
        """Rotates `heads` in place."""
        if positions.cos is None or positions.sin is None:
            return heads
        cos, sin = (table.to(heads.device).unsqueeze(1) for table in (positions.cos, positions.sin))
        part = heads[..., : cos.shape[-1]]
        if self._cfg.rotary_adjacent_pairs:
            turned = torch.stack([-part[..., 1::2], part[..., ::2]], -1).flatten(-2)
        else:
            low, high = part.chunk(2, -1)
            turned = torch.cat([-high, low], -1)
        part.mul_(cos).add_(turned.mul_(sin))
        return heads


def _check_class(module: Any, known: tuple[str, ...], layer: int) -> None:
    if not is_from_transformer_lens(module, *known):
        raise Unreplayable(f"block {layer} holds a {type(module).__qualname__} in place of a {known[0]}")


def is_from_transformer_lens(module: Any, *names: str) -> bool:
    """True for a class of TransformerLens of these names, which 4 may lack, and no subclass."""
    return type(module).__name__ in names and type(module).__module__.split(".")[0] == "transformer_lens"


def apply_norm(norm: Any, x: Tensor) -> Tensor:
    """`norm(x)` over the last axis, fused where it is one of TransformerLens' four norms."""
    if not is_from_transformer_lens(norm, *_NORMS):
        return norm(x.reshape(1, -1, x.shape[-1])).view(x.shape)
    is_rms = type(norm).__name__.startswith("RMS")
    weight, bias = getattr(norm, "w", None), getattr(norm, "b", None)
    if x.dtype in _FULL_PRECISION:
        if is_rms:
            return F.rms_norm(x, x.shape[-1:], weight, norm.eps)
        return F.layer_norm(x, x.shape[-1:], weight, bias, norm.eps)
    # As TransformerLens rounds: only the division is done in fp32.
    plain = F.rms_norm if is_rms else F.layer_norm
    y = plain(x.float(), x.shape[-1:], eps=norm.eps).to(x.dtype)
    y = y if weight is None else y.mul_(weight)
    return y if bias is None else y.add_(bias)


def apply_mlp(mlp: Any, x: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_model"]:
    """`mlp(x)`, fused where it is TransformerLens' plain or gated one."""
    if not is_from_transformer_lens(mlp, "MLP", "GatedMLP") or mlp.cfg.act_fn.endswith("_ln"):
        return mlp(x.unsqueeze(0))[0]
    x = x.to(mlp.W_in.device)
    if type(mlp).__name__ == "MLP":
        hidden = _activated(mlp, torch.addmm(mlp.b_in, x, mlp.W_in))
    else:
        hidden = _activated(mlp, x @ mlp.W_gate).mul_(x @ mlp.W_in).add_(mlp.b_in)
    return torch.addmm(mlp.b_out, hidden, mlp.W_out)


def _activated(mlp: Any, hidden: Tensor) -> Tensor:
    if mlp.cfg.act_fn in _TANH_GELU:
        return F.gelu(hidden, approximate="tanh")
    return mlp.act_fn(hidden)


def project(
    normed: Float[Tensor, "prompt row pos d_model"],
    weight: Float[Tensor, "head d_model d_head"],
    bias: Float[Tensor, "head d_head"],
) -> Float[Tensor, "prompt row pos head d_head"]:
    """Queries, keys or values of every head."""
    heads, d_model, d_head = weight.shape
    # Copied on every call, as TransformerLens does: that costs next to nothing beside the product, and weights that
    # were kept could be out of date.
    together = weight.to(normed.device).transpose(0, 1).reshape(d_model, heads * d_head)
    out = torch.addmm(bias.to(normed.device).flatten(), normed.reshape(-1, d_model), together)
    return out.view(*normed.shape[:-1], heads, d_head)
