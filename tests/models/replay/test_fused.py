"""Formulas of activations in one pass: the same function, for as long as it is asked for, and in fp32 alone."""

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from headcats.models.replay.fused import fused, written_out

X = torch.linspace(-9, 9, 1001)


@pytest.mark.parametrize("name", ["gelu_new", "gelu_fast"])
def test_it_is_the_same_function_by_another_computation(name: str) -> None:
    module = ACT2FN[name]
    expected = module(X)
    with fused(written_out(module)):
        found = module(X)
    assert torch.allclose(found, expected, rtol=0, atol=4 * torch.finfo(X.dtype).eps * 9)
    assert not torch.equal(found, expected)  # else nothing was replaced
    assert torch.equal(module(X), expected)


def test_in_other_types_the_formula_is_kept() -> None:
    module = ACT2FN["gelu_new"]
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        expected = module(X.to(dtype))
        with fused(written_out(module)):
            assert torch.equal(module(X.to(dtype)), expected)


def test_only_what_is_known_is_replaced() -> None:
    replaced_by_the_user = ACT2FN["gelu_new"]
    replaced_by_the_user.forward = torch.relu

    class Own(type(ACT2FN["gelu_new"])):
        pass

    known = ACT2FN["gelu_new"]
    block = nn.Sequential(known, nn.GELU(), ACT2FN["quick_gelu"], Own(), replaced_by_the_user)
    assert written_out(block) == [known]


def test_it_ends_with_an_error_too() -> None:
    module = ACT2FN["gelu_new"]
    with pytest.raises(RuntimeError, match="broken"), fused(written_out(module)):
        raise RuntimeError("broken")
    assert "forward" not in vars(module)
