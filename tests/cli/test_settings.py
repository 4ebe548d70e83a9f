"""Options of a run: who wins over whom, and what a bundled suite brings along."""

import pytest

from headcats import registry
from headcats.cli.settings import DEFAULTS, OF_SUITE, settings
from headcats.models.mini_cognitive.measurement import N_DEMOS


def test_every_bundled_suite_has_a_bundled_model_that_learned_it():
    assert set(OF_SUITE) == {"icl", "cognitive", "sentences"} <= set(registry.names("suite"))
    for name in OF_SUITE:
        assert settings(None, {"suite": name})["model"] in registry.names("model")
    assert settings(None, {}) == DEFAULTS


def test_a_model_is_run_with_as_many_demonstrations_as_it_was_measured_with():
    assert settings(None, {"suite": "cognitive"})["n_demos"] == N_DEMOS
    assert settings(None, {"suite": "cognitive", "n_demos": 2})["n_demos"] == 2


def test_a_suite_of_sentences_is_probed_without_demonstrations():
    chosen = settings(None, {"suite": "sentences"})
    assert (chosen["model"], chosen["n_demos"], chosen["methods"]) == ("mini-cognitive", 0, ["token_probe"])


@pytest.mark.parametrize(
    ("stored", "given", "model"),
    [
        ("", {"suite": "cognitive", "model": "gpt2"}, "gpt2"),
        ('suite = "cognitive"', {}, "mini-cognitive"),
        ('suite = "cognitive"\nmodel = "gpt2"', {}, "gpt2"),
        ('model = "gpt2"', {"suite": "cognitive"}, "gpt2"),
        ('suite = "cognitive"', {"suite": "icl"}, "mini"),
        ("", {"suite": "mine"}, "mini"),
    ],
)
def test_the_model_is_the_one_named_or_that_of_the_suite(tmp_path, stored, given, model):
    study = tmp_path / "study.toml"
    study.write_text(stored)
    assert settings(study, given)["model"] == model


def test_a_preset_names_its_suite_and_so_its_model():
    chosen = settings(None, {}, preset_name="cogmirrors2025")
    assert (chosen["suite"], chosen["model"]) == ("cognitive", "mini-cognitive")
    assert settings(None, {"suite": "icl"}, preset_name="cogmirrors2025")["model"] == "mini"
