"""The recorded run of a bridge: what the model itself computes, without what nothing reads."""

from typing import Any

import pytest
import torch
from architectures import tiny_bridge
from toys import Toy, random_tokens

from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.models.replay.bridge import _Run, record_bridge
from headcats.models.replay.bridge_block import FixedPrefix
from headcats.models.replay.recording import Unreplayable

LENGTH = 10
TOKENS = random_tokens(3, LENGTH)
FIRSTS = (LENGTH - 1, LENGTH - 3, 1, 0)


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
