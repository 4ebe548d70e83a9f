"""A run of two prompts of one token each, layer by layer: what the weights of a model are checked against."""

from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_v, hook_z, keeping, unnoticed


class OneTokenRun(NamedTuple):
    """Two prompts of one token each, layer by layer."""

    tokens: Int[Tensor, "2 1"]
    residual: dict[int, Tensor]
    """Input of a block, `[prompt, 1, d_model]`; of block 0, and of those with heads, as far as it was seen."""
    normed: dict[int, Tensor]  # input of the value projection, `[prompt, 1, d_model]`
    values: dict[int, Tensor]  # `[prompt, 1, head or group, d_head]`
    z: dict[int, Tensor]  # `[prompt, 1, head, d_head]`
    written: dict[int, Tensor]  # output of the output projection, `[prompt, 1, d_model]`
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
    last = dict[str, Tensor]()
    hooks = {hook_v(layer): keeping(values, layer) for layer in model.layers}
    hooks |= {hook_z(layer): keeping(z, layer) for layer in model.layers}
    blocks: Any = model.model.blocks

    def read(
        captured: dict[int, Tensor], layer: int, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        value_input = named.get("value_input", named.get("hidden_states", next(iter(args), None)))
        if isinstance(value_input, Tensor) and value_input.ndim == 3:
            keeping(captured, layer)(value_input)

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
        logits = model.run(tokens, hooks=hooks)
    for layer in model.layers:
        for part, captured in (("input", normed), ("output projection", written)):
            if layer not in captured:
                raise ModelError(
                    f"The {part} of the attention in layer {layer} of model {model.name!r} was not seen in a run, so "
                    f"its weights cannot be checked: methods that read weights cannot be used on this architecture."
                )
    return OneTokenRun(tokens, residual, normed, values, z, written, last.get("final"), logits)
