"""The training forward pass: a Llama-layout transformer that is evaluated at the answers only.

`transformers` computes every position of every layer; on one CPU thread this plain rewrite over the same parameters
takes about four fifths of its time. It is used for training and for the checks during training; the shipped folder is
loaded, and its card is computed, with `LlamaForCausalLM` itself. A test compares the two.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

Parameters = Mapping[str, Tensor]

ROPE_BASE = 10000.0
NORM_EPSILON = 1e-6


def make_model(
    *, n_tokens: int, n_positions: int, n_layers: int, n_heads: int, d_model: int, d_mlp: int
) -> LlamaForCausalLM:
    """An untrained model with tied embeddings; token 0 is the boundary token. Weights follow torch's global seed."""
    config = LlamaConfig(
        vocab_size=n_tokens,
        hidden_size=d_model,
        intermediate_size=d_mlp,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        num_key_value_heads=n_heads,
        max_position_embeddings=n_positions,
        rms_norm_eps=NORM_EPSILON,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=None,
        attn_implementation="eager",
    )
    return LlamaForCausalLM(config)


def answer_logits(
    parameters: Parameters,
    tokens: Int[Tensor, "sequence pos"],
    answers: Int[Tensor, " answer"],
    *,
    n_layers: int,
    n_heads: int,
    dtype: torch.dtype,
) -> Float[Tensor, "sequence answer token"]:
    """Logits at the positions `answers` (the same in every sequence), which the last layer computes alone."""
    embedding = parameters["model.embed_tokens.weight"]
    n_pos, d_model = tokens.shape[1], embedding.shape[1]
    d_head = d_model // n_heads
    cos, sin = (table.to(dtype)[:, None, None] for table in _rotations(n_pos, d_head))
    mask = torch.full((n_pos, n_pos), float("-inf"), dtype=dtype).triu(1)

    residual = F.embedding(tokens, embedding)
    for layer in range(n_layers):
        block = {
            name.removeprefix(f"model.layers.{layer}."): weight
            for name, weight in parameters.items()
            if name.startswith(f"model.layers.{layer}.")
        }
        normed = _rms_norm(residual, block["input_layernorm.weight"], dtype)
        scaled_query = block["self_attn.q_proj.weight"] * d_head**-0.5
        joined = torch.cat([scaled_query, block["self_attn.k_proj.weight"], block["self_attn.v_proj.weight"]])
        qkv = F.linear(normed, joined.to(dtype)).unflatten(-1, (3, n_heads, d_head))
        rotated = qkv[:, :, :2] * cos + qkv[:, :, :2].roll(d_head // 2, -1) * sin
        query, key, value = (part.transpose(1, 2) for part in (rotated[:, :, 0], rotated[:, :, 1], qkv[:, :, 2]))
        visible = mask
        if layer == n_layers - 1:
            query, residual, visible = query[:, :, answers], residual[:, answers], mask[answers]
        pattern = (query @ key.transpose(-1, -2) + visible).softmax(-1)
        z = (pattern @ value).transpose(1, 2).flatten(2)
        residual = residual + F.linear(z, block["self_attn.o_proj.weight"].to(dtype))

        normed = _rms_norm(residual, block["post_attention_layernorm.weight"], dtype)
        joined = torch.cat([block["mlp.gate_proj.weight"], block["mlp.up_proj.weight"]])
        gate, up = F.linear(normed, joined.to(dtype)).chunk(2, -1)
        residual = residual + F.linear(F.silu(gate) * up, block["mlp.down_proj.weight"].to(dtype))
    normed = _rms_norm(residual, parameters["model.norm.weight"], dtype)
    return F.linear(normed, embedding.to(dtype)).float()


def _rms_norm(x: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * weight).to(dtype)


def _rotations(n_pos: int, d_head: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary embedding, `[pos, d_head]`.

    The first half of the sines is negative: with it, `x.roll(d_head // 2)` does Llama's rotation of a head's halves.
    """
    frequency = ROPE_BASE ** (-torch.arange(0, d_head, 2).float() / d_head)
    angle = (torch.arange(n_pos).float()[:, None] * frequency).repeat(1, 2)
    sign = torch.ones(d_head)
    sign[: d_head // 2] = -1
    return angle.cos(), angle.sin() * sign
