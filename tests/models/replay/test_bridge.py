"""The recorded run of a bridge: what the model itself computes, without what nothing reads."""

from typing import Any

import pytest
import torch
from architectures import tiny_bridge
from torch import nn
from toys import Toy, random_tokens
from transformers.activations import ACT2FN

from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.models.hooks import hook_z
from headcats.models.replay.bridge import _Run, record_bridge
from headcats.models.replay.bridge_block import FixedPrefix, RowLayout, fused, with_fresh, written_out
from headcats.models.replay.recording import Unreplayable

PROMPTS, LENGTH, FIRST = 3, 10, 6
TOKENS = random_tokens(PROMPTS, LENGTH)
FIRSTS = (LENGTH - 1, LENGTH - 3, 1, 0)
LAYER = 1
X = torch.linspace(-9, 9, 1001)


@pytest.fixture
def model(toy: Toy) -> HookedModel:
    return adapt(toy.model)


def torch_hooks(model: HookedModel) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.model.modules())


def positions_of(model: HookedModel, hook: str, *, first: int) -> list[int]:
    """Number of positions of every value that a hook of the bridge gets while a run is recorded."""
    seen: list[int] = []
    point = model.model.hook_dict[hook]
    handle = point.register_forward_hook(lambda module, args, output: seen.append(output.shape[1]))
    try:
        record_bridge(model, Continued.alone(TOKENS), first=first)
    finally:
        handle.remove()
    return seen


@pytest.mark.both_versions
def test_it_is_the_models_own_run(model: HookedModel) -> None:
    for tokens, first in [*((TOKENS, first) for first in FIRSTS), (TOKENS[:, :1], 0)]:
        logits, z = model.capture(tokens)
        recording = record_bridge(model, Continued.alone(tokens), first=first)
        assert (recording.logits - logits).abs().max() < 1e-5
        assert list(recording.z) == list(model.layers)
        for layer in model.layers:
            assert recording.z[layer].shape[1] == tokens.shape[1] - first
            assert (recording.z[layer] - z[layer][:, first:]).abs().max() < 1e-5


@pytest.mark.both_versions
def test_the_last_block_does_what_is_read_and_no_more(model: HookedModel) -> None:
    for layer in model.layers:
        expected = 1 if layer == model.layers[-1] else LENGTH
        assert positions_of(model, f"blocks.{layer}.mlp.hook_out", first=LENGTH - 3) == [expected]


@pytest.mark.parametrize("first", [LENGTH - 1, 1])
def test_keys_and_values_of_the_last_block_are_those_of_a_whole_run(model: HookedModel, first: int) -> None:
    layer = model.layers[-1]
    found = record_bridge(model, Continued.alone(TOKENS), first=first)._prefixes[layer]
    # In a run of one token more, no other position is the last.
    whole = record_bridge(model, Continued.alone(torch.cat([TOKENS, TOKENS[:, :1]], 1)), first=LENGTH)._prefixes[layer]
    for part, expected in zip(found, whole, strict=True):
        assert part.shape[-2] == first
        assert torch.allclose(part, expected[..., :first, :], atol=1e-5)


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_on_the_model(model: HookedModel, fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model.logits(TOKENS)  # the bridge puts hooks of its own on some modules in its first forward pass
    before, own = torch_hooks(model), ["forward" in vars(module) for module in model.model.modules()]
    if fails:

        def broken(*args: Any, **options: Any) -> Any:
            raise RuntimeError("broken")

        monkeypatch.setattr("headcats.models.replay.bridge.compact_slice", broken)
        with pytest.raises(RuntimeError, match="broken"):
            record_bridge(model, Continued.alone(TOKENS), first=LENGTH - 1)
    else:
        record_bridge(model, Continued.alone(TOKENS), first=LENGTH - 1)
    assert torch_hooks(model) == before
    assert ["forward" in vars(module) for module in model.model.modules()] == own
    assert not model.logits(TOKENS).isnan().any()


def test_a_block_that_keeps_its_keys_to_itself_is_run_whole(
    model: HookedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = LENGTH - 3
    monkeypatch.setattr(FixedPrefix, "update", lambda self, keys, values, *_, **__: (keys, values))
    assert positions_of(model, f"blocks.{model.layers[-1]}.mlp.hook_out", first=first) == [LENGTH, LENGTH]
    logits, z = model.capture(TOKENS)
    recording = record_bridge(model, Continued.alone(TOKENS), first=first)
    assert (recording.logits - logits).abs().max() < 1e-5
    assert all((recording.z[layer] - z[layer][:, first:]).abs().max() < 1e-5 for layer in model.layers)


def test_keys_in_fp32_beside_values_in_16_bits() -> None:
    """The norm of OLMo-2's keys gives fp32."""
    model = adapt(tiny_bridge.__wrapped__("olmo2").to(torch.bfloat16))  # tests share the one that is kept
    recording = record_bridge(model, Continued.alone(TOKENS), first=2)
    recording.block(0, None, fresh=2, edit=None, last_only=False)
    logits = model.logits(TOKENS)
    assert (recording.logits - logits).abs().max() < 0.05 * logits.abs().max()


def test_a_recording_does_not_hold_the_cache(model: HookedModel) -> None:
    recording = record_bridge(model, Continued.alone(TOKENS), first=LENGTH - 1)
    assert recording._arguments[0]._cache.layers == []


def test_blocks_that_run_in_another_order_are_refused(model: HookedModel) -> None:
    with (
        pytest.raises(Unreplayable, match="blocks"),
        _Run(list(model.model.blocks)[::-1], Continued.alone(TOKENS), LENGTH - 1),
    ):
        model.logits(TOKENS)


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
