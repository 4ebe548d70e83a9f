"""Which preset a model's family takes, and the warning where another one runs."""

from types import SimpleNamespace

import pytest
from toys import BACKENDS, D_VOCAB, tiny_model

import headcats as hc
from headcats.base.errors import ModelWarning
from headcats.models.adapter import HookedModel
from headcats.papers.ov_relation.family import family_preset, warn_of_other_family
from headcats.papers.ov_relation.settings import RelationSettings

LLAMA_3, GPT_2 = 128_256, 50_257
PAIRS = [(f"w{i}", f"w{i + 1}") for i in range(30)]


def made_up(name="m", d_vocab=GPT_2, n_layers=32, d_model=4096, **config):
    return SimpleNamespace(
        name=name,
        d_vocab=d_vocab,
        n_layers=n_layers,
        d_model=d_model,
        model=SimpleNamespace(cfg=SimpleNamespace(**config)),
    )


LLAMA = {"architecture": "LlamaForCausalLM", "d_vocab": LLAMA_3}
LARGE = {"n_layers": 80, "d_model": 8192}


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
        (made_up("Meta-Llama-3-8B", architecture=None, original_architecture=None), "maps2025-llama3"),
        (made_up("Llama-3.1-70B", **LARGE), "maps2025-llama3-70b"),
        (made_up("attn-only-2l"), ""),
    ):
        assert family_preset(model) == preset, model


@pytest.fixture
def small(monkeypatch):
    """Llama 3 with the vocabulary of the toys."""
    monkeypatch.setattr("headcats.papers.ov_relation.family.LLAMA_3_VOCABULARY", range(D_VOCAB, D_VOCAB + 1))


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


def test_a_call_warns_where_it_is_made():
    toy = tiny_model("gpt2")
    model = HookedModel(toy.model, tokenizer=toy.tokenizer)
    with pytest.warns(ModelWarning, match="maps2025-llama3") as caught:
        hc.methods.ov_relation(model, PAIRS, preset="maps2025-llama3")
    assert len(caught) == 1
    hc.methods.ov_relation(model, PAIRS)
