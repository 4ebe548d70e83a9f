"""`hc.describe_heads`: dimensions, units, reasons for what is missing, seeds, and prompts of several tasks."""

import re

import numpy as np
import pytest
import torch
from architectures import tiny_bridge
from batches import random_batch, random_role_batch
from toys import LAYOUTS, tiny_model

import headcats as hc
from headcats.base.errors import DataError
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.finding import line


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
