"""The method: labelled scores, thresholds, skipped relations, a study part by part, and presets of families."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from joint_inputs import suite_inputs
from literal_relations import literal_scores
from planted import FIRST_CONTENT, N_TOKENS, planted_model
from toys import BACKENDS, D_VOCAB, tiny_model

import headcats as hc
from headcats.base.errors import DataError, ModelError, ModelWarning, OptionError, TokenizationWarning, UnknownNameError
from headcats.models.adapter import HookedModel
from headcats.papers.ov_relation.fit import family_preset, warn_of_other_family
from headcats.papers.ov_relation.settings import RelationSettings

SMALL = RelationSettings(k=6, copying_k=2, min_pairs=5, permutations=20)
WORDS = {
    "shift": [(f"w{i}", f"w{i + 1}") for i in range(30)],
    "few targets": [(f"w{i}", f"w{i % 2}") for i in range(30)],
    "copying": [(f"w{i}", f"w{i}") for i in range(30)],
}
CATEGORIES = {"shift": "Algorithmic", "few targets": "Odd", "copying": "Algorithmic"}
LLAMA_3, GPT_2 = 128_256, 50_257
PAIRS = [(f"w{i}", f"w{i + 1}") for i in range(30)]
LLAMA = {"architecture": "LlamaForCausalLM", "d_vocab": LLAMA_3}
LARGE = {"n_layers": 80, "d_model": 8192}


@pytest.fixture(scope="module")
def toy():
    return tiny_model("gpt2")


@pytest.fixture(scope="module")
def model(toy):
    return HookedModel(toy.model, tokenizer=toy.tokenizer)


@pytest.fixture(scope="module")
def scored(model):
    return hc.methods.ov_relation(model, WORDS, preset=SMALL, categories=CATEGORIES)


class TestCall:
    def test_the_scores_are_the_literal_ones(self, scored, toy):
        ids = toy.tokenizer.convert_tokens_to_ids
        for name, pairs in WORDS.items():
            tokens = [(ids(source), ids(target)) for source, target in pairs]
            k = 2 if name == "copying" else 6
            for variable, sign in (("score", 1), ("suppression", -1)):
                expected = literal_scores(toy.oracle, tokens, k=k, sign=sign)
                np.testing.assert_array_equal(scored[variable].sel(task=name).values, expected)

    def test_what_it_returns(self, scored, model, tmp_path):
        assert scored.score.dims == scored.suppression.dims == ("task", "layer", "head")
        assert scored.task.values.tolist() == list(WORDS)
        assert scored.layer.values.tolist() == [0, 1, 2]
        assert scored["head"].values.tolist() == [0, 1, 2, 3]
        assert scored.category.values.tolist() == list(CATEGORIES.values())
        assert scored.n.values.tolist() == [30, 30, 30]
        assert scored.k.values.tolist() == [6, 6, 2]
        for prefix in ("", "suppression_"):
            assert np.array_equal(scored[f"{prefix}threshold"], np.maximum(0.15, scored[f"{prefix}null"]))
        assert (scored.null.sel(task="few targets") > scored.null.sel(task="shift")).item()
        assert scored.attrs["method"] == "ov_relation"
        listed = json.loads(scored.attrs["categories"])
        assert [one["name"] for one in listed] == ["Algorithmic", "Odd"]
        assert listed[0]["colour"] == "#1f77b4"
        provenance = json.loads(scored.attrs["provenance"])
        assert provenance["settings"]["k"] == 6
        assert provenance["relations"]["copying"] == {"copying": True, "kept": 30, "dropped": {}}
        scored.to_netcdf(tmp_path / "scored.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "scored.nc", engine="h5netcdf") as stored:
            assert stored.load().identical(scored)
        other = hc.methods.ov_relation(model, WORDS, preset=SMALL, seed=3)
        assert np.array_equal(other.score, scored.score)
        assert not np.array_equal(other.null, scored.null)  # a seed is for the null alone

    def test_token_ids_need_no_tokenizer(self, toy, scored):
        nameless = HookedModel(toy.model)
        nameless.tokenizer = None
        ids = toy.tokenizer.convert_tokens_to_ids
        pairs = [(ids(source), ids(target)) for source, target in WORDS["shift"]]
        scores = hc.methods.ov_relation(nameless, pairs, preset=SMALL)
        assert np.array_equal(scores.score[0], scored.score.sel(task="shift"))

    @pytest.mark.filterwarnings("ignore:.*is not what MAPS takes:headcats.base.errors.ModelWarning")
    def test_presets(self, model):
        assert hc.methods.ov_relation(model, WORDS).k.values.tolist() == [10, 10, 1]
        llama3 = hc.methods.ov_relation(model, WORDS, preset="maps2025-llama3")
        without = hc.methods.ov_relation(model, WORDS, preset="maps2025-llama3-70b")
        off = hc.methods.ov_relation(model, WORDS, preset="maps2025-llama3", first_mlp="off")
        assert llama3.k.values.tolist() == [25, 25, 3]
        assert np.array_equal(without.score, off.score)
        assert np.array_equal(without.score[:, 0], llama3.score[:, 0])
        assert not np.array_equal(without.score, llama3.score)

    def test_planted_copying_heads_are_found(self):
        """They copy whatever token they look at; the others write what nobody reads."""
        pairs = [(token, token) for token in range(FIRST_CONTENT, N_TOKENS)]
        settings = RelationSettings(min_pairs=10, first_mlp=False)
        scores = hc.methods.ov_relation(planted_model({(0, 1): 1, (1, 2): 2}), pairs, preset=settings)
        expected = np.zeros((2, 4))
        expected[0, 1] = expected[1, 2] = 1
        assert np.array_equal(scores.score[0], expected)
        assert scores.k.item() == 1


class TestRefusals:
    def test_too_few_pairs_are_skipped_and_named(self, model):
        pairs = WORDS | {"short": [("w1", "w2"), ("w3", "zebra")]}
        with pytest.warns(TokenizationWarning, match=r"1 of 4 .*'short'.*'zebra'"):
            scores = hc.methods.ov_relation(model, pairs, preset=SMALL)
        assert scores.task.values.tolist() == list(WORDS)

    def test_thirty_pairs_are_needed(self, model):
        with pytest.raises(DataError, match=r"29 kept; .* 30"):
            hc.methods.ov_relation(model, WORDS["shift"][1:])
        assert hc.methods.ov_relation(model, WORDS["shift"]).n.item() == 30

    def test_options_and_data(self, model):
        for pairs in ({}, []):
            with pytest.raises(DataError):
                hc.methods.ov_relation(model, pairs)
        with pytest.raises(DataError, match="category: copying"):
            hc.methods.ov_relation(model, WORDS, categories={"shift": "a", "few targets": "b"})
        with pytest.raises(UnknownNameError, match="maps2025"):
            hc.methods.ov_relation(model, WORDS, preset="maps")
        with pytest.raises(OptionError, match="first_mlp"):
            hc.methods.ov_relation(model, WORDS, first_mlp="maybe")

    def test_folded_weights(self):
        folded = tiny_model("gpt2")
        folded.model.enable_compatibility_mode(disable_warnings=True)
        with pytest.raises(ModelError, match="processed weights"):
            hc.methods.ov_relation(HookedModel(folded.model, tokenizer=folded.tokenizer), WORDS)


class TestStudy:
    """What a study does with it."""

    @pytest.fixture
    def inputs(self, model):
        pairs = {"shift": WORDS["shift"], "short": WORDS["shift"][:3], "copying": WORDS["copying"]}
        categories = {"shift": "Algorithmic", "short": "Algorithmic", "finished": "Odd", "copying": "Odd"}
        return suite_inputs(model, pairs, categories)

    def test_parts_are_tasks(self, inputs):
        method = hc.methods.ov_relation
        parts = method.parts(inputs, preset="maps2025")
        assert parts == {"shift": ("shift",), "short": ("short",), "finished": (), "copying": ("copying",)}
        done = {name: method.on_part(inputs, name) for name in ("shift", "copying")}
        joined = method.join(done)
        expected = hc.methods.ov_relation(inputs.model, {name: WORDS[name] for name in done})
        for name in expected.data_vars:
            assert np.array_equal(joined[name], expected[name]), name
        assert joined.category.values.tolist() == ["Algorithmic", "Odd"]
        assert list(json.loads(joined.attrs["provenance"])["relations"]) == ["shift", "copying"]
        with pytest.raises(DataError, match=r"'short' .* 3 kept.* 30 "):
            method.on_part(inputs, "short")
        with pytest.raises(DataError, match="'finished'"):
            method.on_part(inputs, "finished")

    def test_weights_are_read_once_for_all_parts(self, inputs, monkeypatch):
        from headcats.methods import ov_relation as method  # the method, not its module
        from headcats.papers.ov_relation.static import relation_counts

        module = __import__("sys").modules["headcats.papers.ov_relation.fit"]
        calls = []
        monkeypatch.setattr(
            module, "relation_counts", lambda *args, **named: calls.append(1) or relation_counts(*args, **named)
        )
        monkeypatch.setattr(method._method, "_last", None)
        told = []
        first = method.on_part(inputs.reporting(lambda share, what: told.append((share, what))), "copying")
        assert told == [(0.0, "layer 0"), (1 / 3, "layer 1"), (2 / 3, "layer 2")]
        method.on_part(inputs.reporting(lambda share, what: None), "shift")
        assert method.on_part(inputs, "copying").identical(first)
        assert len(calls) == 1
        method.on_part(inputs, "shift", first_mlp="off")
        assert len(calls) == 2  # another option is another computation
        with torch.no_grad():
            weight = inputs.model.model.blocks[1].mlp.original_component.c_fc.bias
            weight[0] += 1
            method.on_part(inputs, "shift", first_mlp="off")
            weight[0] -= 1
        assert len(calls) == 3  # and so are other weights

    def test_summary(self, scored):
        def summary(**variables):
            return hc.methods.ov_relation.summary(scored.assign({name: ("task", v) for name, v in variables.items()}))

        reached = int((scored.score >= scored.threshold).any(("layer", "head")).sum())
        assert scored.by_chance.dims == ("task",)
        nothing_near = {"by_chance": [0.5, 0.5, 0.2], "null": [0.1] * 3, "direct": [0.1] * 3, "direct_later": [0.1] * 3}
        first, by_category, copying = summary(**nothing_near)
        assert f"{reached} of 3 relations" in first
        assert "permuted targets 1.2 " in first
        assert "12 heads" in first
        assert "Algorithmic" in by_category
        assert copying.endswith("top 2: copying.")
        (near,) = set(summary(**nothing_near | {"direct": [0.1, 0.9, 0.1]})) - {first, by_category, copying}
        assert near.startswith("In 1 of 3")
        (later,) = set(summary(**nothing_near | {"direct_later": [0.9, 0.9, 0.1]})) - {first, by_category, copying}
        assert later.startswith("In 2 of 3")
        (high,) = set(summary(**nothing_near | {"null": [0.2, 0.1, 0.4]})) - {first, by_category, copying}
        assert ": shift, copying." in high


def made_up(name="m", d_vocab=GPT_2, n_layers=32, d_model=4096, **config):
    return SimpleNamespace(
        name=name,
        d_vocab=d_vocab,
        n_layers=n_layers,
        d_model=d_model,
        model=SimpleNamespace(cfg=SimpleNamespace(**config)),
    )


@pytest.mark.usefixtures("unchecked_types")
def test_the_family_is_that_of_the_configuration():
    for model, preset in (
        (made_up(**LLAMA), "maps2025-llama3"),
        (made_up(**LLAMA | {"d_vocab": LLAMA_3 + 8}), "maps2025-llama3"),  # tokens of a fine-tune
        (made_up(original_architecture="LlamaForCausalLM", d_vocab=LLAMA_3), "maps2025-llama3"),
        (made_up(**LLAMA, **LARGE), "maps2025-llama3-70b"),
        (made_up("Llama-3.1-405B", **LLAMA, n_layers=126), "maps2025-llama3"),
        (made_up("Llama-2-7b", **LLAMA | {"d_vocab": 32_000}), "maps2025"),
        (made_up("Llama-2-70b", **LLAMA | {"d_vocab": 32_000}, **LARGE), "maps2025"),
        (made_up("like-llama-3", architecture="GPT2LMHeadModel"), "maps2025"),
        (made_up(architecture="Qwen2ForCausalLM", d_vocab=LLAMA_3), "maps2025"),
        (made_up("attn-only-2l"), ""),
    ):
        assert family_preset(model) == preset, model


@pytest.fixture
def small(monkeypatch):
    """Llama 3 with the vocabulary of the toys."""
    monkeypatch.setattr("headcats.papers.ov_relation.fit.LLAMA_3_VOCABULARY", range(D_VOCAB, D_VOCAB + 1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_classes_of_models_tell_it(backend, small):
    other = tiny_model("llama", backend, d_vocab=D_VOCAB - 1)
    models = [tiny_model("gpt2", backend), other, tiny_model("llama", backend)]
    for toy in models if backend == "hooked" else ():
        toy.model.cfg.original_architecture = type(toy.oracle).__name__  # as `from_pretrained` records it
    assert [family_preset(HookedModel(toy.model)) for toy in models] == ["maps2025", "maps2025", "maps2025-llama3"]


@pytest.mark.usefixtures("unchecked_types")
def test_a_preset_of_another_family_is_named_with_what_differs():
    llama, large, gpt2 = made_up(**LLAMA), made_up(**LLAMA, **LARGE), made_up(architecture="GPT2LMHeadModel")
    for model, preset, said in (
        (llama, "maps2025", ["k 10, not 25", "1, not 3", "preset='maps2025-llama3'"]),
        (llama, "maps2025-llama3-70b", ["off, not on", "preset='maps2025-llama3'"]),
        (large, "maps2025-llama3", ["on, not off", "preset='maps2025-llama3-70b'"]),
        (gpt2, "maps2025-llama3", ["k 25, not 10", "preset='maps2025'"]),
    ):
        with pytest.warns(ModelWarning) as caught:
            warn_of_other_family(model, preset)
        assert len(caught) == 1
        assert [part for part in said if part not in str(caught[0].message)] == []
    for model, preset in (
        (llama, "maps2025-llama3"), (large, "maps2025-llama3-70b"), (gpt2, "maps2025"), (made_up(), "maps2025"),
        (made_up(), "maps2025-llama3"), (llama, RelationSettings(k=10)),
    ):  # fmt: skip
        warn_of_other_family(model, preset)
    for first_mlp in ("on", "off"):  # what was chosen is not questioned
        warn_of_other_family(large, "maps2025-llama3", first_mlp=first_mlp)
