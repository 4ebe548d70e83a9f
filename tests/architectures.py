"""Tiny random models of many architectures, as bridges, each with a plain transformers twin of the same weights.

They boot with both supported versions of transformer-lens, a tenth of a second each.

What differs between them is what a fast path can get wrong: positions (learned, rotary, partly rotary, ALiBi), windows
shorter than the prompts, grouped and single key-value heads, blocks in parallel, norms after the attention, soft caps,
sinks, experts, scaled logits, layers without attention, compressed keys and values.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import torch
import transformers
from toys import D_VOCAB, N_CTX, word_tokenizer

WINDOW = 4
"""Tokens that a sliding-window layer sees: fewer than the prompts of any test have."""

_GPT = {"n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": N_CTX}
_PLAIN = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32, "max_position_embeddings": N_CTX}
_GATED = {**_PLAIN, "intermediate_size": 48}
_GROUPED = {**_GATED, "num_key_value_heads": 2}
_WIDE = {**_GROUPED, "head_dim": 16}
_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
_UNTIED = {"tie_word_embeddings": False}
_ALTERNATING = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
_LATENT = {
    **_GATED,
    "num_key_value_heads": 4,
    "q_lora_rank": 12,
    "kv_lora_rank": 8,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 16,
}
_ROUTED = {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_LINEAR = {"layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention"]}

N_HEADS = 4
"""Query heads in every layer of every one of them."""

# Name -> stem of the transformers classes, options of the configuration.
_RECIPES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", _GPT),
    "llama": ("Llama", {**_WIDE, **_UNTIED}),
    "neox": ("GPTNeoX", {**_GATED, "rotary_pct": 0.5}),
    "gptj": ("GPTJ", {**_GPT, "rotary_dim": 4}),
    "gemma2": (
        "Gemma2",
        {
            **_WIDE,
            **_ALTERNATING,
            "query_pre_attn_scalar": 16,
            "attn_logit_softcapping": 5.0,
            "final_logit_softcapping": 3.0,
        },
    ),
    "gemma3": ("Gemma3", {**_WIDE, **_ALTERNATING, "query_pre_attn_scalar": 16}),
    "qwen3": ("Qwen3", _WIDE),
    "mixtral": ("Mixtral", {**_GROUPED, **_EXPERTS, "sliding_window": None}),
    "opt": ("OPT", {**_PLAIN, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    "phi": ("Phi", {**_GATED, "partial_rotary_factor": 0.5}),
    "gpt_oss": ("GptOss", {**_WIDE, **_EXPERTS, **_ALTERNATING}),
    "falcon": (
        "Falcon",
        {**_PLAIN, "alibi": False, "new_decoder_architecture": False, "parallel_attn": True, "multi_query": True},
    ),
    "olmo2": ("Olmo2", _GROUPED),
    "mistral": ("Mistral", {**_WIDE, "sliding_window": WINDOW}),
    "cohere": ("Cohere", {**_GROUPED, "logit_scale": 0.5, "use_qk_norm": False}),
    "granite": (
        "Granite",
        {
            **_GROUPED,
            "embedding_multiplier": 1.5,
            "attention_multiplier": 0.3,
            "residual_multiplier": 0.6,
            "logits_scaling": 1.7,
        },
    ),
    "bloom": ("Bloom", {"n_layer": 3, "n_head": 4, "hidden_size": 32}),
    "mpt": ("Mpt", {"n_layers": 3, "n_heads": 4, "d_model": 32, "max_seq_len": N_CTX}),
    "bamba": (
        "Bamba",
        {
            **_GROUPED,
            "num_hidden_layers": 4,
            "attn_layer_indices": [1, 3],
            "mamba_n_heads": 4,
            "mamba_d_head": 16,
            "mamba_d_state": 8,
            "mamba_n_groups": 1,
            "mamba_chunk_size": 4,
        },
    ),
    "qwen3_next": (
        "Qwen3Next",
        {
            **_WIDE,
            **_LINEAR,
            "num_hidden_layers": 4,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "shared_expert_intermediate_size": 16,
        },
    ),
    "deepseek_v2": ("DeepseekV2", {**_LATENT, **_ROUTED, "first_k_dense_replace": 1}),
    "deepseek_v3": ("DeepseekV3", {**_LATENT, **_ROUTED, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}),
    "glm4_moe_lite": ("Glm4MoeLite", {**_LATENT, **_ROUTED, "n_group": 1, "topk_group": 1}),
    "youtu": ("Youtu", _LATENT),
}
_BY_LAYER: dict[str, Any] = {"num_attention_heads_per_layer": [4, 2, 4], "num_experts": 4, "num_experts_per_tok": 2}
_BY_LAYER |= {"moe_intermediate_size": 16, "shared_expert_intermediate_size": 16}
_UNEVEN = {"laguna": ("Laguna", {**_WIDE, **_BY_LAYER})}
"""Of other numbers of heads in each layer; no architecture of `ARCHITECTURES`, where every layer has four."""
LATENT = ("deepseek_v2", "deepseek_v3", "glm4_moe_lite", "youtu")
"""Multi-head latent attention: the size of a head's output is neither that of its keys nor the bridge's `d_head`."""
ARCHITECTURES = tuple(_RECIPES)


def hf_architecture(name: str, *, seed: int = 0, **more: Any) -> Any:
    """A random transformers model in fp32, eval mode and with eager attention; every norm and bias is random too."""
    stem, options = {**_RECIPES, **_UNEVEN}[name]
    config_class = {"gpt2": "GPT2Config", "gemma3": "Gemma3TextConfig"}.get(name, f"{stem}Config")
    tokens = {"vocab_size": D_VOCAB, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 2}
    config = getattr(transformers, config_class)(**{**tokens, **options, **more})
    config._attn_implementation = "eager"
    model = getattr(transformers, stem if stem.endswith("Model") else f"{stem}ForCausalLM")(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for path, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            is_norm = parameter.ndim == 1 and path.endswith("weight")
            parameter.copy_(1 + 0.1 * noise if is_norm else 0.2 * noise)
    # Set by save_pretrained; the bridge needs it to know the architecture of a model that was never saved.
    model.config.architectures = [type(model).__name__]
    return model.eval()


@functools.cache
def tiny_bridge(name: str) -> Any:
    """The model as a TransformerBridge, one per process: tests share it and leave it as it was."""
    return bridge_of(hf_architecture(name))


def bridge_of(hf: Any) -> Any:
    """A transformers model as a TransformerBridge, which changes it."""
    from transformer_lens.model_bridge import TransformerBridge

    tokenizer = word_tokenizer()
    tokenizer.init_kwargs |= {"name_or_path": "toy", "add_bos_token": True}
    return TransformerBridge.boot_transformers("toy", hf_model=hf, tokenizer=tokenizer, device="cpu").eval()


def plain_logits(
    twin: Any, tokens: torch.Tensor, *, edits: Mapping[int, Callable[[torch.Tensor], torch.Tensor]] = {}
) -> torch.Tensor:
    """Last-position logits of plain transformers, with z `[prompt, pos, head, d_head]` of some layers edited.

    z is the input of a layer's output projection: no part of TransformerLens or headcats is asked where it is.
    """
    with ExitStack() as stack, torch.no_grad():
        for layer, edit in edits.items():

            def before(_: Any, args: tuple[torch.Tensor], edit: Callable = edit) -> tuple[torch.Tensor]:
                return (edit(args[0].unflatten(-1, (N_HEADS, -1)).clone()).flatten(-2),)

            stack.callback(output_projections(twin)[layer].register_forward_pre_hook(before).remove)
        return twin(tokens).logits[:, -1]


def head_edits(
    heads: Iterable[tuple[int, int]], values: Mapping[int, torch.Tensor], where: Any
) -> dict[int, Callable[[torch.Tensor], torch.Tensor]]:
    """Edits that give z of heads (layer, head) the `values` of their layers at some positions."""
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        by_layer.setdefault(layer, []).append(head)

    def edit_of(layer: int, chosen: list[int]) -> Callable[[torch.Tensor], torch.Tensor]:
        def edit(z: torch.Tensor) -> torch.Tensor:
            z = z.clone()
            for head in chosen:
                z[:, where, head] = values[layer][:, where, head]
            return z

        return edit

    return {layer: edit_of(layer, chosen) for layer, chosen in by_layer.items()}


def plain_z(twin: Any, tokens: torch.Tensor) -> dict[int, torch.Tensor]:
    """z `[prompt, pos, head, d_head]` of every layer with heads."""
    seen: dict[int, torch.Tensor] = {}
    keep = {layer: functools.partial(_keep, seen, layer) for layer in output_projections(twin)}
    plain_logits(twin, tokens, edits=keep)
    return seen


def _keep(seen: dict[int, torch.Tensor], layer: int, z: torch.Tensor) -> torch.Tensor:
    seen[layer] = z
    return z


def output_projections(twin: Any) -> dict[int, torch.nn.Module]:
    """Layer -> the module of plain transformers whose input is z of all heads side by side."""
    pattern = re.compile(r".*\.(\d+)\.(attn|attention|self_attn|self_attention)\.(c_proj|o_proj|out_proj|dense)")
    found = ((pattern.fullmatch(path), module) for path, module in twin.named_modules())
    return {int(match[1]): module for match, module in found if match}
