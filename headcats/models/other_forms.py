"""Models that are no folder in Hugging Face layout: objects of other libraries, and adapters (LoRA) of a base model."""

import copy
import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headcats.base.errors import ModelError, first_line

ADAPTER = "adapter_config.json"
_WEIGHTS = "adapter_model.safetensors"


def transformers_model(source: Any) -> tuple[PreTrainedModel, Any] | None:
    """The model of transformers that an object is or wraps, and the tokenizer that it carries; None for any other.

    Objects of nnsight and adapted ones of peft wrap one; adapters are merged. The copy shares its weights with the
    object, which stays as it is.
    """
    kind, tokenizer = type(source).__module__.partition(".")[0], getattr(source, "tokenizer", None)
    if kind == "nnsight":
        source = source._model
    elif kind == "peft":
        source = copy.deepcopy(source).merge_and_unload()
    if not isinstance(source, PreTrainedModel):
        return None
    shared = {id(tensor): tensor for tensor in (*source.parameters(), *source.buffers())}
    model = copy.deepcopy(source, shared).eval()
    model.set_attn_implementation("eager")  # the others compute no pattern that hooks read
    return model, tokenizer


def is_adapter(folder: Path) -> bool:
    """True if a folder holds an adapter of peft, and no model beside it."""
    return (folder / ADAPTER).is_file() and not (folder / "config.json").is_file()


def base_of(folder: Path) -> str:
    """Name or folder of the model that an adapter was trained on; a ModelError if the adapter cannot be read."""
    if importlib.util.find_spec("peft") is None:
        raise ModelError(f"{str(folder)!r} is an adapter: to merge it, install peft: pip install 'headcats[peft]'.")
    if not (folder / _WEIGHTS).is_file():
        raise ModelError(f"{str(folder)!r} is an adapter without {_WEIGHTS}: save it there with save_pretrained.")
    try:
        base = json.loads((folder / ADAPTER).read_text(encoding="utf-8")).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"Cannot read {ADAPTER} in {str(folder)!r}: {error}.") from None
    if not isinstance(base, str) or not base:
        raise ModelError(f"The adapter in {str(folder)!r} names no base model: merge it and save the model.")
    return str(folder / base) if (folder / base / "config.json").is_file() else base


def merged(model: nn.Module, folder: Path) -> Any:
    """The model with the adapter of a folder merged into its weights, which are replaced."""
    from peft import PeftModel

    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            adapted = PeftModel.from_pretrained(model, str(folder))
            whole = adapted.merge_and_unload().eval()
    except Exception as error:  # noqa: BLE001 - shapes, names of layers and kinds of adapters fail in their own ways
        raise _other_base(model, folder, first_line(error)) from None
    if missing := next((str(each.message) for each in said if "missing adapter keys" in str(each.message)), ""):
        raise _other_base(model, folder, missing[:160])
    return whole


def _other_base(model: Any, folder: Path, reason: str) -> ModelError:
    return ModelError(
        f"The adapter in {str(folder)!r} does not fit its base model {model.config.name_or_path!r} ({reason}): is it "
        "of another base, or of a kind that cannot be merged?"
    )
