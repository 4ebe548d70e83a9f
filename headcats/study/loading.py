"""Load the model of a study whose options are names, as on the command line."""

from collections.abc import Mapping
from typing import Any

import torch

from headcats.models.loading import load_model
from headcats.results.compact import WHOLE, check_store
from headcats.study.defaults import DEFAULT_PROMPTS
from headcats.study.plan import plan
from headcats.sweeps.free_memory import budget
from headcats.sweeps.paths import check_path

_LOADING = ("device", "dtype", "revision", "backend")
_PLACING = ("device_map", "load_in")


def load_study(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model that the options name, and the other options, as `hc.run` takes them; see `checked_options`."""
    loading, study = checked_options(options)
    return load_model(options["model"], **loading), study


def checked_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of `hc.load_model`, and those of `hc.run` without those that are None.

    All are checked: a misspelt name should not wait until a large model is loaded.
    """
    elsewhere = ("model", "out", "revisions", *_LOADING, *_PLACING)
    study = {key: value for key, value in options.items() if value is not None and key not in elsewhere}
    study = {"n_prompts": DEFAULT_PROMPTS} | study
    check_path(study["path"])
    check_store(study.get("store", WHOLE))
    budget(study.get("memory"), torch.device("cpu"))
    planned = {key: value for key, value in study.items() if key not in ("suite", "path", "memory", "store")}
    plan(suite_source=study["suite"], **planned)
    loading = {key: options[key] for key in _LOADING}
    if options["device_map"] is not None:
        loading["device_map"] = options["device_map"]
    if options["load_in"] is not None:
        loading["quantization_config"] = _quantisation(options["load_in"])
    return loading, study


def _quantisation(bits: str) -> Any:
    """What bitsandbytes does to the weights: whole numbers of 8 bits, or NF4 (computed in fp32)."""
    from transformers import BitsAndBytesConfig

    if bits == "8bit":
        # Outliers would be looked for in the whole batch, so that a prompt's numbers depended on the other prompts.
        return BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0.0)
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32)
