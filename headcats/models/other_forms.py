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

    Objects of nnsight and adapted ones of peft wrap one. It is a copy that shares the weights, so that the object stays
    as it is; of peft's the weights are copied, too, and the adapter is merged into them.
    """
    kind, tokenizer = type(source).__module__.partition(".")[0], getattr(source, "tokenizer", None)
    if kind == "nnsight":
        source = source._model
    elif kind == "peft":
        source = copy.deepcopy(source).merge_and_unload()
    if not isinstance(source, PreTrainedModel):
        return None
    config = source.config
    if config.is_encoder_decoder or source.get_output_embeddings() is None:
        raise ModelError(
            f"A {type(source).__name__} is no causal language model with a head for the next token; pass one, such as "
            "what AutoModelForCausalLM loads."
        )
    if config.get_text_config() is not config:
        raise ModelError(
            f"A {type(source).__name__} reads more than text: save it with save_pretrained and name the folder, of "
            "which the language model is read."
        )
    shared = {id(tensor): tensor for tensor in (*source.parameters(), *source.buffers())}
    model = copy.deepcopy(source, shared).eval()
    model.set_attn_implementation("eager")  # the others compute no pattern that hooks read
    return model, tokenizer


def is_adapter(folder: Path) -> bool:
    """True if a folder holds an adapter of peft, and no weights of a model beside it."""
    return (folder / ADAPTER).is_file() and not any(folder.glob("model*.safetensors"))


def base_of(folder: Path) -> tuple[str, str | None]:
    """Name or folder, and revision, of the model that an adapter is for; a ModelError if it cannot be read."""
    if importlib.util.find_spec("peft") is None:
        raise ModelError(f"{str(folder)!r} is an adapter: to merge it, install peft: pip install peft.")
    if not (folder / _WEIGHTS).is_file():
        raise ModelError(f"{str(folder)!r} is an adapter without {_WEIGHTS}: save it there with save_pretrained.")
    try:
        config = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        base, revision = config.get("base_model_name_or_path"), config.get("revision")
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"Cannot read {ADAPTER} in {str(folder)!r}: {error}.") from None
    if not isinstance(base, str) or not base:
        raise ModelError(f"The adapter in {str(folder)!r} names no base model: merge it and save the model.")
    if (folder / base / "config.json").is_file():
        return str(folder / base), None
    return base, None if Path(base).exists() else revision


def merged(model: nn.Module, folder: Path) -> Any:
    """The model with the adapter of a folder merged into its weights, which are replaced."""
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            adapted = PeftModel.from_pretrained(model, str(folder))
            fitting = get_peft_model_state_dict(adapted, save_embedding_layers=True).keys()
            whole = adapted.merge_and_unload().eval()
        with safe_open(folder / _WEIGHTS, "pt") as file:
            stored = set(file.keys())
    except Exception as error:  # noqa: BLE001 - shapes, names of layers and kinds of adapters fail in their own ways
        raise _other_base(model, folder, first_line(error)) from None
    if missing := next((str(each.message) for each in caught if "missing adapter keys" in str(each.message)), ""):
        raise _other_base(model, folder, missing[:160])
    if stored & fitting and (unused := sorted(stored - fitting)):  # all have other names where peft renames them
        raise _other_base(model, folder, f"which lacks the layers of {len(unused)} of its weights, such as {unused[0]}")
    return whole


def _other_base(model: Any, folder: Path, reason: str) -> ModelError:
    return ModelError(
        f"The adapter in {str(folder)!r} does not fit its base model {model.config.name_or_path!r} ({reason}): is it "
        "of another base, or of a kind that cannot be merged?"
    )
