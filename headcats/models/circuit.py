"""The value-output (OV) circuits of a model: what a head writes when it attends to a token.

TransformerLens gives the weights under the same names for both model classes, but not in the same shapes (under
grouped-query attention, one value projection per query head or one per group), and silently wrong for an architecture
that it misreads. So they are checked against what the model itself computes before use.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headcats.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import attached_hook, hook_z, keeping, unnoticed
from headcats.models.weights import check_finite

# Rounding error as a share of the largest value: sums over d_model in fp32; the model's own steps in 16 bits.
_ROUNDING = 1e-4
_ROUNDINGS_16_BIT = 12
# Rows per call of the MLP, whose hidden layer is the largest tensor here.
_MLP_ROWS = 2048
FirstMLP = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Any]]
"""The norm that the MLP of block 0 reads, and the MLP."""
NO_MLP = "block 0 has none that is called as a module of its own"
NO_NORM = "it reads no norm of its block (this architecture norms what comes out of it)"
WITH_RESIDUAL = "it adds the residual stream itself"


class CircuitRun(NamedTuple):
    """Two prompts of one token each, layer by layer."""

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


class Circuit:
    """The value-output circuits `E @ W_V @ W_O @ W_U` of a model with unprocessed weights.

    All weights are in fp32 (fp64 for a model in fp64), detached and without biases. The model is not changed. A
    ModelError for folded weights, a weight that is not finite or cannot be read, or projections that the model does not
    compute with.
    """

    def __init__(self, model: HookedModel) -> None:
        _check_unprocessed(model)
        _check_unhooked(model)
        check_finite(model.model, name=model.name)
        self.model = model
        self.dtype = torch.float64 if model.dtype == torch.float64 else torch.float32
        run = one_token_run(model)
        self.layers = model.layers
        for layer in self.layers:
            self._check_layer(layer, run)
        self._first_mlp: FirstMLP | str = run.first_mlp

    @property
    def d_vocab(self) -> int:
        """Number of tokens with a logit."""
        return int(self.model.model.W_U.shape[-1])

    def embeddings(self, tokens: Int[Tensor, " token"]) -> Float[Tensor, "token d_model"]:
        """Rows of the embedding matrix, as stored: no position, no scaling, no norm."""
        weight = self.model.model.W_E.detach()
        return weight[tokens.to(weight.device)].to(self.dtype)

    @torch.no_grad()
    def after_first_mlp(self, rows: Float[Tensor, "token d_model"]) -> Float[Tensor, "token d_model"]:
        """Output of block 0's norm and MLP, without residual stream and without a norm after the MLP (Gemma 2, 3)."""
        if isinstance(self._first_mlp, str):
            raise ModelError(
                f"Model {self.model.name!r} cannot show what its first MLP makes of an embedding: {self._first_mlp}. "
                f"Read the embeddings themselves, with first_mlp='off'."
            )
        norm, mlp = self._first_mlp
        outputs = []
        with self.model.lock, unnoticed(self.model.device):
            for part in rows.split(_MLP_ROWS):
                output = mlp(norm(part.to(self.model.dtype).unsqueeze(0)))
                outputs.append((output if isinstance(output, Tensor) else output[0])[0].to(self.dtype))
        return torch.cat(outputs)

    def values(self, rows: Float[Tensor, "token d_model"], *, layer: int) -> Float[Tensor, "head token d_head"]:
        """`rows @ W_V` of every query head; equal within a group of heads."""
        weight = self._W_V(layer).to(self.dtype)
        return self.per_head(rows.to(weight.device) @ weight, layer=layer, dim=0)

    def per_head(self, values: Tensor, *, layer: int, dim: int) -> Tensor:
        """Values of groups of heads, along `dim`, repeated for every query head."""
        return values.repeat_interleave(self.model.n_heads[layer] // values.shape[dim], dim=dim)

    def W_O(self, layer: int) -> Float[Tensor, "head d_head d_model"]:
        """Output projection per query head."""
        return self.model.W_O(layer).to(self.dtype)

    def unembedding(self, start: int = 0, stop: int | None = None) -> Float[Tensor, "d_model token"]:
        """Columns of the unembedding; in parts, a large vocabulary in 16 bits need not be cast at once."""
        return self.model.model.W_U.detach()[:, start:stop].to(self.dtype)

    def _W_V(self, layer: int) -> Tensor:
        # HookedTransformer keeps one projection per group under this name, and gives copies under `W_V`.
        attention = self.model.model.blocks[layer].attn
        weight = getattr(attention, "_W_V", None)
        weight = attention.W_V if weight is None else weight
        n_heads, expected = self.model.n_heads[layer], (self.model.d_model, self.model.d_head[layer])
        if not isinstance(weight, Tensor) or tuple(weight.shape[1:]) != expected or n_heads % len(weight):
            actual = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
            raise ModelError(
                f"W_V of layer {layer} of model {self.model.name!r} is {actual}; expected [groups of heads, "
                f"{expected[0]}, {expected[1]}] for {n_heads} heads."
            )
        return weight.detach()

    def _check_layer(self, layer: int, run: CircuitRun) -> None:
        # On the difference between two one-token prompts: biases cancel, and a head's output is its value.
        values = self.values(difference(run.normed[layer]).to(self.dtype), layer=layer)[:, 0]
        self._compare("W_V", layer, values, self.per_head(run.values[layer], layer=layer, dim=2))
        z = difference(run.z[layer])[0].to(self.dtype)
        self._compare("W_O", layer, torch.einsum("hd,hdm->m", z, self.W_O(layer).to(z.device)), run.written[layer])

    def _compare(self, name: str, layer: int, computed: Tensor, captured: Tensor) -> None:
        expected = difference(captured)[0].to(self.dtype)
        if not bool(torch.isfinite(captured).all()):
            raise ModelError(
                f"Layer {layer} of model {self.model.name!r} gives NaN or infinity on a single token: its weights "
                f"overflow in {self.model.dtype}; load it in float32 or bfloat16."
            )
        share = max(_ROUNDING, _ROUNDINGS_16_BIT * torch.finfo(self.model.dtype).eps)
        floor = share * max(float(captured.abs().max()), torch.finfo(torch.float32).tiny)
        off = float((computed.to(expected.device) - expected).abs().max())
        if not off <= floor:
            raise ModelError(
                f"{name} of layer {layer} of model {self.model.name!r}, as TransformerLens gives it, is not what the "
                f"model computes with (off by {off:.3g}; {floor:.1g} would be rounding), so methods that read weights "
                f"cannot be used on this architecture. Causal methods can."
            )


def _check_unprocessed(model: HookedModel) -> None:
    processing = model.weight_processing
    if processing == "none":
        return
    problem = "hides its weights, so they may have been processed"
    if processing == "processed":
        problem = "has processed weights (LayerNorm, means or value biases folded in)"
    raise ModelError(
        f"Model {model.name!r} {problem}, and this method needs the weights as trained: folding changes how a head "
        f"reads an embedding. Load it with hc.load_model or HookedTransformer.from_pretrained_no_processing; a "
        f"TransformerBridge without enable_compatibility_mode()."
    )


def _check_unhooked(model: HookedModel) -> None:
    with model.lock:
        hooked = attached_hook(model.model)
    if hooked:
        raise ModelError(
            f"Model {model.name!r} has hooks of its own, for example at {hooked!r}, and this method reads weights, "
            f"which do not show what hooks do: call its reset_hooks() first."
        )


def hook_v(layer: int) -> str:
    """Name of the hook at the values `[prompt, pos, head or group, d_head]` of a layer."""
    return hook_z(layer).replace("hook_z", "hook_v")


def difference(of_two: Tensor) -> Tensor:
    """First prompt minus second, without the prompt axis."""
    return of_two[0] - of_two[1]


def one_token_run(model: HookedModel) -> CircuitRun:
    """Run the first and the last token of the vocabulary as two prompts."""
    tokens = torch.tensor([[0], [model.d_vocab - 1]])
    normed, values, z, written = (dict[int, Tensor]() for _ in range(4))
    norms, mlp_reads = dict[str, Tensor](), dict[int, Tensor]()
    hooks = {hook_v(layer): keeping(values, layer) for layer in model.layers}
    hooks |= {hook_z(layer): keeping(z, layer) for layer in model.layers}
    blocks: Any = model.model.blocks

    def read_attention(layer: int, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        value_input = named.get("value_input", named.get("hidden_states", next(iter(args), None)))
        if isinstance(value_input, Tensor) and value_input.ndim == 3:
            keeping(normed, layer)(value_input)

    def read_mlp(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        for place, value in enumerate((*args, *named.values())):
            if isinstance(value, Tensor):
                keeping(mlp_reads, place)(value)

    def write(captured: dict[Any, Tensor], key: Any, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        keeping(captured, key)(output if isinstance(output, Tensor) else output[0])

    with model.lock, unnoticed(model.device), ExitStack() as handles:
        for layer in model.layers:
            attention = blocks[layer].attn
            handles.enter_context(attention.register_forward_pre_hook(partial(read_attention, layer), with_kwargs=True))
            # The bridge's attention may add more than its heads (BLOOM: the residual stream); its projection does not.
            projection = getattr(attention, "o", None) if model.model_class == "TransformerBridge" else attention
            if isinstance(projection, nn.Module):
                handles.enter_context(projection.register_forward_hook(partial(write, written, layer)))
        for name, module in blocks[0].named_children():
            if name.startswith("ln"):
                handles.enter_context(module.register_forward_hook(partial(write, norms, name)))
        if isinstance(getattr(blocks[0], "mlp", None), nn.Module):
            handles.enter_context(blocks[0].mlp.register_forward_pre_hook(read_mlp, with_kwargs=True))
        model.run(tokens, hooks=hooks)
    for layer in model.layers:
        for part, captured in (("input", normed), ("output projection", written)):
            if layer not in captured:
                raise ModelError(
                    f"The {part} of the attention in layer {layer} of model {model.name!r} was not seen in a run, so "
                    f"its weights cannot be checked: methods that read weights cannot be used on this architecture."
                )
    return CircuitRun(normed, values, z, written, _first_mlp(blocks[0], norms, [*mlp_reads.values()]))


def _first_mlp(block: Any, norms: dict[str, Tensor], mlp_reads: list[Tensor]) -> FirstMLP | str:
    if len(mlp_reads) != 1:
        return WITH_RESIDUAL if mlp_reads else NO_MLP
    # Parallel blocks may share the first norm; of two norms with equal output, the second belongs to the MLP.
    for name in sorted(norms, reverse=True):
        if norms[name].shape == mlp_reads[0].shape and torch.allclose(norms[name], mlp_reads[0], rtol=1e-5, atol=1e-6):
            return getattr(block, name), block.mlp
    return NO_NORM
