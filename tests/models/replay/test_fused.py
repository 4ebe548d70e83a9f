"""Formulas of activations in one pass: the same function, for as long as it is asked for, and in fp32 alone."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from architectures import tiny_bridge
from torch import nn
from transformers.activations import ACT2FN

from headcats.models.replay.fused import fused, written_out

X = torch.linspace(-9, 9, 1001)


def own(module: Any) -> Any:
    """A copy, as tests share the bridge."""
    return copy.deepcopy(module)


def calls_of(hook: nn.Module) -> Callable[[], int]:
    """How often a hook of the bridge was reached so far."""
    seen: list[None] = []
    hook.register_forward_hook(lambda *_: seen.append(None))
    return lambda: len(seen)


@pytest.fixture(params=["gpt2", "llama", "gemma3"])
def norm(request: pytest.FixtureRequest) -> Any:
    return own(tiny_bridge(request.param).blocks[0].ln1)


@pytest.mark.parametrize("name", ["gelu_new", "gelu_fast"])
def test_it_is_the_same_function(name: str) -> None:
    module = ACT2FN[name]
    expected = module(X)
    with fused(written_out(module)):
        found = module(X)
    assert torch.allclose(found, expected, rtol=0, atol=4 * torch.finfo(X.dtype).eps * 9)
    assert torch.equal(module(X), expected)


def test_it_is_another_computation() -> None:
    """Else the tests here would pass with nothing replaced."""
    module = ACT2FN["gelu_new"]
    with fused(written_out(module)):
        assert not torch.equal(module(X), type(module).forward(module, X))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_in_other_types_the_formula_is_kept(dtype: torch.dtype) -> None:
    module, x = ACT2FN["gelu_new"], X.to(dtype)
    expected = module(x)
    with fused(written_out(module)):
        assert torch.equal(module(x), expected)


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


def test_norms_of_a_bridge_are_what_they_wrap(norm: Any) -> None:
    """To the rounding of fp32; in 16 bits they are computed as ever."""
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    expected, called = norm(x), calls_of(norm.hook_scale)
    with fused(written_out(norm)):
        found = norm(x)
        assert called() == 0
        rounded = norm(x.bfloat16())
        assert called() == 1
    assert torch.allclose(found, expected, rtol=0, atol=1e-5)
    assert torch.equal(rounded, norm(x.bfloat16()))
    assert not torch.allclose(found, x, atol=0.1)


def test_a_norm_with_another_epsilon_than_its_bridge_is_left_alone() -> None:
    norm = own(tiny_bridge("gpt2").blocks[0].ln1)
    assert written_out(norm) == [norm]
    norm.original_component.eps = 1e-3
    assert written_out(norm) == []
