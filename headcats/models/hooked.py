"""A HookedTransformer (transformer-lens 3.x) from a transformers model, without weight processing.

`HookedTransformer.from_pretrained` refuses local folders and folds LayerNorm and value biases by default. Here
TransformerLens' own converters do the work on unprocessed weights, with the fields corrected that they guess wrong.
"""

import tempfile
from typing import Any

import torch

from headcats.base.errors import ModelError
from headcats.models.supported import is_bridge_only, other_ways, version


def build_hooked_transformer(hf_model: Any, tokenizer: Any, *, name: str, device: torch.device) -> Any:
    """HookedTransformer of these weights on `device`, in the model's dtype and in eval mode."""
    if is_bridge_only():
        raise ModelError(
            f"backend='hooked' needs transformer-lens 3.x, and {version()} is installed: HookedTransformer was removed "
            f"in 4.0. backend='bridge' gives the same numbers through the same hook names."
        )
    try:
        return _convert(hf_model, tokenizer, name=name, device=device)
    except Exception as error:
        raise ModelError(
            f"transformer-lens {version()} cannot turn {type(hf_model).__name__} into a HookedTransformer. This is its "
            f"limit, not one of headcats: {other_ways(hf_model.config, built='HookedTransformer')}."
        ) from error


def _convert(hf_model: Any, tokenizer: Any, *, name: str, device: torch.device) -> Any:
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformer_lens.loading_from_pretrained import get_pretrained_state_dict

    # The converters read a folder, and take the architecture from the folder's path if that holds a model's name: a
    # folder of our own, holding the configuration alone.
    with tempfile.TemporaryDirectory(prefix="hc-") as folder:
        fields = _fields(hf_model.config, folder)
        fields |= {"model_name": name, "init_weights": False, "device": str(device), "dtype": hf_model.dtype}
        cfg = HookedTransformerConfig.from_dict(fields)
        weights = get_pretrained_state_dict(folder, cfg, hf_model, dtype=hf_model.dtype)
    model = HookedTransformer(cfg, tokenizer, move_to_device=False)
    with torch.no_grad():
        for parameter in model.parameters():
            # What the converter does not fill (positions under ALiBi) would be uninitialised memory: NaN, or a hash
            # of the weights that changes from run to run.
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
