"""A transformers model as one of TransformerLens' classes, without weight processing, with the numbers that it had.

TransformerLens' conversions can be wrong without an error: the bridge of 3.9 misses the logits of Cohere by 0.07. One
short forward pass before and after finds out. Refusals say whose limit it is.
"""

import importlib.metadata
import tempfile
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import ModelError, first_line
from headcats.models.source import TEXT_ONLY
from headcats.models.transformers_model import is_placed

# Largest difference in log-probability that counts as the same model; for 16-bit weights it is their rounding.
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_TOLERANCE_16_BIT = 0.5
_LENGTH = 16
# A prime, so that the probe is spread over the vocabulary in no order that a model could be indifferent to.
_STRIDE = 7919


def build_bridge(hf_model: Any, tokenizer: Any, *, name: str, device: torch.device) -> Any:
    """TransformerBridge of a model in its dtype and in eval mode, on `device` unless its loader has placed it."""
    from transformer_lens.model_bridge import TransformerBridge

    _check_bridged(hf_model, name=name)
    where = None if is_placed(hf_model) else str(device)
    try:
        model = TransformerBridge.boot_transformers(
            name, hf_model=hf_model, tokenizer=tokenizer, device=where, dtype=hf_model.dtype
        )
    except Exception as error:
        raise _cannot_bridge(hf_model, error) from error
    return model.eval()


def build_hooked_transformer(hf_model: Any, tokenizer: Any, *, name: str, device: torch.device) -> Any:
    """HookedTransformer (transformer-lens 3.x) of a model, by TransformerLens' own converters, as `build_bridge`."""
    if _is_bridge_only():
        raise ModelError(
            f"backend='hooked' needs transformer-lens 3.x, and {_version()} is installed: HookedTransformer was "
            f"removed in 4.0. backend='bridge' gives the same numbers through the same hook names."
        )
    try:
        return _convert(hf_model, tokenizer, name=name, device=device)
    except Exception as error:
        raise ModelError(
            f"transformer-lens {_version()} cannot turn {type(hf_model).__name__} into a HookedTransformer. This is "
            f"its limit, not one of headcats: {_other_ways(hf_model.config, built='HookedTransformer')}."
        ) from error


class Reference(NamedTuple):
    """Log-probabilities of the transformers model on a short probe, taken before a bridge rewires it."""

    architecture: str
    config: Any
    tokens: Int[Tensor, "1 pos"]
    log_probs: Float[Tensor, "1 pos d_vocab"]


@torch.no_grad()
def take_reference(hf_model: Any) -> Reference:
    """Run `hf_model` on the probe."""
    config = hf_model.config.get_text_config()
    length = min(_LENGTH, getattr(config, "max_position_embeddings", None) or _LENGTH)
    tokens = (torch.arange(length) * _STRIDE % config.vocab_size)[None].to(hf_model.device)
    return Reference(type(hf_model).__name__, hf_model.config, tokens, _log_probs(hf_model(tokens).logits))


@torch.no_grad()
def check_reproduces(model: Any, reference: Reference) -> None:
    """Refuse a model whose log-probabilities differ from the reference by more than rounding (ModelError)."""
    mask = torch.ones_like(reference.tokens)  # HookedTransformer would take the pad id, if it occurs, for padding
    actual = _log_probs(model(reference.tokens, attention_mask=mask, return_type="logits"))
    difference = float((actual - reference.log_probs).abs().max())
    dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
    if not difference <= _TOLERANCE.get(dtype, _TOLERANCE_16_BIT):
        built = type(model).__name__
        raise ModelError(
            f"The {built} that transformer-lens {_version()} makes of {reference.architecture} differs from the "
            f"original by {difference:.2g} in log-probability, so its numbers would be wrong. The fault is in this "
            f"conversion, not in headcats or the model: {_other_ways(reference.config, built=built)}."
        )


def _check_bridged(hf_model: Any, *, name: str) -> None:
    """Refuse a model that TransformerLens has no bridge for, or whose bridge would pip install packages (images)."""
    from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
    from transformer_lens.model_bridge.sources import build_bridge_config_from_hf

    architecture = _bridged_as(hf_model.config)
    if architecture is None:
        raise ModelError(
            f"transformer-lens {_version()} has no TransformerBridge for {type(hf_model).__name__}. This is its limit, "
            f"not one of headcats: try a later version, or use another model."
        )
    try:
        config = build_bridge_config_from_hf(hf_model.config, architecture, name, hf_model.dtype)
        adapter = ArchitectureAdapterFactory.select_architecture_adapter(config)
        reads_images = getattr(adapter.cfg, "is_multimodal", False)
    except ImportError as error:
        raise ModelError(
            f"The TransformerBridge of {architecture} needs a package that is not installed "
            f"({first_line(error)}). Install it, or use another model."
        ) from error
    except Exception as error:
        raise _cannot_bridge(hf_model, error) from error
    if reads_images:
        raise ModelError(f"TransformerLens takes model {name!r} for one with images ({architecture}). {TEXT_ONLY}")


def _cannot_bridge(hf_model: Any, error: Exception) -> ModelError:
    """ModelError for a model whose architecture has a bridge, which fails on its configuration."""
    # What TransformerLens refuses in words of its own; other errors are its code running into something.
    says = isinstance(error, NotImplementedError | ValueError)
    words = f" ({first_line(error)})" if says else ""
    return ModelError(
        f"The TransformerBridge of transformer-lens {_version()} does not hold this kind of {type(hf_model).__name__}"
        f"{words}. This is its limit, not one of headcats: {_other_ways(hf_model.config, built='TransformerBridge')}."
    )


def _other_ways(config: Any, *, built: str) -> str:
    """Advice on what may hold a model of this configuration where a class of TransformerLens does not."""
    if built == "HookedTransformer":
        other = "backend='bridge', or " if _bridged_as(config) else ""
    else:
        other = f"backend='hooked'{' of transformer-lens 3.x' if _is_bridge_only() else ''}, or "
    return f"try {other}a later version of transformer-lens"


def _bridged_as(config: Any) -> str | None:
    """The architecture that TransformerLens takes a model for; None if it has no bridge for it."""
    from transformer_lens.model_bridge.sources.transformers import determine_architecture_from_hf_config

    try:
        return str(determine_architecture_from_hf_config(config))
    except ValueError:
        return None


def _convert(hf_model: Any, tokenizer: Any, *, name: str, device: torch.device) -> Any:
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformer_lens.loading_from_pretrained import get_pretrained_state_dict

    # The converters read a folder, and take the architecture from its path if that holds a model's name.
    with tempfile.TemporaryDirectory(prefix="hc-") as folder:
        fields = _fields(hf_model.config, folder)
        fields |= {"model_name": name, "init_weights": False, "device": str(device), "dtype": hf_model.dtype}
        cfg = HookedTransformerConfig.from_dict(fields)
        weights = get_pretrained_state_dict(folder, cfg, hf_model, dtype=hf_model.dtype)
    model = HookedTransformer(cfg, tokenizer, move_to_device=False)
    with torch.no_grad():
        for parameter in model.parameters():
            # What the converter does not fill (positions under ALiBi) would be uninitialised memory.
            parameter.zero_()
    model.load_and_process_state_dict(
        weights,
        fold_ln=False,
        center_writing_weights=False,
        center_unembed=False,
        fold_value_biases=False,
        refactor_factored_attn_matrices=False,
    )
    model.move_model_modules_to_device()
    return model.eval()


def _fields(config: Any, folder: str) -> dict[str, Any]:
    from transformer_lens.loading_from_pretrained import convert_hf_model_config

    if config.model_type == "gpt2" and not hasattr(config, "n_ctx"):
        config.n_ctx = config.n_positions
    config.save_pretrained(folder)
    fields: dict[str, Any] = convert_hf_model_config(folder)
    # Taken to be d_model / n_heads, which need not be.
    d_head = getattr(config, "head_dim", None)
    if d_head and d_head != fields["d_head"]:
        fields |= {"d_head": d_head} | ({"rotary_dim": d_head} if fields.get("rotary_dim") else {})
    # A constant for some architectures. The smaller of the two: tables for the whole context of a large model do not
    # fit into memory.
    longest = getattr(config, "max_position_embeddings", None)
    if longest:
        fields["n_ctx"] = min(longest, fields.get("n_ctx", longest))
    fields.setdefault("default_prepend_bos", True)
    return fields


def _is_bridge_only() -> bool:
    return int(_version().split(".")[0]) >= 4


def _version() -> str:
    return importlib.metadata.version("transformer-lens")


def _log_probs(logits: Tensor) -> Float[Tensor, "1 pos d_vocab"]:
    return logits.float().log_softmax(-1)
