"""A norm is read off its behaviour: LayerNorm, RMSNorm and Gemma's, even and odd widths, and what is none."""

import pytest
import torch
from covering import pairwise
from torch import nn
from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from headcats.models.norms import Norm, no_norm, read_norm


def randomised(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape) + (parameter.ndim == 1))
    return module


@pytest.mark.parametrize(
    ("kind", "width", "eps"), pairwise([nn.LayerNorm, LlamaRMSNorm, Gemma2RMSNorm], [8, 9], [1e-6, 1e-2])
)
@torch.no_grad()
def test_with_its_scale_frozen_it_is_linear(kind, width, eps):
    centred = kind is nn.LayerNorm
    module, x = randomised(kind(width, eps=eps)), torch.randn(4, 1, width)
    norm = read_norm(module, x)
    assert isinstance(norm, Norm)
    assert norm.centred == centred
    scale = norm.frozen_scale(x, module(x))
    torch.testing.assert_close(norm.linear(x) / scale[..., None] + norm.bias, module(x), rtol=1e-3, atol=1e-3)
    moved = x - x.mean(-1, keepdim=True) * centred
    torch.testing.assert_close(scale, (moved.square().mean(-1) + eps).sqrt(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [nn.LayerNorm, LlamaRMSNorm])
def test_what_is_read_behind_it_is_read_before_it(kind):
    norm = read_norm(randomised(kind(8)), torch.zeros(1, 1, 8))
    x, direction = torch.randn(5, 8), torch.randn(8)
    torch.testing.assert_close(norm.linear(x) @ direction, x @ norm.read(direction))


def test_no_norm_changes_nothing():
    x = torch.randn(3, 8)
    norm = no_norm(8)
    assert torch.equal(norm.linear(x), x)
    torch.testing.assert_close(norm.frozen_scale(x, x), torch.ones(3))


def test_other_modules_are_none():
    for module in (nn.Linear(8, 8), nn.Tanh(), nn.Identity(), nn.Linear(8, 4)):
        assert isinstance(read_norm(module, torch.zeros(1, 1, 8)), str)


def test_16_bits():
    module = randomised(nn.LayerNorm(8)).to(torch.bfloat16)
    norm = read_norm(module, torch.zeros(1, 1, 8, dtype=torch.bfloat16))
    torch.testing.assert_close(norm.weight, module.weight.float(), rtol=0.02, atol=0.02)
