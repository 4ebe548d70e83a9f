"""Toys of `architectures` whose weights are offloaded, or spread over two devices, and the bridges they become."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from accelerate import cpu_offload, disk_offload
from accelerate.hooks import AlignDevicesHook, add_hook_to_module
from architectures import bridge_of, hf_architecture
from pretended import KIND, move, pretended_devices
from torch import nn

from headcats.models.adapter import HookedModel

SECOND = f"{KIND}:1"
_CACHES = ["past_key_values", "past_key_value", "layer_past"]
_LAST_NORMS = ("norm", "ln_f", "norm_f", "final_layer_norm", "final_layernorm")


def placed(name: str, placement: str, folder: Path, *, device: str = "cpu") -> HookedModel:
    """An architecture with its weights "here", in "memory", on "disk" in a folder, or on "two devices".

    Offloaded ones compute on `device`.
    """
    hf = hf_architecture(name)
    if placement == "memory":
        cpu_offload(hf, execution_device=torch.device(device))
    elif placement == "disk":
        disk_offload(hf, str(folder), execution_device=torch.device(device))
    elif placement == "two devices":
        _spread(hf)
    with pretended_devices():
        return HookedModel(bridge_of(hf))


def on_disk(folder: Path, *, blocks: Iterable[int], n_blocks: int) -> dict[str, Any]:
    """Arguments of the loader that leave some blocks of a Llama on disk."""
    rest = ("model.embed_tokens", "model.norm", "model.rotary_emb", "lm_head")
    here = [*rest, *(f"model.layers.{block}" for block in range(n_blocks))]
    there = {f"model.layers.{block}": "disk" for block in blocks}
    return {"device_map": dict.fromkeys(here, "cpu") | there, "offload_folder": str(folder)}


def _spread(hf: Any) -> None:
    """All blocks but the first on the second device, with what follows; a tied unembedding stays with its embedding."""
    blocks = next(m for m in hf.modules() if isinstance(m, nn.ModuleList) and len(m) == hf.config.num_hidden_layers)
    inside = {id(module) for block in blocks for module in block.modules()}
    norms = [m for n, m in hf.named_modules() if n.split(".")[-1] in _LAST_NORMS and id(m) not in inside]
    unembedding = hf.get_output_embeddings()
    tied = unembedding.weight is hf.get_input_embeddings().weight
    second = [*blocks[1:], *norms, *([] if tied else [unembedding])]
    for module in second:
        move(module, SECOND)
    for module, device in [*((module, SECOND) for module in second), *([(unembedding, "cpu")] if tied else [])]:
        # As accelerate dispatches a model.
        hook = AlignDevicesHook(execution_device=torch.device(device), io_same_device=False, skip_keys=_CACHES)
        add_hook_to_module(module, hook)
