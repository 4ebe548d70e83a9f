"""A run of two prompts of one token each, layer by layer: what the weights of a model are checked against."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_v, hook_z, keeping, unnoticed

FirstMLP = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Any]]
"""The norm that the MLP of block 0 reads, and the MLP."""
NO_MLP = "block 0 has none that is called as a module of its own"
NO_NORM = "it reads no norm of its block (this architecture norms what comes out of it)"
WITH_RESIDUAL = "it adds the residual stream itself"


class OneTokenRun(NamedTuple):
    """Two prompts of one token each, layer by layer."""

    tokens: Int[Tensor, "2 1"]
    residual: dict[int, Tensor]
    """Input of a block, `[prompt, 1, d_model]`; of block 0, and of those with heads, as far as it was seen."""
    normed: dict[int, Tensor]
    """Input of the value projection, `[prompt, 1, d_model]`."""
    values: dict[int, Tensor]
    """`[prompt, 1, head or group, d_head]`."""
    z: dict[int, Tensor]
    """`[prompt, 1, head, d_head]`."""
    written: dict[int, Tensor]
    """Output of the output projection, `[prompt, 1, d_model]`."""
    first_mlp: FirstMLP | str
    """Block 0's norm before the MLP and the MLP, or why they cannot be used on their own."""
    final: Tensor | None
    """Output of the last block, `[prompt, 1, d_model]`; None where it was not seen."""
    logits: Float[Tensor, "2 d_vocab"]


def difference(of_two: Tensor) -> Tensor:
    """First prompt minus second, without the prompt axis."""
    return of_two[0] - of_two[1]


def one_token_run(model: HookedModel) -> OneTokenRun:
    """Run the first and the last token of the vocabulary as two prompts."""
    tokens = torch.tensor([[0], [model.d_vocab - 1]])
    residual, normed, values, z, written = (dict[int, Tensor]() for _ in range(5))
    norms, mlp_reads, last = dict[str, Tensor](), dict[int, Tensor](), dict[str, Tensor]()
    hooks = {hook_v(layer): keeping(values, layer) for layer in model.layers}
    hooks |= {hook_z(layer): keeping(z, layer) for layer in model.layers}
    blocks: Any = model.model.blocks

    def read(
        captured: dict[int, Tensor], layer: int, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        value_input = named.get("value_input", named.get("hidden_states", next(iter(args), None)))
        if isinstance(value_input, Tensor) and value_input.ndim == 3:
            keeping(captured, layer)(value_input)

    def read_mlp(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        for place, value in enumerate((*args, *named.values())):
            if isinstance(value, Tensor):
                keeping(mlp_reads, place)(value)

    def write(captured: dict[Any, Tensor], key: Any, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        keeping(captured, key)(output if isinstance(output, Tensor) else output[0])

    with model.lock, unnoticed(model.device), ExitStack() as handles:
        for layer in sorted({0, *model.layers}):
            handles.enter_context(
                blocks[layer].register_forward_pre_hook(partial(read, residual, layer), with_kwargs=True)
            )
        handles.enter_context(blocks[model.n_layers - 1].register_forward_hook(partial(write, last, "final")))
        for layer in model.layers:
            attention = blocks[layer].attn
            handles.enter_context(attention.register_forward_pre_hook(partial(read, normed, layer), with_kwargs=True))
            # The bridge's attention may add more than its heads (BLOOM: the residual stream); its projection does not.
            projection = getattr(attention, "o", None) if model.model_class == "TransformerBridge" else attention
            if isinstance(projection, nn.Module):
                handles.enter_context(projection.register_forward_hook(partial(write, written, layer)))
        for name, module in blocks[0].named_children():
            if name.startswith("ln"):
                handles.enter_context(module.register_forward_hook(partial(write, norms, name)))
        if isinstance(getattr(blocks[0], "mlp", None), nn.Module):
            handles.enter_context(blocks[0].mlp.register_forward_pre_hook(read_mlp, with_kwargs=True))
        logits = model.run(tokens, hooks=hooks)
    for layer in model.layers:
        for part, captured in (("input", normed), ("output projection", written)):
            if layer not in captured:
                raise ModelError(
                    f"The {part} of the attention in layer {layer} of model {model.name!r} was not seen in a run, so "
                    f"its weights cannot be checked: methods that read weights cannot be used on this architecture."
                )
    first_mlp = _first_mlp(blocks[0], norms, [*mlp_reads.values()])
    return OneTokenRun(tokens, residual, normed, values, z, written, first_mlp, last.get("final"), logits)


def _first_mlp(block: Any, norms: dict[str, Tensor], mlp_reads: list[Tensor]) -> FirstMLP | str:
    if len(mlp_reads) != 1:
        return WITH_RESIDUAL if mlp_reads else NO_MLP
    # Parallel blocks may share the first norm; of two norms with equal output, the second belongs to the MLP.
    for name in sorted(norms, reverse=True):
        if norms[name].shape == mlp_reads[0].shape and torch.allclose(norms[name], mlp_reads[0], rtol=1e-5, atol=1e-6):
            return getattr(block, name), block.mlp
    return NO_NORM
