"""The value-output (OV) circuits of a model: what a head writes when it attends to a token.

TransformerLens gives the weights under the same names for both model classes, but not in the same shapes, and silently
wrong for an architecture that it misreads. So they are checked against what the model itself computes before use.
"""

import functools
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import attached_hook, text_config, unnoticed
from headcats.models.norms import Norm, no_norm, read_norm
from headcats.models.one_token_run import OneTokenRun, difference, one_token_run
from headcats.models.weights import check_finite, in_place, reading_weights

# Rounding error as a share of the largest value: sums over d_model in fp32; the model's own steps in 16 bits.
_ROUNDING = 1e-4
_ROUNDINGS_16_BIT = 12
# Columns of the unembedding that the readout is checked on.
_READ_COLUMNS = 4096
# Of a cosine: rounding of embeddings that a long vector of positions was added to, in 16 bits.
_SAME_DIRECTION = 1e-3


class Readout(NamedTuple):
    """Path from the residual stream after the last block to logits: `factor * (norm(x) @ W_U + b_U)`."""

    norm: Norm
    factor: float


class Circuit:
    """The circuits `E @ W_V @ W_O @ W_U` of a model as it is: weights in fp32 (fp64), detached, without biases."""

    def __init__(self, model: HookedModel) -> None:
        _check_unhooked(model)
        if getattr(text_config(model.model), "kv_lora_rank", None):
            raise ModelError(
                f"Model {model.name!r} makes its values from a compressed residual stream (multi-head latent "
                "attention), so its heads have no W_V, which this method reads. Causal methods need none."
            )
        check_finite(model.model, name=model.name)
        self.model = model
        self.dtype = torch.float64 if model.dtype == torch.float64 else torch.float32
        run = one_token_run(model)
        self.layers = model.layers
        for layer in self.layers:
            self._check_layer(layer, run)
        self._run = run

    @property
    def d_vocab(self) -> int:
        """Number of tokens with a logit."""
        return int(self._unembedding.shape[-1])

    def embeddings(self, tokens: Int[Tensor, " token"]) -> Float[Tensor, "token d_model"]:
        """Rows of the embedding matrix, as stored: no position, no scaling, no norm."""
        with reading_weights(self.model.model.embed, model=self.model.name):
            weight = self.model.model.W_E.detach()
        return weight[tokens.to(weight.device)].to(self.dtype)

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
        return self._unembedding[:, start:stop].to(self.dtype)

    @property
    def _unembedding(self) -> Tensor:
        with reading_weights(self.model.model.unembed, model=self.model.name):
            return self.model.model.W_U.detach()

    @torch.no_grad()
    def attention_norm(self, layer: int) -> Norm | str:
        """The norm between the residual stream and the values of a layer, or why it is not known."""
        residual, normed = self._run.residual.get(layer), self._run.normed[layer]
        if residual is not None and self._alike(residual, normed):
            return no_norm(self.model.d_model)
        module = getattr(self.model.model.blocks[layer], "ln1", None)
        with self.model.lock, unnoticed(self.model.device):
            if residual is None or module is None or not self._alike(module(residual), normed):
                return "its values are no function of the norm of the residual stream alone"
            return read_norm(module, residual)

    @functools.cached_property
    @torch.no_grad()
    def readout(self) -> Readout | str:
        """Readout of the residual stream after the last block, or why it is not known."""
        module, final = getattr(self.model.model, "ln_final", None), self._run.final
        if final is None:
            return "the output of its last block was not seen in a run"
        with self.model.lock, unnoticed(self.model.device):
            normed = final if module is None else module(final)
            norm = no_norm(self.model.d_model) if module is None else read_norm(module, final)
        if isinstance(norm, str):
            return norm
        with in_place(self.model.model.unembed):
            weight, bias = self.unembedding(0, _READ_COLUMNS), getattr(self.model.model, "b_U", None)
        written = normed[:, 0].to(weight) @ weight
        if bias is not None:
            written += bias.detach()[:_READ_COLUMNS].to(written)
        logits = self._run.logits[:, :_READ_COLUMNS].to(written)
        factor = float((written * logits).sum() / (written * written).sum())
        if not factor > 0 or not self._alike(factor * written, logits):
            return "its logits are not the unembedding of its final norm (but of a projection behind it, or capped)"
        return Readout(norm, factor)

    @functools.cached_property
    def reads_embeddings(self) -> bool:
        """True if tokens differ in block 0 by their embeddings, up to a factor; not so behind a norm (BLOOM)."""
        read = self._run.residual.get(0)
        if read is None:
            return False
        stored = difference(self.embeddings(self._run.tokens[:, 0]))
        found = difference(read)[0].to(stored)
        return float(torch.cosine_similarity(stored, found, dim=0)) > 1 - _SAME_DIRECTION

    def _alike(self, computed: Tensor, captured: Tensor) -> bool:
        off = (computed.to(captured) - captured).abs().max()
        return bool(off <= self._rounding * captured.abs().max())

    def unembedding_of(self, tokens: Int[Tensor, "*token"]) -> Float[Tensor, "*token d_model"]:
        """Columns of the unembedding, each as a row."""
        weight = self._unembedding
        return weight.T[tokens.to(weight.device)].to(self.dtype)

    @torch.no_grad()
    def final_scale(self, final: Float[Tensor, "prompt d_model"]) -> Float[Tensor, " prompt"]:
        """Divisor of the final norm of a `readout` for these residual streams."""
        module = getattr(self.model.model, "ln_final", None)
        if module is None or isinstance(self.readout, str):
            return torch.ones(len(final), dtype=self.dtype, device=final.device)
        with self.model.lock, unnoticed(self.model.device):
            normed = module(final[:, None])[:, 0]
        return self.readout.norm.frozen_scale(final.to(self.dtype), normed.to(self.dtype))

    def _W_V(self, layer: int) -> Tensor:
        # HookedTransformer keeps one projection per group under this name, and gives copies under `W_V`.
        attention = self.model.model.blocks[layer].attn
        with reading_weights(attention, model=self.model.name):
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

    def _check_layer(self, layer: int, run: OneTokenRun) -> None:
        # On the difference between two one-token prompts: biases cancel, and a head's output is its value.
        values = self.values(difference(run.normed[layer]).to(self.dtype), layer=layer)[:, 0]
        self._compare("W_V", layer, values, self.per_head(run.values[layer], layer=layer, dim=2))
        z = difference(run.z[layer])[0].to(self.dtype)
        self._compare("W_O", layer, torch.einsum("hd,hdm->m", z, self.W_O(layer).to(z.device)), run.written[layer])

    @property
    def _rounding(self) -> float:
        return max(_ROUNDING, _ROUNDINGS_16_BIT * torch.finfo(self.model.dtype).eps)

    def _compare(self, name: str, layer: int, computed: Tensor, captured: Tensor) -> None:
        expected = difference(captured)[0].to(self.dtype)
        if not bool(torch.isfinite(captured).all()):
            raise ModelError(
                f"Layer {layer} of model {self.model.name!r} gives NaN or infinity on a single token: its weights "
                f"overflow in {self.model.dtype}; load it in float32 or bfloat16."
            )
        floor = self._rounding * max(float(captured.abs().max()), torch.finfo(torch.float32).tiny)
        off = float((computed.to(expected.device) - expected).abs().max())
        if not off <= floor:
            raise ModelError(
                f"{name} of layer {layer} of model {self.model.name!r}, as TransformerLens gives it, is not what the "
                f"model computes with (off by {off:.3g}; {floor:.1g} would be rounding), so methods that read weights "
                f"cannot be used on this architecture. Causal methods can."
            )


def _check_unhooked(model: HookedModel) -> None:
    with model.lock:
        hooked = attached_hook(model.model)
    if hooked:
        raise ModelError(
            f"Model {model.name!r} has hooks of its own, for example at {hooked!r}, and this method reads weights, "
            f"which do not show what hooks do: call its reset_hooks() first."
        )
