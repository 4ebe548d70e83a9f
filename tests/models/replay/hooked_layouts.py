"""Tiny random HookedTransformers of every layout that the class knows, configured by hand (transformer-lens 3.x).

Every weight, bias and norm is random: zeros and ones hide errors. Windows are shorter than the prompts of any test.
"""

import functools
import warnings
from typing import Any

import torch
from toys import D_VOCAB, N_CTX

from headcats.models.adapter import HookedModel

WINDOW = 4
N_HEADS = 4
N_LAYERS = 3

_LEARNED = {"act_fn": "gelu_new", "normalization_type": "LN"}
_ROTARY = {
    "positional_embedding_type": "rotary",
    "rotary_adjacent_pairs": False,
    "act_fn": "silu",
    "gated_mlp": True,
    "normalization_type": "RMS",
    "final_rms": True,
}
# d_head is not d_model / n_heads.
_GROUPED = {**_ROTARY, "n_key_value_heads": 2, "d_head": 16}
_ALTERNATING = {"use_local_attn": True, "window_size": WINDOW, "attn_types": ["local", "global", "local"]}
_SANDWICH = {**_GROUPED, **_ALTERNATING, "act_fn": "gelu_pytorch_tanh", "use_normalization_before_and_after": True}
_EXPERTS = {"num_experts": 4, "experts_per_token": 2}

_RECIPES: dict[str, dict[str, Any]] = {
    "gpt2": _LEARNED,
    "no_positions": _LEARNED,
    "attn_only": {**_LEARNED, "attn_only": True, "act_fn": "relu"},
    "folded_norms": {**_LEARNED, "normalization_type": "LNPre", "act_fn": "gelu"},
    "folded_rms": {**_ROTARY, "normalization_type": "RMSPre"},
    "no_norms": {**_LEARNED, "normalization_type": None, "act_fn": "relu"},
    "solu": {**_LEARNED, "act_fn": "solu_ln"},
    "scaled_by_layer": {**_LEARNED, "scale_attn_by_inverse_layer_idx": True, "act_fn": "gelu_fast"},
    "gpt_neo": {**_LEARNED, **_ALTERNATING, "use_attn_scale": False},
    "neox": {
        **_LEARNED,
        "positional_embedding_type": "rotary",
        "rotary_adjacent_pairs": False,
        "rotary_dim": 4,
        "parallel_attn_mlp": True,
        "act_fn": "gelu",
    },
    "gptj": {
        **_LEARNED,
        "positional_embedding_type": "rotary",
        "rotary_adjacent_pairs": True,
        "rotary_dim": 4,
        "parallel_attn_mlp": True,
    },
    "llama": _GROUPED,
    "llama3": {**_GROUPED, "use_NTK_by_parts_rope": True, "NTK_original_ctx_len": 6},
    "ungrouped": {**_GROUPED, "ungroup_grouped_query_attention": True},
    "split_inputs": {**_GROUPED, "use_split_qkv_input": True, "use_hook_mlp_in": True, "use_attn_result": True},
    "mistral": {**_GROUPED, **_ALTERNATING, "attn_types": ["local"] * N_LAYERS},
    "one_key_head": {**_ROTARY, "n_key_value_heads": 1, "attn_scale": 3.0},
    "qwen": {**_ROTARY, "use_logn_attn": True, "use_dynamic_ntk_rope": True, "train_seq_length": 4},
    "qk_norm": {**_GROUPED, "use_qk_norm": True},
    "qk_norm_no_rotation": {**_LEARNED, "use_qk_norm": True, "clip_qkv": 0.8},
    "gemma2": {**_SANDWICH, "attn_scale": 3.0, "attn_scores_soft_cap": 5.0, "output_logits_soft_cap": 3.0},
    "gemma3": {
        **_SANDWICH,
        "use_qk_norm": True,
        "rotary_base": 1_000_000,
        "rotary_base_local": 100,
        "rotary_scaling_factor": 8.0,
    },
    "olmo": {**_ROTARY, "clip_qkv": 0.8},
    "olmo2": {**_ROTARY, "original_architecture": "Olmo2ForCausalLM"},
    "mixtral": {**_GROUPED, **_EXPERTS, "norm_topk_prob": True},
    "gpt_oss": {
        **_GROUPED,
        **_EXPERTS,
        **_ALTERNATING,
        "original_architecture": "GptOssForCausalLM",
        "use_attention_sinks": True,
        "use_yarn_rope": True,
        "yarn_factor": 4.0,
        "yarn_attention_factor": 1.1,
        "yarn_original_max_position_embeddings": 8,
    },
}
HOOKED_LAYOUTS = tuple(_RECIPES)
# Without norms the residual stream grows from block to block, and its rounding with it.
_WEIGHTS = {"no_norms": 0.14}


def build_hooked(name: str, *, seed: int = 0, **more: Any) -> Any:
    """A new HookedTransformer of a layout, in fp32 and eval mode: 3 layers, 4 heads, `toys.D_VOCAB` token ids.

    Args:
        name: One of `HOOKED_LAYOUTS`.
        seed: Of the weights.
        **more: Of HookedTransformerConfig; they come before those of the layout.
    """
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    options = {"d_head": 8, "n_ctx": N_CTX, **_RECIPES[name], **more}
    config = HookedTransformerConfig(
        n_layers=N_LAYERS, d_model=32, n_heads=N_HEADS, d_mlp=48, d_vocab=D_VOCAB, device="cpu", **options
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "HookedTransformer is deprecated", DeprecationWarning)
        model = HookedTransformer(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for path, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.1 * noise if path.endswith(".w") else _WEIGHTS.get(name, 0.2) * noise)
        if name == "no_positions":
            model.pos_embed.W_pos.zero_()
    return model.eval()


@functools.cache
def hooked_layout(name: str) -> HookedModel:
    """A layout, one per process: tests share it and leave it as it was."""
    return HookedModel(build_hooked(name), name=name)
