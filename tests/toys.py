"""Tiny random models, their untouched twins and tokenizers, for the tests of the whole project.

No test needs trained weights to check arithmetic: these models take milliseconds, and a separate plain transformers
copy of the same weights is the outside oracle (booting a bridge rewires the model that it is given).
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

Layout = Literal["gpt2", "llama"]
Backend = Literal["bridge", "hooked"]
LAYOUTS: tuple[Layout, ...] = ("gpt2", "llama")
BACKENDS = ("bridge", pytest.param("hooked", marks=pytest.mark.needs_tl3("HookedTransformer")))
"""For `pytest.mark.parametrize("backend", BACKENDS)`: both classes, the second skipped where it does not exist."""

SPECIAL = ["<bos>", "<unk>", "<pad>"]
WORDS = [*SPECIAL, "→", "\n", ",", *(f"w{i}" for i in range(54))]
"""60 words: three special tokens, the marks of the prompt template, and `w0` to `w53`."""
D_VOCAB = len(WORDS)
N_CTX = 64


class Toy(NamedTuple):
    """A tiny model of TransformerLens and a plain transformers copy of the same weights."""

    model: Any
    oracle: Any
    tokenizer: PreTrainedTokenizerFast


def backends() -> list[Backend]:
    """The model classes that the installed transformer-lens has."""
    import transformer_lens

    # Never hasattr(transformer_lens, "HookedTransformer"): on 4.x that raises something else than AttributeError.
    try:
        transformer_lens.HookedTransformer  # noqa: B018
    except (AttributeError, ImportError):
        return ["bridge"]
    return ["bridge", "hooked"]


def word_tokenizer(words: list[str] | None = None) -> PreTrainedTokenizerFast:
    """One token per word; `x → y\\n` gives x, →, y, newline. Spaces at the ends of a word are dropped.

    Args:
        words: The whole vocabulary, ids in order; must hold `<bos>` and `<unk>`. `WORDS` if None.
    """
    words = WORDS if words is None else words
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("[→\n,]"), behavior="isolated"),
            pre_tokenizers.Split(Regex("^ +| +$"), behavior="removed"),
        ]
    )
    pad = {"pad_token": "<pad>"} if "<pad>" in words else {}
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<bos>", unk_token="<unk>", **pad)


def hf_model(
    layout: Layout, *, seed: int = 0, n_layers: int = 3, d_vocab: int = D_VOCAB, dropout: float = 0.0, **options: Any
) -> Any:
    """A random transformers model in fp32 and eval mode: 4 heads, in the Llama layout 2 key-value heads and a
    `d_head` (16) other than d_model / n_heads (8).

    Weights are large enough that every head moves the logits by much more than the tolerance of any test, and biases
    and norms are random too, because zeros and ones hide errors.
    """
    shared: dict[str, Any] = {"vocab_size": d_vocab, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 2}
    if layout == "gpt2":
        model: Any = GPT2LMHeadModel(
            GPT2Config(
                n_embd=32, n_layer=n_layers, n_head=4, n_positions=N_CTX, attn_pdrop=dropout,
                embd_pdrop=dropout, resid_pdrop=dropout, **shared, **options,
            )
        )  # fmt: skip
    else:
        model = LlamaForCausalLM(
            LlamaConfig(
                num_hidden_layers=n_layers, num_attention_heads=4, num_key_value_heads=2,
                max_position_embeddings=N_CTX, tie_word_embeddings=False, attention_dropout=dropout, **shared,
                **{"hidden_size": 32, "intermediate_size": 64, "head_dim": 16} | options,
            )
        )  # fmt: skip
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            is_norm = parameter.ndim == 1 and name.endswith("weight")
            parameter.copy_(1 + 0.1 * noise if is_norm else 0.2 * noise)
    # Set by save_pretrained; the bridge needs it to know the architecture of a model that was never saved.
    model.config.architectures = [type(model).__name__]
    model.config._attn_implementation = "eager"
    return model.eval()


def blank_gpt2(*, d_vocab: int, n_embd: int, n_layers: int, n_heads: int, n_ctx: int) -> Any:
    """A GPT-2 of transformers in which nothing is written: its norms are one, all other weights zero."""
    sizes = {"vocab_size": d_vocab, "n_embd": n_embd, "n_layer": n_layers, "n_head": n_heads, "n_positions": n_ctx}
    hf = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, tie_word_embeddings=False))
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            parameter.fill_(float(".ln_" in name and name.endswith("weight")))
    hf.config.architectures = ["GPT2LMHeadModel"]
    hf.config._attn_implementation = "eager"
    return hf.eval()


def tiny_model(layout: Layout, backend: Backend = "bridge", *, seed: int = 0, **options: Any) -> Toy:
    """A tiny random model as a TransformerBridge (any transformer-lens) or a HookedTransformer (3.x, else skipped).

    Args:
        layout: "gpt2" (learned positions, biases, LayerNorm) or "llama" (rotary, RMS, gated, grouped-query attention).
        backend: Which class of TransformerLens.
        seed: Same seed and options, same weights.
        **options: For `hf_model`.
    """
    oracle, tokenizer = hf_model(layout, seed=seed, **options), word_tokenizer()
    wrapped = hf_model(layout, seed=seed, **options)
    if backend == "hooked":
        if "hooked" not in backends():
            pytest.skip("needs transformer-lens 3 (HookedTransformer)")
        return Toy(as_hooked(wrapped), oracle, tokenizer)
    return Toy(as_bridge(wrapped, word_tokenizer()), oracle, tokenizer)


def random_tokens(n_prompts: int = 3, n_pos: int = 9, *, seed: int = 0, d_vocab: int = D_VOCAB) -> torch.Tensor:
    """Random prompts `[prompt, pos]` that start with BOS; the special tokens do not occur again."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(len(SPECIAL), d_vocab, (n_prompts, n_pos), generator=generator)
    tokens[:, 0] = 0
    return tokens


def put(head: int, value: float, *, position: int | slice = -1) -> Callable[[torch.Tensor], torch.Tensor]:
    """An edit of `z` that sets every number of one head's output."""

    def edit(z: torch.Tensor) -> torch.Tensor:
        z = z.clone()
        z[:, position, head] = value
        return z

    return edit


def save_folder(folder: Path, layout: Layout, *, seed: int = 0, **options: Any) -> Path:
    """A local Hugging Face folder with config, safetensors weights and tokenizer, as `load_model` takes it."""
    hf_model(layout, seed=seed, **options).save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


def as_bridge(hf: Any, tokenizer: PreTrainedTokenizerFast) -> Any:
    """A TransformerBridge of the same weights."""
    from transformer_lens.model_bridge import TransformerBridge

    # These two entries, or the bridge would load the tokenizer once more from its name.
    tokenizer.init_kwargs |= {"name_or_path": "toy", "add_bos_token": True}
    return TransformerBridge.boot_transformers("toy", hf_model=hf, tokenizer=tokenizer, device="cpu").eval()


def as_hooked(hf: Any) -> Any:
    """A HookedTransformer of the same weights, without processing, built by hand: independent of `load_model`."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformer_lens.pretrained import weight_conversions

    c = hf.config
    if hf.config.model_type == "gpt2":
        cfg = HookedTransformerConfig(
            n_layers=c.n_layer, d_model=c.n_embd, n_heads=c.n_head, d_head=c.n_embd // c.n_head, d_mlp=4 * c.n_embd,
            n_ctx=c.n_positions, d_vocab=c.vocab_size, eps=c.layer_norm_epsilon, act_fn="gelu_new",
            normalization_type="LN", model_name="toy", device="cpu",
        )  # fmt: skip
        weights = weight_conversions.convert_gpt2_weights(hf, cfg)
    else:
        cfg = HookedTransformerConfig(
            n_layers=c.num_hidden_layers, d_model=c.hidden_size, n_heads=c.num_attention_heads, d_head=c.head_dim,
            n_key_value_heads=c.num_key_value_heads, d_mlp=c.intermediate_size, n_ctx=c.max_position_embeddings,
            d_vocab=c.vocab_size, eps=c.rms_norm_eps, act_fn="silu", normalization_type="RMS", final_rms=True,
            gated_mlp=True, positional_embedding_type="rotary", rotary_adjacent_pairs=False, rotary_dim=c.head_dim,
            rotary_base=10000, model_name="toy", device="cpu",
        )  # fmt: skip
        weights = weight_conversions.convert_llama_weights(hf, cfg)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "HookedTransformer is deprecated", DeprecationWarning)
        model = HookedTransformer(cfg)
    model.load_and_process_state_dict(
        weights, fold_ln=False, center_writing_weights=False, center_unembed=False, fold_value_biases=False
    )
    return model.eval()
