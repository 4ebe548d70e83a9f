"""What a LayerNorm or RMSNorm does to a vector while its scale is frozen: it is linear then."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

# Large against the epsilon of any norm, and no overflow when squared in fp16.
_SIZE = 64.0
_ROUNDING = 1e-3


class Norm(NamedTuple):
    """`weight * (x - mean) / scale + bias`, or without the mean where it is not `centred`."""

    weight: Float[Tensor, " d_model"]
    bias: Float[Tensor, " d_model"]
    centred: bool

    def linear(self, x: Float[Tensor, "*row d_model"]) -> Float[Tensor, "*row d_model"]:
        """`weight * (x - mean)`: what is left of `x` at a scale of 1."""
        return (x - x.mean(-1, keepdim=True) if self.centred else x) * self.weight.to(x.device)

    def read(self, direction: Float[Tensor, "*row d_model"]) -> Float[Tensor, "*row d_model"]:
        """The d with `linear(x) @ direction = x @ d`: what is to be looked for before the norm."""
        weighted = direction * self.weight.to(direction.device)
        return weighted - weighted.mean(-1, keepdim=True) if self.centred else weighted

    def frozen_scale(
        self, x: Float[Tensor, "*row d_model"], normed: Float[Tensor, "*row d_model"]
    ) -> Float[Tensor, " *row"]:
        """The scale that made `normed` of `x`; of a norm by its epsilon too, as measured."""
        linear, without_bias = self.linear(x), normed - self.bias.to(normed.device)
        return (linear * linear).sum(-1) / (linear * without_bias).sum(-1)


def no_norm(d_model: int) -> Norm:
    """The norm that changes nothing."""
    return Norm(torch.ones(d_model), torch.zeros(d_model), False)


@torch.no_grad()
def read_norm(module: nn.Module, like: Float[Tensor, "prompt pos d_model"]) -> Norm | str:
    """The norm that a module computes, read off what it makes of a few vectors like `like`, or why it is none."""
    probes = _SIZE * _probes(like)
    outputs = module(probes[:, None])
    if not isinstance(outputs, Tensor) or outputs.shape != probes[:, None].shape:
        return "its norm returns something else than vectors"
    exact = torch.promote_types(like.dtype, torch.float32)
    zero, ones, first, second = outputs[:, 0].to(exact)
    _, _, signs, sizes = probes.to(exact)
    weight = (first - zero) * signs.square().mean().sqrt() / signs
    rounding = max(_ROUNDING, 4 * torch.finfo(like.dtype).eps) * float(weight.abs().max())
    centred = bool((ones - zero).abs().max() <= rounding)
    expected = [weight * sizes / sizes.square().mean().sqrt(), torch.zeros_like(weight) if centred else weight]
    off = max(float((found - zero - each).abs().max()) for found, each in zip((second, ones), expected, strict=True))
    if not rounding > 0 or not off <= 2 * rounding:
        return "its norm is neither a LayerNorm nor an RMSNorm"
    return Norm(weight, zero, centred)


def _probes(like: Float[Tensor, "prompt pos d_model"]) -> Float[Tensor, "4 d_model"]:
    """Zeros, ones, and two vectors with mean 0: all entries of one size (but the last of an odd number), and of two."""
    d_model = like.shape[-1]
    signs, sizes = like.new_ones(d_model), like.new_ones(d_model)
    signs[1::2] = -1
    sizes[2::4] = sizes[3::4] = 2
    if d_model % 2:
        signs[-3:], sizes[-3:] = like.new_tensor([1, 1, -2]), 1
    return torch.stack([torch.zeros_like(signs), torch.ones_like(signs), signs, signs * sizes])
