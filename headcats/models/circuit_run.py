"""Run the parts of a head's circuit in the model: the reference that weights are checked against."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headcats.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import hook_z, keeping, unnoticed

FirstMLP = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Any]]
"""The norm that the MLP of block 0 reads, and the MLP."""

NO_MLP = "block 0 has none that is called as a module of its own"
NO_NORM = "it reads no norm of its block (this architecture norms what comes out of it)"
WITH_RESIDUAL = "it adds the residual stream itself"


class CircuitRun(NamedTuple):
    """Two prompts of one token each.

    Attributes:
        normed: Layer -> input of the value projection, `[prompt, 1, d_model]`.
        values: Layer -> `[prompt, 1, head or group, d_head]`.
        z: Layer -> `[prompt, 1, head, d_head]`.
        written: Layer -> output of the output projection, `[prompt, 1, d_model]`.
        first_mlp: Block 0's norm before the MLP and the MLP, or why they cannot be used on their own.
    """

    normed: dict[int, Tensor]
    values: dict[int, Tensor]
    z: dict[int, Tensor]
    written: dict[int, Tensor]
    first_mlp: FirstMLP | str


def hook_v(layer: int) -> str:
    """Name of the hook at the values `[prompt, pos, head or group, d_head]` of a layer."""
    return hook_z(layer).replace("hook_z", "hook_v")


def difference(of_two: Tensor) -> Tensor:
    """First prompt minus second, without the prompt axis."""
    return of_two[0] - of_two[1]


def one_token_run(model: HookedModel) -> CircuitRun:
    """Run the first and the last token of the vocabulary as two prompts."""
    tokens = torch.tensor([[0], [model.d_vocab - 1]])
    values: dict[int, Tensor] = {}
    z: dict[int, Tensor] = {}
    hooks = {hook_v(layer): keeping(values, layer) for layer in model.layers}
    hooks |= {hook_z(layer): keeping(z, layer) for layer in model.layers}
    with model.lock, unnoticed(model.device), _watching(model) as seen:
        model.run(tokens, hooks=hooks)
    for layer in model.layers:
        for part, captured in (("input", seen.normed), ("output projection", seen.written)):
            if layer not in captured:
                raise ModelError(
                    f"The {part} of the attention in layer {layer} of model {model.name!r} was not seen in a run, so "
                    f"its weights cannot be checked: methods that read weights cannot be used on this architecture."
                )
    return CircuitRun(seen.normed, values, z, seen.written, seen.first_mlp())


class _Seen:
    def __init__(self, block: Any) -> None:
        self.normed: dict[int, Tensor] = {}
        self.written: dict[int, Tensor] = {}
        self.norms: dict[str, Tensor] = {}
        self.mlp_reads: list[Tensor] = []
        self._block = block

    def first_mlp(self) -> FirstMLP | str:
        if len(self.mlp_reads) != 1:
            return WITH_RESIDUAL if self.mlp_reads else NO_MLP
        mlp_input = self.mlp_reads[0]
        # Parallel blocks may share the first norm; of two norms with equal output, the second belongs to the MLP.
        for name in sorted(self.norms, reverse=True):
            normed = self.norms[name]
            if normed.shape == mlp_input.shape and torch.allclose(normed, mlp_input, rtol=1e-5, atol=1e-6):
                return getattr(self._block, name), self._block.mlp
        return NO_NORM


@contextmanager
def _watching(model: HookedModel) -> Iterator[_Seen]:
    """Capture the attention of every layer, and the norms and the MLP of block 0."""
    blocks: Any = model.model.blocks
    seen = _Seen(blocks[0])

    def reading(layer: int) -> Any:
        def look(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
            value_input = named.get("value_input", named.get("hidden_states", next(iter(args), None)))
            if isinstance(value_input, Tensor) and value_input.ndim == 3:
                seen.normed[layer] = value_input.detach().clone()

        return look

    def writing(captured: dict[Any, Tensor], key: Any) -> Any:
        def look(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            first = output if isinstance(output, Tensor) else output[0]
            captured[key] = first.detach().clone()

        return look

    def reads(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        seen.mlp_reads = [value.detach().clone() for value in (*args, *named.values()) if isinstance(value, Tensor)]

    with ExitStack() as handles:
        for layer in model.layers:
            attention = blocks[layer].attn
            handles.enter_context(attention.register_forward_pre_hook(reading(layer), with_kwargs=True))
            # The bridge's attention may add more than its heads (BLOOM: the residual stream); its projection does not.
            projection = getattr(attention, "o", None) if model.model_class == "TransformerBridge" else attention
            if isinstance(projection, nn.Module):
                handles.enter_context(projection.register_forward_hook(writing(seen.written, layer)))
        for name, module in blocks[0].named_children():
            if name.startswith("ln"):
                handles.enter_context(module.register_forward_hook(writing(seen.norms, name)))
        if isinstance(getattr(blocks[0], "mlp", None), nn.Module):
            handles.enter_context(blocks[0].mlp.register_forward_pre_hook(reads, with_kwargs=True))
        yield seen
