"""Sizes of a decoder-only model: of a published one by name, or of a folder with its config."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from headcats.base.errors import ModelError, OptionError, UnknownNameError, first_line, shown, unknown_name_message

_TABLE = "shapes.toml"
_IN_BLOCK = re.compile(r"\.\d+\.")


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a model without experts, all of whose blocks are alike.

    Attributes:
        n_layers, n_heads, n_kv_heads: Blocks, and query and key-value heads of each.
        d_model, d_head, d_mlp: Width of the residual stream, of a head, and hidden units of an MLP.
        d_vocab: Token ids.
        mlp_matrices: Matrices of an MLP: 2, or 3 of a gated one.
        tied: Whether the unembedding is the embedding.
        name: Name in tables and messages.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    d_vocab: int
    mlp_matrices: int = 2
    tied: bool = False
    name: str = ""

    @property
    def block_weights(self) -> int:
        """Numbers in the matrices of a block."""
        width = 2 * (self.n_heads + self.n_kv_heads) * self.d_head
        return self.d_model * (width + self.mlp_matrices * self.d_mlp)

    @property
    def weights(self) -> int:
        """Numbers in the matrices of the model; norms, biases and learned positions (below 1 %) are left out."""
        embeddings = (1 if self.tied else 2) * self.d_vocab * self.d_model
        return embeddings + self.n_layers * self.block_weights


def named_shapes() -> dict[str, ModelShape]:
    """The shapes of `shapes.toml`, each with its source there."""
    return {
        name: ModelShape(**{field: size for field, size in sizes.items() if field != "source"}, name=name)
        for name, sizes in _table().items()
    }


def find_shape(source: str | os.PathLike[str] | ModelShape) -> ModelShape:
    """The shape of a published model by name, or of a folder in Hugging Face layout."""
    if isinstance(source, ModelShape):
        return source
    if not isinstance(source, str | os.PathLike):
        raise OptionError(
            f"shape must be the name of a model, its folder, or a ModelShape; got {shown(source)}. For a model that is "
            "here, `headcats validate` says the memory."
        )
    shapes = named_shapes()
    if str(source) in shapes:
        return shapes[str(source)]
    if not Path(source).is_dir():
        known = unknown_name_message("shape", str(source), shapes)
        raise UnknownNameError(f"{known} Or give the folder of a model with its config.json.")
    try:
        # Without trust_remote_code=False, transformers would ask at the keyboard whether to run the folder's code.
        config = AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - every config fails in its own way
        raise ModelError(f"{source} holds no config.json that transformers can read: {first_line(error)}.") from None
    return _shape_of_config(config, name=Path(source).name)


def _shape_of_config(config: Any, *, name: str) -> ModelShape:
    try:
        shape, in_blocks = _sizes(config, name=name), _block_weights(config)
        matrices = (in_blocks / shape.n_layers - shape.block_weights) / (shape.d_model * shape.d_mlp)
    except Exception as error:  # noqa: BLE001 - as above: configs lack sizes, hold nonsense, or have no such model
        raise ModelError(
            f"{name} ({type(config).__name__}) is not a decoder-only model of one stack of attention blocks, which a "
            f"plan needs: {first_line(error)}."
        ) from None
    if not any(abs(matrices - whole) < 0.1 for whole in (2, 3)):
        raise ModelError(
            f"{name} has {matrices:.1f} matrices of {shape.d_model} x {shape.d_mlp} in a block beside attention, where "
            "a plan counts the 2 or 3 of one MLP: models with experts or other blocks cannot be planned."
        )
    return replace(shape, mlp_matrices=round(matrices))


def _sizes(config: Any, *, name: str) -> ModelShape:
    """Sizes in a config; the number of the MLP's matrices has no name that all configs share."""
    heads, width = config.num_attention_heads, config.hidden_size
    return ModelShape(
        n_layers=config.num_hidden_layers,
        n_heads=heads,
        n_kv_heads=getattr(config, "num_key_value_heads", None) or heads,
        d_model=width,
        d_head=getattr(config, "head_dim", None) or width // heads,
        d_mlp=getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None) or 4 * width,
        d_vocab=config.vocab_size,
        mlp_matrices=0,
        tied=bool(config.tie_word_embeddings),
        name=name,
    )


def _block_weights(config: Any) -> int:
    """Numbers in the matrices of all blocks, of a model that is laid out without memory."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    return sum(
        weight.numel() for name, weight in model.named_parameters() if weight.ndim > 1 and _IN_BLOCK.search(name)
    )


@cache
def _table() -> Mapping[str, Any]:
    text = (files("headcats") / "scale" / _TABLE).read_text(encoding="utf-8")
    table: Mapping[str, Any] = tomllib.loads(text)
    return table
