"""Circuits of weights as trained, and what the first MLP makes of embeddings."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.circuit import Circuit
from headcats.models.hooks import keeping, unnoticed

NO_MLP = "block 0 has none that is called as a module of its own"
NO_NORM = "it reads no norm of its block (this architecture norms what comes out of it)"
WITH_RESIDUAL = "it adds the residual stream itself"
# Rows per call of the MLP, whose hidden layer is the largest tensor here.
_MLP_ROWS = 2048


def unprocessed_circuit(model: HookedModel) -> Circuit:
    """The circuits of weights as trained; a ModelError for folded ones, and those of `Circuit`."""
    processing = model.weight_processing
    if processing == "none":
        return Circuit(model)
    problem = "hides its weights, so they may have been processed"
    if processing == "processed":
        problem = "has processed weights (LayerNorm, means or value biases folded in)"
    raise ModelError(
        f"Model {model.name!r} {problem}, and this method needs the weights as trained: folding changes how a head "
        f"reads an embedding. Load it with hc.load_model or HookedTransformer.from_pretrained_no_processing; a "
        f"TransformerBridge without enable_compatibility_mode()."
    )


@torch.no_grad()
def after_first_mlp(model: HookedModel, rows: Float[Tensor, "token d_model"]) -> Float[Tensor, "token d_model"]:
    """Output of block 0's norm and MLP, without residual stream and without a norm after the MLP (Gemma 2, 3)."""
    norm, mlp = _first_mlp(model)
    outputs = []
    with model.lock, unnoticed(model.device):
        for part in rows.split(_MLP_ROWS):
            output = mlp(norm(part.to(model.dtype).unsqueeze(0)))
            outputs.append((output if isinstance(output, Tensor) else output[0])[0].to(rows.dtype))
    return torch.cat(outputs)


def _first_mlp(model: HookedModel) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Any]]:
    """The norm that the MLP of block 0 reads, and the MLP; a ModelError if they cannot be used on their own."""
    block: Any = model.model.blocks[0]
    norms, mlp_reads = dict[str, Tensor](), dict[int, Tensor]()

    def write(name: str, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        keeping(norms, name)(output if isinstance(output, Tensor) else output[0])

    def read_mlp(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        for place, value in enumerate((*args, *named.values())):
            if isinstance(value, Tensor):
                keeping(mlp_reads, place)(value)

    with model.lock, unnoticed(model.device), ExitStack() as handles:
        for name, module in block.named_children():
            if name.startswith("ln"):
                handles.enter_context(module.register_forward_hook(partial(write, name)))
        if isinstance(getattr(block, "mlp", None), nn.Module):
            handles.enter_context(block.mlp.register_forward_pre_hook(read_mlp, with_kwargs=True))
        model.run(torch.tensor([[0], [model.d_vocab - 1]]), hooks={})
    problem = NO_NORM if mlp_reads else NO_MLP
    if len(mlp_reads) == 1:
        (read,) = mlp_reads.values()
        # Parallel blocks may share the first norm; of two norms with equal output, the second belongs to the MLP.
        for name in sorted(norms, reverse=True):
            if norms[name].shape == read.shape and torch.allclose(norms[name], read, rtol=1e-5, atol=1e-6):
                return getattr(block, name), block.mlp
    elif mlp_reads:
        problem = WITH_RESIDUAL
    raise ModelError(
        f"Model {model.name!r} cannot show what its first MLP makes of an embedding: {problem}. Read the embeddings "
        f"themselves, with first_mlp='off'."
    )
