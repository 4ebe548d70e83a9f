"""Models of any shape with random weights: for measurements in which nothing depends on what a model has learned."""

from typing import Any, Literal

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from headcats.models.adapter import HookedModel, adapt
from headcats.models.conversion import build_hooked_transformer
from headcats.scale.shape import ModelShape

Backend = Literal["bridge", "hooked"]
N_CTX = 512


def random_model(shape: ModelShape, *, seed: int = 0) -> Any:
    """A transformers model with random weights, in fp32 and eval mode: Llama if the MLP is gated, else GPT-2.

    Matrices have a standard deviation of d_model^-0.5, so that attention is neither uniform nor on one token and every
    head moves the logits; biases and norms are random too, because zeros and ones hide errors.
    """
    ids = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "tie_word_embeddings": shape.tied}
    if is_gpt2(shape):
        model: Any = GPT2LMHeadModel(
            GPT2Config(
                n_embd=shape.d_model, n_layer=shape.n_layers, n_head=shape.n_heads, n_inner=shape.d_mlp,
                n_positions=N_CTX, vocab_size=shape.d_vocab, **ids,
            )
        )  # fmt: skip
    else:
        model = LlamaForCausalLM(
            LlamaConfig(
                hidden_size=shape.d_model, num_hidden_layers=shape.n_layers, num_attention_heads=shape.n_heads,
                num_key_value_heads=shape.n_kv_heads, head_dim=shape.d_head, intermediate_size=shape.d_mlp,
                max_position_embeddings=N_CTX, vocab_size=shape.d_vocab, **ids,
            )
        )  # fmt: skip
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if weight.ndim == 2:
                weight.normal_(0, shape.d_model**-0.5, generator=draws)
            else:
                weight.normal_(1.0 if name.endswith("weight") else 0.0, 0.1, generator=draws)
    # As TransformerBridge 4.x sets it; the bridge of 3.x does not switch by itself.
    model.config._attn_implementation = "eager"
    return model.eval()


def is_gpt2(shape: ModelShape) -> bool:
    """True if the random model of a shape is laid out as GPT-2 is: learned positions and an MLP that is not gated."""
    return shape.mlp_matrices == 2


def random_hooked_model(
    shape: ModelShape, backend: Backend, *, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> HookedModel:
    """The random model as a TransformerBridge or a HookedTransformer (transformer-lens 3.x), as a user has it."""
    from headcats.papers.planted.word_model import word_model, word_tokenizer  # the core has no papers

    model, layout = random_model(shape).to(device, dtype), "gpt2" if is_gpt2(shape) else "llama"
    words = ("<bos>", "<unk>")  # nobody asks for one, but TransformerLens takes no model without a tokenizer
    if backend == "hooked":
        tokenizer = word_tokenizer(words, name=layout)
        return adapt(build_hooked_transformer(model, tokenizer, name=layout, device=torch.device(device)))
    return word_model(model, words, name=layout)
