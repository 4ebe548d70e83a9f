"""Read a transformers model, placed and in the precision that is asked for, and its tokenizer from a folder."""

import contextlib
import difflib
import io
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.utils import quantization_config

from headcats.base import registry
from headcats.base.errors import ModelError, OptionError, first_line, pluralize, unknown_name_message
from headcats.models.source import GGUF, TEXT_ONLY, fetch, local_folder

# What headcats sets itself, and why another value is refused.
_SET_HERE = {
    "attn_implementation": "only eager attention computes the patterns that hooks read",
    "trust_remote_code": "code from a model's repository is never run; boot it as a TransformerBridge yourself",
    "torch_dtype": "name it dtype",
    "gguf_file": "name the file itself in place of the folder",
    "local_files_only": "the files have been fetched by then; set HF_HUB_OFFLINE=1 for no network",
    # A manifest would hold it, and manifests are shared.
    "token": "the files have been fetched by then; set HF_TOKEN",
    "use_auth_token": "the files have been fetched by then; set HF_TOKEN",
    "cache_dir": "the files have been fetched by then; set HF_HOME to the folder of another cache",
    "force_download": "the files have been fetched by then; delete those in the cache",
    "proxies": "the files have been fetched by then; set HTTPS_PROXY",
    "output_loading_info": "missing weights are an error already",
}
_QUANTISED = "quantise by quantization_config=transformers.BitsAndBytesConfig(...) (--load-in on the command line)"
_SET_HERE |= dict.fromkeys(("load_in", "load_in_8bit", "load_in_4bit"), _QUANTISED)
PLACING = ("device_map", "max_memory", "n_devices")
# What a misspelt argument may have meant; transformers takes many more.
_USUAL = (*PLACING, "offload_folder", "offload_state_dict", "quantization_config", "revision", "tokenizer", "backend")
_DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
# Where the weights of a language model stand within those of a larger one.
_WITHIN = r"^(?:model\.)?(?:language_model|text_model)\.(?:model\.)?(?!lm_head)"
_HEAD = r"^language_model\.lm_head"
_log = logging.getLogger("headcats")
# What is in errors of readers whose own texts give no advice, or to run what is in the file.
_DAMAGED = {
    r"^(SafetensorError|EOFError)|PytorchStreamReader": (
        "a file of its weights is damaged or incomplete; copy or download it again"
    ),
    r"^UnpicklingError": (
        "its weights are a pickle that holds more than numbers, and to read it could run any code; save them as "
        "safetensors where they come from"
    ),
    r"ignore_mismatched_sizes": (
        "its weights have other shapes than config.json says; copy or download both again from one place"
    ),
    r"custom code": (
        "it needs code from its repository, which headcats does not run; load it yourself and pass it (a tokenizer as "
        "tokenizer=)"
    ),
    r"GGUF magic bytes|cannot mmap an empty|cannot reshape array|mmap length": (
        "it is no GGUF file, or a damaged one; copy or download it again"
    ),
    r"GGUF model with architecture": (
        "transformers reads GGUF files of some architectures alone, not of this one; take the model in Hugging Face "
        "layout"
    ),
    r"Dequantization|not a valid GGMLQuantizationType": (
        "it is quantised in a way that the package gguf cannot undo; take another file of the model, such as Q8_0"
    ),
    r"tokenizer from a GGUF": (
        "it holds no tokenizer that transformers reads; pass the folder or hub name of one, "
        "hc.load_model(file, tokenizer=...)"
    ),
    r"requires bitsandbytes": "the library that quantises it is missing; pip install bitsandbytes",
}


def check_loader_options(options: Mapping[str, Any], *, device: Any, backend: str) -> None:
    """Raise an OptionError for options of transformers' loader that cannot be combined with the rest."""
    for name, reason in _SET_HERE.items():
        if name in options:
            raise OptionError(f"{name} cannot be given: {reason}.")
    for name in options.keys() - set(_USUAL):
        if near := difflib.get_close_matches(name, _USUAL, n=1, cutoff=0.85):
            raise OptionError(f"hc.load_model has no option {name!r}. Did you mean {near[0]!r}?")
    if isinstance(place := options.get("device_map"), str) and place not in _DEVICE_MAPS:
        _check_device(place)
    if backend == "hooked" and (unusable := sorted(options.keys() - {"n_devices"})):
        raise OptionError(f"backend='hooked' builds its own weights, so it does not take {' and '.join(unusable)}.")
    if device is not None and (placing := [name for name in PLACING if options.get(name) is not None]):
        raise OptionError(f"device and {placing[0]} both say where the model goes: leave out one of them.")


def read_model(folder: Path, *, dtype: torch.dtype | str, device: torch.device, options: Mapping[str, Any]) -> Any:
    """The causal language model in a folder, in eval mode, where `options` of its loader place it, else on `device`."""
    options = _placing(options, device)
    # Eager attention: the others compute no attention pattern, and the bridge of 3.x does not switch by itself.
    # Without trust_remote_code=False, transformers would ask at the keyboard.
    fixed: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "output_loading_info": True}
    if folder.suffix == GGUF:
        options = _read_back() | options
    try:
        with contextlib.redirect_stderr(io.StringIO()) if folder.suffix == GGUF else contextlib.nullcontext():
            of_text = {} if folder.suffix == GGUF else _text_part(folder)
            model, info = of_text.pop("read", AutoModelForCausalLM).from_pretrained(
                **_place(folder), dtype=dtype, attn_implementation="eager", **fixed, **of_text, **options
            )
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - every format and architecture fails in its own way
        raise ModelError(_message("Cannot load the model in", folder, error)) from None
    if missing := sorted(info.get("missing_keys", ())):
        # transformers fills them with random numbers and warns.
        raise ModelError(
            f"The weights in {str(folder)!r} lack {len(missing)} tensors of {type(model).__name__}, {missing[0]!r} "
            f"first: they are incomplete or belong to another architecture."
        )
    if unused := sorted(info.get("unexpected_keys", ())):
        tensors, kind = pluralize(len(unused), "tensor"), type(model).__name__
        _log.info("Of the weights, %s have no place in %s and are not used, %r first.", tensors, kind, unused[0])
    if folder.suffix == GGUF:
        # Its weights are not quantised any more, but transformers says so, and would neither move nor save it.
        model.is_quantized, model.hf_quantizer = False, None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
    if not model.config.architectures:
        model.config.architectures = [type(model).__name__]
    if not is_placed(model) and "device_map" not in options:
        try:
            model = model.to(device)
        except RuntimeError as error:
            raise ModelError(_message(f"Cannot move to {device} the model in", folder, error)) from None
    return model.eval()


def _text_part(folder: Path) -> dict[str, Any]:
    """Arguments that read the language model alone of a model of images or sound, too; {} for one of text."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    text = config.get_text_config()
    if not any(hasattr(config, part) for part in ("vision_config", "audio_config")) or text is config:
        return {}
    if (kind := MODEL_FOR_CAUSAL_LM_MAPPING.get(type(text), None)) is None:
        raise ModelError(f"Model {folder.name!r} reads more than text ({type(config).__name__}). {TEXT_ONLY}")
    text.architectures = [kind.__name__]
    return {"read": kind, "config": text, "key_mapping": {_WITHIN: rf"{kind.base_model_prefix}.", _HEAD: "lm_head"}}


def is_placed(model: Any) -> bool:
    """True if a model is where its loader put it, and must not be moved: dispatched, offloaded or quantised."""
    return bool(getattr(model, "hf_device_map", None)) or bool(getattr(model, "is_quantized", False))


def read_tokenizer(source: Any) -> Any:
    """A tokenizer as it is, or that of a folder or hub name."""
    if isinstance(source, PreTrainedTokenizerBase):
        return source
    if not isinstance(source, str | os.PathLike):
        raise OptionError(
            f"Expected tokenizer as a transformers tokenizer, a folder or a hub name; got {type(source).__name__}."
        )
    folder = local_folder(source)
    if folder is None:
        folder, _ = fetch(os.fspath(source))
    try:
        return AutoTokenizer.from_pretrained(**_place(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - as for the model
        raise ModelError(_message("Cannot load the tokenizer in", folder, error)) from None


def tokenizer_source(tokenizer: Any) -> str:
    """The name or absolute path that `read_tokenizer` reads it from; "" for a tokenizer, or none."""
    if not isinstance(tokenizer, str | os.PathLike):
        return ""
    folder, text = local_folder(tokenizer), os.fspath(tokenizer)
    return text if folder is None or text in registry.names("model") else str(folder.resolve())


def check_vocabulary(tokenizer: Any, model: Any) -> None:
    """Raise a ModelError for a tokenizer with more words than the model has rows in its embedding."""
    known = model.get_input_embeddings().weight.shape[0]
    if tokenizer.vocab_size > known:
        raise ModelError(
            f"The tokenizer has {tokenizer.vocab_size} tokens, and the model knows {known}: it is that of another "
            f"model. Pass the model's own as tokenizer=."
        )


def _place(folder: Path) -> dict[str, Any]:
    """A folder or GGUF file, as transformers takes it."""
    if folder.suffix == GGUF:
        return {"pretrained_model_name_or_path": folder.parent, "gguf_file": folder.name}
    return {"pretrained_model_name_or_path": folder}


def _read_back() -> dict[str, Any]:
    """Option that makes transformers read the weights of a GGUF file back, also where it could compute with them."""
    config = getattr(quantization_config, "GgufConfig", None)
    return {} if config is None else {"quantization_config": config(dequantize=True)}


def _check_device(place: str) -> None:
    try:
        torch.device(place)
    except RuntimeError:
        raise OptionError(
            f"{unknown_name_message('device map', place, _DEVICE_MAPS)} Or a device, such as 'cuda:1', or a dict."
        ) from None


def _placing(options: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    """Options as transformers takes them: `n_devices` as a device map, a quantised model on its device at once."""
    from transformer_lens.utilities.multi_gpu import resolve_device_map

    placed = {name: value for name, value in options.items() if value is not None and name != "n_devices"}
    device_map, max_memory = placed.get("device_map"), placed.get("max_memory")
    try:
        device_map, max_memory = resolve_device_map(options.get("n_devices"), device_map, None, max_memory)
    except ValueError as error:
        raise OptionError(f"The model cannot be placed so: {first_line(error)}.") from None
    if device_map is None and "quantization_config" in placed:
        device_map = {"": device}
    resolved = {"device_map": device_map, "max_memory": max_memory}
    return placed | {name: value for name, value in resolved.items() if value is not None}


def _message(problem: str, folder: Path, error: Exception) -> str:
    kind = type(error).__name__
    for sign, explanation in _DAMAGED.items():
        if re.search(sign, f"{kind}: {error}"):
            return f"{problem} {str(folder)!r}: {explanation}."
    return f"{problem} {str(folder)!r} ({kind}: {first_line(error)})."
