"""The compiled transformer as a GPT-2 that TransformerLens holds, its prompts, and the truth about its heads.

tracr's transformer has positions and ReLU as a GPT-2 can have, but no LayerNorm. LayerNorm changes nothing here: its
epsilon is 2^32 and its weight 2^16, beside which the variance of the residual stream is nothing in fp32, and one dim
more holds minus the sum of all others, so the mean is 0. Heads get zeros on top of tracr's key size, because GPT-2
wants `d_model / n_heads` dims.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.planted.word_model import word_model
from headcats.prompts.batch import PromptBatch

_FOLDER = Path(__file__).parent
_LAYER_NORM = 2.0**16


@cache
def circuits() -> dict[str, Any]:
    """Content of what `compile_programs.py` wrote: vocabulary, heads, answers to all inputs, prompts, effects."""
    return json.loads((_FOLDER / "circuits.json").read_text(encoding="utf-8"))


def heads() -> dict[Head, str]:
    """Heads that tracr compiled from an expression -> its name; all others are filled up with zeros."""
    return {Head.parse(head): name for head, name in circuits()["heads"].items()}


def compiled_model() -> HookedModel:
    """A model with the compiled weights; its logits for a letter are those of tracr's output for it."""
    weights, config, words = _weights(), circuits()["config"], circuits()["words"]
    n_layers, n_heads, key_size = config["n_layers"], config["n_heads"], config["key_size"]
    n_residual = weights["token_embed/embeddings"].shape[1]
    d_head = -(-(n_residual + 1) // n_heads)
    hf = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(words), n_embd=n_heads * d_head, n_layer=n_layers, n_head=n_heads,
            n_positions=len(weights["pos_embed/embeddings"]),
            n_inner=weights["transformer/layer_0/mlp/linear_1/w"].shape[1], activation_function="relu",
            layer_norm_epsilon=_LAYER_NORM**2, bos_token_id=0, eos_token_id=0, tie_word_embeddings=False,
        )
    )  # fmt: skip
    residual, heads_of = slice(n_residual), (n_heads, key_size)
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            parameter.fill_(_LAYER_NORM if ".ln_" in name and name.endswith("weight") else 0.0)
        _write(hf.transformer.wte.weight, weights["token_embed/embeddings"])
        _write(hf.transformer.wpe.weight, weights["pos_embed/embeddings"])
        for number, block in enumerate(hf.transformer.h):
            attention, mlp = f"transformer/layer_{number}/attn", f"transformer/layer_{number}/mlp"
            # tracr divides by the root of its key size, GPT-2 by that of d_head.
            scales = {"query": (d_head / key_size) ** 0.5, "key": 1.0, "value": 1.0}
            qkv = block.attn.c_attn.weight.view(-1, 3, n_heads, d_head)  # views: writes go through
            for place, (name, scale) in enumerate(scales.items()):
                qkv[residual, place, :, :key_size] = scale * weights[f"{attention}/{name}/w"].unflatten(1, heads_of)
            output = block.attn.c_proj.weight.view(n_heads, d_head, -1)[:, :key_size]
            _write(output, weights[f"{attention}/linear/w"].unflatten(0, heads_of))
            block.mlp.c_fc.weight[residual] = weights[f"{mlp}/linear_1/w"]
            _write(block.mlp.c_proj.weight, weights[f"{mlp}/linear_2/w"])
        for column, word in enumerate(circuits()["outputs"]):
            if word in words:
                hf.lm_head.weight[words.index(word), residual] = weights["unembed"][:, column]
    return word_model(hf, words, name="compiled")


def tokens(task: str, inputs: list[str]) -> torch.Tensor:
    """`<bos> TASK x0 x1 x2 x3 q` as ids."""
    number = {word: place for place, word in enumerate(circuits()["words"])}
    return torch.tensor([[number["<bos>"], number[task], *map(number.__getitem__, letters)] for letters in inputs])


def prompts(task: str) -> PromptBatch:
    """The prompt pairs of a task; each is an item of its own."""
    clean, corrupted = map(list, zip(*circuits()["tasks"][task]["prompts"], strict=True))
    of_input = dict(zip(circuits()["inputs"].split(), circuits()["answers"][task], strict=True))
    answer, distractor = ([circuits()["words"].index(of_input[one]) for one in side] for side in (clean, corrupted))
    return PromptBatch.from_tokens(tokens(task, clean), tokens(task, corrupted), answer, distractor, items=clean)


def true_effects(task: str, *, method: str, positions: str) -> xr.DataArray:
    """(prompt, layer, head): effects by tracr's RASP interpreter, in shares of the gap."""
    config, of_task = circuits()["config"], circuits()["tasks"][task]
    effects = np.zeros((len(of_task["prompts"]), config["n_layers"], config["n_heads"]))
    of_expression = of_task["effects"][method][positions]
    for head, name in heads().items():
        effects[:, head.layer, head.head] = of_expression.get(name, 0.0)
    return xr.DataArray(effects, dims=("prompt", "layer", "head"))


def _weights() -> dict[str, Tensor]:
    """Arrays by tracr's names; the file holds what is not zero."""
    parts, dense = load_file(_FOLDER / "circuits.safetensors"), {}
    for name in {name.rpartition(".")[0] for name in parts}:
        dense[name] = torch.zeros(parts[f"{name}.shape"].tolist())
        dense[name].view(-1)[parts[f"{name}.places"].long()] = parts[f"{name}.values"]
    return dense


def _write(weight: Float[Tensor, "*rows d_model"], values: Float[Tensor, "*some_rows residual"]) -> None:
    """Write into the residual stream; the dim after tracr's takes the balance."""
    size = values.shape[-1]
    weight[..., :size], weight[..., size] = values, -values.sum(-1)
