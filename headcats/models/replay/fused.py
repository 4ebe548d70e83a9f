"""Parts of a block, computed in fewer passes than the model's own modules take, and equal up to rounding.

Of a HookedTransformer: norms, MLPs and projections, from its weights. Where a module is not known here (a mixture of
experts, an unusual activation, a module of the user), it is called itself. Of a bridge: GELU that transformers writes
out as a formula of many passes, a tenth of a replay of GPT-2.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

_NORMS = ("LayerNorm", "LayerNormPre", "RMSNorm", "RMSNormPre")
_TANH_GELU = ("gelu_new", "gelu_fast", "gelu_pytorch_tanh")
_WRITTEN_OUT = (NewGELUActivation, FastGELUActivation)
_FULL_PRECISION = (torch.float32, torch.float64)


def is_from_transformer_lens(module: Any, *names: str) -> bool:
    """True if `module` is one of TransformerLens' classes of these names, and no subclass.

    Names, not classes: HookedTransformer's modules are gone in transformer-lens 4.
    """
    return type(module).__name__ in names and type(module).__module__.split(".")[0] == "transformer_lens"


def apply_norm(norm: Any, x: Tensor) -> Tensor:
    """`norm(x)` over the last axis, fused where it is one of TransformerLens' four norms."""
    if not is_from_transformer_lens(norm, *_NORMS):
        return norm(x.reshape(1, -1, x.shape[-1])).view(x.shape)
    is_rms = type(norm).__name__.startswith("RMS")
    weight, bias = getattr(norm, "w", None), getattr(norm, "b", None)
    if x.dtype in _FULL_PRECISION:
        if is_rms:
            return F.rms_norm(x, x.shape[-1:], weight, norm.eps)
        return F.layer_norm(x, x.shape[-1:], weight, bias, norm.eps)
    # As TransformerLens rounds: only the division is done in fp32.
    plain = F.rms_norm if is_rms else F.layer_norm
    y = plain(x.float(), x.shape[-1:], eps=norm.eps).to(x.dtype)
    y = y if weight is None else y.mul_(weight)
    return y if bias is None else y.add_(bias)


def apply_mlp(mlp: Any, x: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_model"]:
    """`mlp(x)`, fused where it is TransformerLens' plain or gated one."""
    if not is_from_transformer_lens(mlp, "MLP", "GatedMLP") or mlp.cfg.act_fn.endswith("_ln"):
        return mlp(x.unsqueeze(0))[0]
    x = x.to(mlp.W_in.device)
    if type(mlp).__name__ == "MLP":
        hidden = _activated(mlp, torch.addmm(mlp.b_in, x, mlp.W_in))
    else:
        hidden = _activated(mlp, x @ mlp.W_gate).mul_(x @ mlp.W_in).add_(mlp.b_in)
    return torch.addmm(mlp.b_out, hidden, mlp.W_out)


def _activated(mlp: Any, hidden: Tensor) -> Tensor:
    if mlp.cfg.act_fn in _TANH_GELU:
        return F.gelu(hidden, approximate="tanh")
    return mlp.act_fn(hidden)


def project(
    normed: Float[Tensor, "prompt row pos d_model"],
    weight: Float[Tensor, "head d_model d_head"],
    bias: Float[Tensor, "head d_head"],
) -> Float[Tensor, "prompt row pos head d_head"]:
    """Queries, keys or values of every head."""
    heads, d_model, d_head = weight.shape
    # Copied on every call, as TransformerLens does: that costs next to nothing beside the product, and weights that
    # were kept could be out of date.
    together = weight.to(normed.device).transpose(0, 1).reshape(d_model, heads * d_head)
    out = torch.addmm(bias.to(normed.device).flatten(), normed.reshape(-1, d_model), together)
    return out.view(*normed.shape[:-1], heads, d_head)


def written_out(block: nn.Module) -> list[nn.Module]:
    """Modules of a block that `fused` can replace; none whose `forward` is already replaced."""
    return [module for module in block.modules() if type(module) in _WRITTEN_OUT and "forward" not in vars(module)]


@contextmanager
def fused(activations: Iterable[nn.Module]) -> Iterator[None]:
    """Compute modules of `written_out` in one pass, with their hooks; hold the model's lock meanwhile.

    Only in fp32: in 16 bits the formula rounds after each pass, and one of the two has a constant of ten digits.
    """
    replaced: list[Any] = [module for module in activations if "forward" not in vars(module)]
    try:
        for module in replaced:
            module.forward = partial(_tanh_gelu, module)
        yield
    finally:
        for module in replaced:
            vars(module).pop("forward", None)


def _tanh_gelu(module: nn.Module, x: Tensor) -> Tensor:
    if x.dtype == torch.float32:
        return F.gelu(x, approximate="tanh")
    return type(module).forward(module, x)
