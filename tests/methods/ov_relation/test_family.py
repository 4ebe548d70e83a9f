"""Which preset a model's family takes, and the warning where another one runs."""

import json
import warnings
from types import SimpleNamespace

import pytest
from test_cli_suite import command
from toys import BACKENDS, D_VOCAB, hf_model, tiny_model, word_tokenizer

import headcats as hc
from headcats.errors import ModelWarning
from headcats.methods.ov_relation.family import family_preset, warn_of_other_family
from headcats.methods.ov_relation.settings import RelationSettings
from headcats.models.adapter import HookedModel

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


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("model", "preset"),
    [
        (made_up(architecture="LlamaForCausalLM", d_vocab=LLAMA_3), "maps2025-llama3"),
        (made_up(architecture="LlamaForCausalLM", d_vocab=LLAMA_3 + 8), "maps2025-llama3"),  # tokens of a fine-tune
        (made_up(original_architecture="LlamaForCausalLM", d_vocab=LLAMA_3), "maps2025-llama3"),
        (made_up(architecture="LlamaForCausalLM", d_vocab=LLAMA_3, n_layers=80, d_model=8192), "maps2025-llama3-70b"),
        (made_up("Llama-3.1-405B", architecture="LlamaForCausalLM", d_vocab=LLAMA_3, n_layers=126), "maps2025-llama3"),
        (made_up("Llama-2-7b", architecture="LlamaForCausalLM", d_vocab=32_000), "maps2025"),
        (
            made_up("Llama-2-70b", architecture="LlamaForCausalLM", d_vocab=32_000, n_layers=80, d_model=8192),
            "maps2025",
        ),
        (made_up("like-llama-3", architecture="GPT2LMHeadModel"), "maps2025"),
        (made_up(architecture="Qwen2ForCausalLM", d_vocab=LLAMA_3), "maps2025"),
        (made_up("Meta-Llama-3-8B", architecture=None, original_architecture=None), "maps2025-llama3"),
        (made_up("Llama-3.1-70B", n_layers=80, d_model=8192), "maps2025-llama3-70b"),
        (made_up("attn-only-2l"), ""),
    ],
    ids=lambda value: "" if isinstance(value, str) else value.name,
)
def test_the_family_is_that_of_the_configuration(model, preset):
    assert family_preset(model) == preset


@pytest.fixture
def small(monkeypatch):
    """Llama 3 with the vocabulary of the toys."""
    monkeypatch.setattr("headcats.methods.ov_relation.family.LLAMA_3_VOCABULARY", range(D_VOCAB, D_VOCAB + 1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_classes_of_models_tell_it(backend, small):
    other = tiny_model("llama", backend, d_vocab=D_VOCAB - 1)
    models = [tiny_model("gpt2", backend), other, tiny_model("llama", backend)]
    for toy in models if backend == "hooked" else ():
        toy.model.cfg.original_architecture = type(toy.oracle).__name__  # as `from_pretrained` records it
    assert [family_preset(HookedModel(toy.model)) for toy in models] == ["maps2025", "maps2025", "maps2025-llama3"]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("model", "preset", "said"),
    [
        ("llama 3", "maps2025", ["k 10, not 25", "k of copying relations 1, not 3", "preset='maps2025-llama3'"]),
        ("llama 3", "maps2025-llama3-70b", ["first MLP off, not on", "preset='maps2025-llama3'"]),
        ("70b", "maps2025-llama3", ["first MLP on, not off", "preset='maps2025-llama3-70b'"]),
        ("gpt2", "maps2025-llama3", ["k 25, not 10", "preset='maps2025'"]),
        ("llama 3", "maps2025-llama3", []),
        ("70b", "maps2025-llama3-70b", []),
        ("gpt2", "maps2025", []),
        ("unknown", "maps2025", []),
        ("unknown", "maps2025-llama3", []),
        ("llama 3", RelationSettings(k=10), []),
    ],
)
def test_a_preset_of_another_family_is_named_with_what_differs(model, preset, said):
    llama = {"architecture": "LlamaForCausalLM", "d_vocab": LLAMA_3}
    models = {
        "llama 3": made_up(**llama),
        "70b": made_up(**llama, n_layers=80, d_model=8192),
        "gpt2": made_up(architecture="GPT2LMHeadModel"),
        "unknown": made_up(),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_other_family(models[model], preset)
    assert len(caught) == bool(said)
    assert all(part in str(caught[0].message) for part in said)


@pytest.mark.usefixtures("unchecked_types")
def test_a_first_mlp_that_was_chosen_is_not_questioned():
    large = made_up(architecture="LlamaForCausalLM", d_vocab=LLAMA_3, n_layers=80, d_model=8192)
    for first_mlp in ("on", "off"):
        warn_of_other_family(large, "maps2025-llama3", first_mlp=first_mlp)


def test_a_call_warns_where_it_is_made():
    toy = tiny_model("gpt2")
    model = HookedModel(toy.model, tokenizer=toy.tokenizer)
    with pytest.warns(ModelWarning, match="maps2025-llama3") as caught:
        hc.methods.ov_relation(model, PAIRS, preset="maps2025-llama3")
    assert len(caught) == 1
    hc.methods.ov_relation(model, PAIRS)


def test_a_run_of_a_local_llama_3_warns_once(capfd, monkeypatch, tmp_path, small):
    """A folder whose name says nothing of the model, and a suite of two relations."""
    hf_model("llama", n_layers=1).save_pretrained(tmp_path / "m")
    word_tokenizer().save_pretrained(tmp_path / "m")
    words = [f"w{i}" for i in range(40)]
    for name, step in (("one", 1), ("two", 2)):
        pairs = [[words[i], words[(i + step) % 40]] for i in range(40)]
        (tmp_path / "suite").mkdir(exist_ok=True)
        (tmp_path / "suite" / f"{name}.json").write_text(json.dumps(pairs), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        options = ["--preset", "maps2025", "--model", "./m", "--suite", "suite/", "--out", "r"]
        code, text = command(capfd, monkeypatch, "run", *options)
    assert code == 0, text
    assert text.count("is not what MAPS takes") == 1
