"""One block of a bridge: attention for some of its rows alone, and formulas of activations in one pass."""

from typing import Any

import pytest
import torch
from torch import nn
from toys import Toy, random_tokens
from transformers.activations import ACT2FN

from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.models.hooks import hook_z
from headcats.models.replay.bridge import record_bridge
from headcats.models.replay.bridge_block import RowLayout, fused, with_fresh, written_out

PROMPTS, LENGTH, FIRST = 3, 10, 6
TOKENS = random_tokens(PROMPTS, LENGTH)
LAYER = 1
X = torch.linspace(-9, 9, 1001)


@pytest.fixture
def model(toy: Toy) -> HookedModel:
    return adapt(toy.model)


def shapes_of(model: HookedModel, hook: str, seen: list[tuple[int, ...]]) -> Any:
    return model.model.hook_dict[hook].register_forward_hook(lambda module, args, output: seen.append(output.shape[:2]))


def test_spread_and_gather_are_the_reverse_of_each_other() -> None:
    rows = torch.arange(2 * 4 * 3 * 5).view(2, 4, 3, 5)
    for one_sequence, shape in ((False, (8, 3, 5)), (True, (2, 12, 5))):
        row_layout = RowLayout(prompts=2, width=3, one_sequence=one_sequence)
        gathered = row_layout.gather(rows)
        assert gathered.shape == shape
        assert torch.equal(row_layout.spread(gathered), rows)


def test_fresh_rows_come_last() -> None:
    changed, unpatched = torch.ones(2, 1, 3, 4), torch.zeros(2, 3, 4)
    assert with_fresh(changed, unpatched, 2).sum((0, 2, 3)).tolist() == [24, 0, 0]
    assert with_fresh(changed, unpatched, 0) is changed


@pytest.mark.parametrize(
    ("first", "last_only", "changed"), [(LENGTH - 1, False, 2), (FIRST, False, 0), (FIRST, True, 2)]
)
def test_attention_is_run_for_changed_rows_alone(model: HookedModel, first: int, last_only: bool, changed: int) -> None:
    """And the MLP for all of them, whose numbers are those of rows that all go through the attention."""
    recording = record_bridge(model, Continued.alone(TOKENS), first=first)
    base, fresh = recording.entering(LAYER), 3
    draws = torch.Generator().manual_seed(0)
    noise = torch.randn(PROMPTS, changed, *base.shape[1:], generator=draws)
    rows = base[:, None] + noise
    width = 1 if last_only else LENGTH - first

    def zeroes(z: torch.Tensor) -> torch.Tensor:
        assert z.shape[:3] == (PROMPTS, changed + fresh, width)
        z[:, :, :, 1] = 0
        return z

    queries: list[tuple[int, ...]] = []
    hidden: list[tuple[int, ...]] = []
    handles = [shapes_of(model, f"blocks.{LAYER}.attn.hook_q", queries)]
    handles.append(shapes_of(model, f"blocks.{LAYER}.mlp.hook_out", hidden))
    try:
        found = recording.block(LAYER, rows, fresh=fresh, edit=zeroes, last_only=last_only)
    finally:
        for handle in handles:
            handle.remove()
    assert {of_rows * positions for of_rows, positions in queries[-1:]} == {PROMPTS * max(1, changed) * width}
    assert {of_rows * positions for of_rows, positions in hidden} == {PROMPTS * (changed + fresh) * width}
    every_row = torch.cat([rows, base[:, None].expand(-1, fresh, -1, -1)], 1)
    expected = recording.block(LAYER, every_row, fresh=0, edit=zeroes, last_only=last_only)
    assert (found - expected).abs().max() < 1e-5


def test_no_hook_is_left(model: HookedModel) -> None:
    recording = record_bridge(model, Continued.alone(TOKENS), first=FIRST)
    rows = recording.entering(LAYER)[:, None]

    def edit(z: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("broken")

    before = [len(module._forward_pre_hooks) for module in model.model.modules()]
    with pytest.raises(RuntimeError, match="broken"):
        recording.block(LAYER, rows, fresh=1, edit=edit, last_only=False)
    assert [len(module._forward_pre_hooks) for module in model.model.modules()] == before
    assert not model.model.hook_dict[hook_z(LAYER)].fwd_hooks


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
