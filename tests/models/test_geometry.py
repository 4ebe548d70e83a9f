"""Which query heads share keys and values: on every architecture, and what is not taken on trust."""

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, N_HEADS, hf_architecture, plain_z, tiny_bridge
from toys import Toy, random_tokens

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.geometry import Geometry, _n_kv_heads
from headcats.models.hooks import hook_v

GROUPED = {"llama", "gemma2", "gemma3", "qwen3", "mixtral", "gpt_oss", "olmo2", "mistral", "cohere", "granite"}
GROUPED |= {"bamba", "qwen3_next"}


def test_every_architecture_has_its_groups() -> None:
    for name in ARCHITECTURES:
        model = HookedModel(tiny_bridge(name))
        expected = 2 if name in GROUPED else 1 if name == "falcon" else N_HEADS
        assert dict(model.n_kv_heads) == dict.fromkeys(model.layers, expected), name
        assert ("kv_head" in model.axes) == (expected < N_HEADS), name
        if expected < N_HEADS:
            dims, number = model.axes["kv_head"]
            assert dims == ("layer", "head")
            assert number.tolist() == [[head * expected // N_HEADS for head in range(N_HEADS)]] * len(model.layers)


@pytest.mark.parametrize("name", ["llama", "gpt_oss", "qwen3_next"])
def test_heads_of_a_group_are_those_that_plain_transformers_gives_its_values(name: str) -> None:
    twin, model, tokens = hf_architecture(name), HookedModel(tiny_bridge(name)), random_tokens(2, 8)
    layer = model.layers[0]
    before = plain_z(twin, tokens)[layer]
    projection = twin.model.layers[layer].self_attn.v_proj
    with torch.no_grad():
        second_half = projection.weight[projection.weight.shape[0] // 2 :]
        second_half.mul_(-1)  # the values of key-value head 1
    changed = (plain_z(twin, tokens)[layer] - before).abs().amax((0, 1, 3)) > 1e-4
    assert changed.tolist() == (model.axes["kv_head"][1][0] == 1).tolist()


def test_both_classes_agree(any_toy: Toy) -> None:
    model = adapt(any_toy.model)
    assert set(model.n_kv_heads.values()) == {2 if any_toy.oracle.config.model_type == "llama" else 4}


def run_of(values: torch.Tensor, order: list[int]) -> torch.Tensor:
    """Z of one token when query heads read these key-value heads."""
    return values[:, :, order]


class TestConfirmation:
    values = torch.randn(1, 1, 2, 16, generator=torch.Generator().manual_seed(0))

    @pytest.mark.parametrize("factor", [1.0, 0.3, "gate"])
    def test_neighbours_and_nothing_else(self, factor: Any) -> None:
        scale = torch.rand(1, 1, 4, 16) + 0.1 if factor == "gate" else factor
        assert _n_kv_heads(run_of(self.values, [0, 0, 1, 1]) * scale, self.values, 2) == 2
        for order in ([0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 0, 1]):
            assert _n_kv_heads(run_of(self.values, order) * scale, self.values, 2) == 4

    def test_values_that_the_hook_repeats_are_told_by_the_configuration(self) -> None:
        z = run_of(self.values, [0, 0, 1, 1])
        assert _n_kv_heads(z, z, 2) == 2
        assert _n_kv_heads(z, z, None) == 4
        own = torch.randn(1, 1, 4, 16)
        assert _n_kv_heads(own, own, 2) == 4  # a configuration that is not what the model does

    def test_without_comparable_values_nothing_is_shared(self) -> None:
        for values in (None, torch.ones(1, 1, 32), torch.ones(1, 1, 2, 8), torch.ones(1, 1, 3, 16)):
            assert _n_kv_heads(torch.ones(1, 1, 4, 16), values, None) == 4


def test_layers_may_differ_and_lack_heads() -> None:
    n_heads, shared = {0: 4, 2: 2, 3: 4}, {0: 2, 2: 2, 3: 1}
    axes = Geometry(MappingProxyType(n_heads), MappingProxyType(n_heads), MappingProxyType(shared)).axes
    assert axes["layer"] == [0, 2, 3]
    assert axes["kv_head"][1].tolist() == [[0, 0, 1, 1], [0, 1, -1, -1], [0, 0, 0, 0]]
    assert np.issubdtype(axes["kv_head"][1].dtype, np.integer)


def test_attention_whose_values_fire_twice_still_has_its_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HookedModel(tiny_bridge("llama"))
    run = HookedModel.run

    def refusing(self: HookedModel, tokens: torch.Tensor, *, hooks: Any) -> Any:
        if hook_v(0) in hooks:
            raise ModelError("fired 2 times")
        return run(self, tokens, hooks=hooks)

    monkeypatch.setattr(HookedModel, "run", refusing)
    assert dict(model.n_heads) == dict(model.n_kv_heads) == dict.fromkeys(range(3), 4)
