"""Load the model of a study whose options are names, as on the command line."""

from collections.abc import Mapping
from typing import Any

import torch

from headcats.models.loading import load_model
from headcats.study.options import SPREAD, model_options
from headcats.study.plan import plan


def load_study(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the model that the options name, and the other options, as `hc.run` takes them; see `checked_options`."""
    loading, study = checked_options(options)
    return load_model(options["model"], **loading), study


def checked_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of `hc.load_model` and options of `hc.run`, checked before a large model is loaded."""
    model = model_options(options)
    study = {name: value for name, value in options.items() if name not in vars(model)}
    plan(**study)
    loading: dict[str, Any] = {"dtype": model.dtype, "revision": model.revision}
    loading["device_map" if model.device in SPREAD else "device"] = model.device
    if model.load_in is not None:
        loading["quantization_config"] = _quantisation(model.load_in)
    return loading, study


def _quantisation(bits: str) -> Any:
    """Configuration of bitsandbytes: whole numbers of 8 bits, or NF4 (computed in fp32)."""
    from transformers import BitsAndBytesConfig

    if bits == "8bit":
        # Outliers would be looked for in the whole batch, so that a prompt's numbers depended on the other prompts.
        return BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0.0)
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32)
