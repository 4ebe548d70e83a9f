"""`hc.describe_heads`: dimensions, units, reasons for what is missing, seeds, and prompts of several tasks.

Where heads look is compared with planted heads by hand and the attention of plain transformers.
"""

import re
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, hf_architecture, tiny_bridge
from batches import random_batch, random_role_batch
from covering import ALL
from induction_circuit import induction_circuit
from toys import LAYOUTS, backends, tiny_model

import headcats as hc
from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel, adapt
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.finding import line
from headcats.sweeps.descriptors.describing import (
    ATTENTION,
    N_SEQUENCES,
    Repeated,
    describe_attention,
    repeated_sequences,
)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_head_has_every_descriptor(layout):
    toy = tiny_model(layout)
    model = hc.load_model(toy.model, tokenizer=toy.tokenizer)
    heads = hc.describe_heads(model, prompts=random_batch(3))
    assert set(heads.data_vars) == {*DESCRIPTORS, "n_prompts"}
    for name in DESCRIPTORS:
        assert bool(np.isfinite(heads[name]).all()), name
        assert heads[name].attrs == {"long_name": DESCRIPTORS[name].meaning, "units": DESCRIPTORS[name].unit}
        assert heads[name].dims[-2:] == ("layer", "head")
    assert dict(heads.sizes) == {"layer": 3, "head": 4, "task": 1}
    assert heads.attrs == {"model": model.name, "seed": 0, "n_sequences": 8, "length": 31, "bos": 1}


@pytest.mark.needs_tl3("HookedTransformer")
def test_both_classes_say_the_same():
    toys = [tiny_model("llama", backend) for backend in ("bridge", "hooked")]
    first, second = (
        hc.describe_heads(hc.load_model(toy.model, tokenizer=toy.tokenizer), prompts=random_batch(3)) for toy in toys
    )
    for name in DESCRIPTORS:
        np.testing.assert_allclose(first[name], second[name], atol=1e-4)


def test_a_seed_draws_the_sequences_and_nothing_else():
    model = tiny_bridge("gpt2")
    first, again, other = (hc.describe_heads(model, seed=seed) for seed in (0, 0, 1))
    assert first.identical(again)
    assert not np.allclose(first.induction, other.induction, atol=1e-6)
    np.testing.assert_array_equal(first.copying, other.copying)


def test_the_model_and_the_random_state_stay_as_they_were():
    model, tokens = tiny_bridge("llama"), random_batch(2).clean
    before, state = hc.load_model(model).logits(tokens), torch.random.get_rng_state()
    hc.describe_heads(model, prompts=random_batch(2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(hc.load_model(model).logits(tokens), before)


def test_tasks_are_told_apart_and_their_batches_put_together():
    model = tiny_bridge("gpt2")
    batches = [random_role_batch(2, task="a"), random_role_batch(3, seed=1, task="b"), random_role_batch(1, task="a")]
    heads = hc.describe_heads(model, prompts=batches)
    assert heads["task"].values.tolist() == ["a", "b"]
    assert heads["n_prompts"].values.tolist() == [3, 3]
    alone = hc.describe_heads(model, prompts=batches[1])
    np.testing.assert_allclose(alone.direct_logit.sel(task="b"), heads.direct_logit.sel(task="b"))


class TestMissing:
    def test_a_learned_sink_leaves_the_weights(self):
        heads = hc.describe_heads(tiny_bridge("gpt_oss"))
        assert heads.entropy.isnull().all()
        assert heads.entropy.attrs["missing"].startswith("all layers: ")
        assert heads.copying.notnull().all()
        assert "missing" not in heads.copying.attrs

    def test_a_norm_behind_heads_leaves_their_attention(self, tmp_path):
        heads = hc.describe_heads(tiny_bridge("gemma2"), prompts=random_batch(2))
        assert heads.induction.notnull().all()
        for name in ("copying", "direct_logit"):
            assert heads[name].isnull().all()
            assert heads[name].attrs["missing"].startswith("all layers: ")
        heads.to_netcdf(tmp_path / "heads.nc", engine="h5netcdf")  # what is missing is no hindrance

    def test_layers_are_named(self, monkeypatch):
        monkeypatch.setattr(
            "headcats.sweeps.descriptors.direct_paths.not_additive",
            lambda model, tokens, layers: {1: line("direct.unknown", layer=1, error="odd")},
        )
        heads = hc.describe_heads(tiny_bridge("gpt2"))
        assert re.fullmatch("layer 1: .* odd", heads.copying.attrs["missing"])
        assert heads.copying.isnull().all("head").values.tolist() == [False, True, False]

    def test_layers_without_heads_are_no_rows(self):
        heads = hc.describe_heads(tiny_bridge("bamba"))
        assert heads["layer"].values.tolist() == [1, 3]
        assert all(heads[name].notnull().all() for name in heads.data_vars)


class TestRefusals:
    @pytest.mark.usefixtures("unchecked_types")
    def test_prompts_that_are_none(self):
        with pytest.raises(DataError, match="got a str"):
            hc.describe_heads(tiny_bridge("gpt2"), prompts=["Rome is in"])

    def test_an_empty_list(self):
        with pytest.raises(DataError, match="empty"):
            hc.describe_heads(tiny_bridge("gpt2"), prompts=[])

    def test_tokens_and_answers_that_the_model_does_not_know(self):
        batch = hc.PromptBatch.from_tokens([[0, 90]], [[0, 3]], [4], [5])
        with pytest.raises(DataError, match="clean prompts"):
            hc.describe_heads(tiny_bridge("gpt2"), prompts=batch)
        batch = hc.PromptBatch.from_tokens([[0, 9]], [[0, 3]], [400], [5])
        with pytest.raises(DataError, match="answer ids"):
            hc.describe_heads(tiny_bridge("gpt2"), prompts=batch)


def sequences(model: HookedModel) -> Repeated:
    repeated = repeated_sequences(model, seed=0)
    assert isinstance(repeated, Repeated)
    return repeated


def described(model: HookedModel) -> dict[str, dict[tuple[int, int], float]]:
    """Descriptor -> (layer, head) -> value."""
    values, reasons = describe_attention(model, sequences(model))
    assert reasons == {}
    return {
        name: {(layer, head): float(row[head]) for layer, row in by_layer.items() for head in range(len(row))}
        for name, by_layer in values.items()
    }


@pytest.fixture(scope="module")
def planted() -> tuple[HookedModel, dict[str, dict[tuple[int, int], float]]]:
    model = induction_circuit()
    return model, described(model)


def test_planted_heads_score_one_and_no_other_does(planted: Any) -> None:
    model, values = planted
    for name, heads in {
        "previous_token": [(0, 0)],
        "duplicate_token": [(0, 1)],
        "induction": [(1, 0), (1, 1)],
        "first_token": [(0, 2), (1, 2)],
    }.items():
        assert {head for head, value in values[name].items() if value > 0.5} == set(heads)
        for head in heads:
            assert values[name][head] == pytest.approx(1, abs=1e-3)
    # They are sure of where they look.
    n = sequences(model).tokens.shape[1]
    for head, distance in {(0, 0): 1.0, (0, 2): n / 2, (1, 2): n / 2}.items():
        assert values["entropy"][head] == pytest.approx(0, abs=1e-3)
        assert values["distance"][head] == pytest.approx(distance, abs=1e-3)


def by_hand(attention: torch.Tensor, length: int) -> dict[str, np.ndarray]:
    """Row by row, from the definitions, `[head]`."""
    rows = attention.double().numpy()  # [sequence, head, from, to]
    n = rows.shape[-1]
    places, second = np.arange(n), range(n - length, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(rows > 0, np.log(rows), 0)
    return {
        "previous_token": np.mean([rows[:, :, i, i - 1] for i in range(1, n)], axis=(0, 1)),
        "duplicate_token": np.mean([rows[:, :, i, i - length] for i in second], axis=(0, 1)),
        "induction": np.mean([rows[:, :, i, i - length + 1] for i in second], axis=(0, 1)),
        "first_token": np.mean([rows[:, :, i, 0] for i in range(1, n)], axis=(0, 1)),
        "entropy": np.mean([-(rows * logs)[:, :, i].sum(-1) for i in range(1, n)], axis=(0, 1)),
        "distance": np.mean([(rows[:, :, i] * (i - places)).sum(-1) for i in range(1, n)], axis=(0, 1)),
    }


# The bridge of 3.x gives Cohere other logits and MPT a context of 2048.
NOT_IN_3 = ("cohere", "mpt")


def test_architectures_look_where_plain_transformers_does() -> None:
    names = {"gptj", "gemma2", "mistral", "falcon", "bamba", "cohere", "mpt", "youtu", *(ARCHITECTURES if ALL else ())}
    for name in sorted(names):
        if name == "gpt_oss" or (name in NOT_IN_3 and "hooked" in backends()):
            continue
        model = adapt(tiny_bridge(name))
        repeated = sequences(model)
        values, reasons = describe_attention(model, repeated)
        assert (tuple(values), reasons) == (ATTENTION, {})
        with torch.no_grad():
            attentions = hf_architecture(name)(repeated.tokens, output_attentions=True).attentions
        with_heads = [pattern for pattern in attentions if pattern is not None]
        assert len(with_heads) == len(model.layers)
        for layer, pattern in zip(model.layers, with_heads, strict=True):
            for descriptor, expected in by_hand(pattern, repeated.length).items():
                np.testing.assert_allclose(values[descriptor][layer].numpy(), expected, atol=1e-5, err_msg=name)


def test_a_model_without_patterns_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = adapt(tiny_bridge("gpt2"))
    monkeypatch.setattr("headcats.models.patterns.hook_pattern", lambda layer: f"blocks.{layer}.attn.hook_fused")
    values, reasons = describe_attention(model, sequences(model))
    assert (values, set(reasons)) == ({}, set(model.layers))
    assert "hook_fused" in reasons[1]


def test_a_model_whose_code_fails_on_them_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPT on transformer-lens 3 says a longer context than it has."""

    def fails(*arguments: Any, **more: Any) -> None:
        raise RuntimeError("The size of tensor a must match the size of tensor b")

    model = HookedModel(tiny_bridge("gpt2"))
    monkeypatch.setattr(model, "run", fails)
    values, reasons = describe_attention(model, sequences(model))
    assert (values, set(reasons)) == ({}, set(model.layers))
    assert "size of tensor" in reasons[0]


class TestSequences:
    def test_they_repeat_once_behind_bos_and_hold_no_special_token(self) -> None:
        model = adapt(tiny_bridge("llama"))
        repeated = sequences(model)
        assert repeated.tokens.shape == (N_SEQUENCES, 1 + 2 * repeated.length)
        assert (repeated.length, repeated.n_bos) == ((model.n_ctx - 1) // 2, 1)
        assert (repeated.tokens[:, 0] == 0).all()
        once, again = repeated.tokens[:, 1:].split(repeated.length, 1)
        assert torch.equal(once, again)
        assert int(once.min()) > 2  # <bos>, <unk>, <pad>
        assert all(len(set(row)) == repeated.length for row in once.tolist())

    def test_a_seed_gives_the_same_and_another_seed_others(self) -> None:
        model = adapt(tiny_bridge("gpt2"))
        first, again, other = (repeated_sequences(model, seed=seed) for seed in (0, 0, 1))
        assert torch.equal(first.tokens, again.tokens)
        assert not torch.equal(first.tokens, other.tokens)

    def test_a_model_without_tokenizer_has_no_bos(self) -> None:
        model = HookedModel(tiny_bridge("gpt2"))
        model.tokenizer = None
        repeated = sequences(model)
        assert (repeated.n_bos, repeated.tokens.shape[1] % 2) == (0, 0)

    def test_a_context_that_is_too_short_says_so(self) -> None:
        model = HookedModel(tiny_bridge("gpt2"))
        model.n_ctx = 4
        assert "context of 4" in repeated_sequences(model, seed=0)
