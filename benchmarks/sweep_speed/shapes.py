"""Model shapes with random weights, as either class of TransformerLens, and batches of random prompts for them."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from headcats.models.adapter import HookedModel, adapt
from headcats.models.hooked import build_hooked_transformer
from headcats.prompts.batch import PromptBatch

Backend = Literal["bridge", "hooked"]


@dataclass(frozen=True)
class Shape:
    """Sizes of a model and of its usual batch.

    Attributes:
        layout: "gpt2" (learned positions, plain MLP) or "llama" (rotary, gated MLP, grouped-query attention).
        n_layers: Blocks.
        n_heads: Query heads of a block.
        n_kv_heads: Key-value heads of a block.
        d_model: Width of the residual stream.
        d_head: Width of a head.
        d_mlp: Hidden units of an MLP.
        d_vocab: Token ids.
        prompts: Prompts of a batch.
        length: Tokens of a prompt, unless the work says otherwise.
    """

    layout: Literal["gpt2", "llama"]
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    d_vocab: int
    prompts: int = 16
    length: int = 48

    @property
    def heads(self) -> list[tuple[int, int]]:
        """(layer, head) of every head, layer by layer."""
        return [(layer, head) for layer in range(self.n_layers) for head in range(self.n_heads)]


SHAPES = {
    "gpt2-small": Shape("gpt2", 12, 12, 12, 768, 64, 3072, 50257),
    "24x16": Shape("gpt2", 24, 16, 16, 1024, 64, 4096, 50257),
    "llama-gqa": Shape("llama", 8, 16, 4, 1024, 64, 2816, 32000),
    "1b-gqa": Shape("llama", 16, 32, 8, 2048, 64, 8192, 32000, prompts=2, length=24),
    "32x32-gqa": Shape("llama", 32, 32, 8, 128, 8, 256, 1000, prompts=64, length=24),
    "tiny": Shape("gpt2", 3, 4, 4, 32, 8, 128, 60, prompts=4, length=12),
    "tiny-gqa": Shape("llama", 3, 4, 2, 32, 16, 64, 60, prompts=4, length=12),
}
TINY = {"gpt2": "tiny", "llama": "tiny-gqa"}
"""For tests and rehearsals: nothing about speed can be learned from them."""
N_CTX = 512


def random_model(shape: Shape, *, seed: int = 0) -> Any:
    """A transformers model with random weights, in fp32 and eval mode.

    Matrices have a standard deviation of d_model^-0.5, so that attention is neither uniform nor on one token and every
    head moves the logits; biases and norms are random too, because zeros and ones hide errors.
    """
    ids = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    if shape.layout == "gpt2":
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
                max_position_embeddings=N_CTX, vocab_size=shape.d_vocab, tie_word_embeddings=False, **ids,
            )
        )  # fmt: skip
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if weight.ndim == 2:
                weight.normal_(0, shape.d_model**-0.5, generator=draws)
            else:
                weight.normal_(1.0 if name.endswith("weight") else 0.0, 0.1, generator=draws)
    # Set by save_pretrained; the bridge needs it to know the architecture of a model that was never saved.
    model.config.architectures = [type(model).__name__]
    # As TransformerBridge 4.x sets it; the bridge of 3.x does not switch by itself.
    model.config._attn_implementation = "eager"
    return model.eval()


def random_hooked_model(
    shape: Shape, backend: Backend, *, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> HookedModel:
    """The random model as a TransformerBridge or a HookedTransformer (transformer-lens 3.x), as a user has it."""
    model = random_model(shape).to(device, dtype)
    if backend == "hooked":
        return adapt(build_hooked_transformer(model, _tokenizer(), name=shape.layout, device=torch.device(device)))
    from transformer_lens.model_bridge import TransformerBridge

    bridge = TransformerBridge.boot_transformers(
        shape.layout, hf_model=model, tokenizer=_tokenizer(), device=device, dtype=dtype
    )
    return adapt(bridge.eval())


def random_batch(shape: Shape, *, length: int, shared: float, answer: int = 1, seed: int = 0) -> PromptBatch:
    """Random prompts; the first `shared` of their tokens, and the last one, are the same in clean and corrupted.

    Answers and distractors are random too, of `answer` tokens each.
    """
    draws = torch.Generator().manual_seed(seed)
    clean, corrupted = (torch.randint(1, shape.d_vocab, (shape.prompts, length), generator=draws) for _ in range(2))
    same = round(shared * length)
    corrupted[:, :same] = clean[:, :same]
    corrupted[:, -1] = clean[:, -1]
    # Otherwise a prompt may by chance share one token more than it was asked to.
    corrupted[:, same] = 1 + clean[:, same] % (shape.d_vocab - 1)
    answers = torch.randint(1, shape.d_vocab, (shape.prompts, answer), generator=draws)
    distractors = 1 + (answers + shape.d_vocab // 2) % (shape.d_vocab - 1)
    return PromptBatch.from_tokens(clean, corrupted, answers, distractors)


def _tokenizer() -> PreTrainedTokenizerFast:
    """TransformerLens takes no model without a tokenizer; this one is never asked anything."""
    backend = Tokenizer(models.WordLevel({"<bos>": 0, "<unk>": 1}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<bos>", unk_token="<unk>")
    # With these two entries, or the bridge would load the tokenizer once more from its name.
    tokenizer.init_kwargs |= {"name_or_path": "random", "add_bos_token": True}
    return tokenizer
