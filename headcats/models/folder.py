"""Check a local Hugging Face folder before transformers loads it."""

import json
from pathlib import Path
from typing import Any

from headcats.errors import ModelError

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")


def check_folder(folder: Path, *, needs_tokenizer: bool = True) -> None:
    """Raise a ModelError for a folder that cannot be loaded as a causal language model."""
    if not folder.is_dir():
        problem = "is a file" if folder.is_file() else "does not exist"
        raise ModelError(f"Expected a folder with a model in Hugging Face layout; {str(folder)!r} {problem}.")
    needed = {"config.json": ("config.json",), "weights (model.safetensors)": _WEIGHTS}
    if needs_tokenizer:
        needed["a tokenizer (tokenizer.json; or pass tokenizer=)"] = _TOKENIZER
    missing = [part for part, names in needed.items() if not any((folder / name).is_file() for name in names)]
    if missing:
        raise ModelError(
            f"Folder {str(folder)!r} lacks {' and '.join(missing)}: save the model and its tokenizer there with "
            f"save_pretrained."
        )
    config = _read_config(folder)
    architecture = ", ".join(config.get("architectures") or []) or config.get("model_type", "an unnamed architecture")
    if config.get("is_encoder_decoder"):
        raise ModelError(
            f"Model {folder.name!r} is an encoder-decoder ({architecture}); headcats needs a decoder-only "
            f"(causal) model."
        )
    if "vision_config" in config or "audio_config" in config:
        # To load the image processor, transformer-lens would install torchvision by itself.
        raise ModelError(
            f"Model {folder.name!r} has a vision or audio part ({architecture}); boot it as a TransformerBridge "
            f"yourself and pass that, or use a text-only model."
        )
    if "AutoModelForCausalLM" in (config.get("auto_map") or {}):
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        if config.get("model_type") not in CONFIG_MAPPING_NAMES:
            raise ModelError(
                f"Model {folder.name!r} ({architecture}) needs code from its repository, which headcats does not run; "
                f"boot it as a TransformerBridge yourself and pass that."
            )


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"Cannot read {str(path)!r}: {error}.") from None
    if not isinstance(config, dict):
        raise ModelError(f"Expected a JSON object in {str(path)!r}; got {type(config).__name__}.")
    return config
