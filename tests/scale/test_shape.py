"""Shapes of models: published ones by name, and of models that are here, where the weights themselves are counted."""

import json
from dataclasses import replace

import pytest
from random_weights import random_model
from transformers import LlamaConfig, MixtralConfig, dynamic_module_utils

from headcats.base.errors import ModelError
from headcats.scale.shape import ModelShape, find_shape

GATED = ModelShape(3, 4, 2, 32, 16, 64, 60, 3)
PLAIN = ModelShape(3, 4, 4, 32, 8, 128, 60, tied=True)


@pytest.mark.parametrize(
    ("name", "weights"), [("gpt2", 0.124e9), ("gpt2-xl", 1.56e9), ("llama-3-8b", 8.03e9), ("llama-3-70b", 70.55e9)]
)
def test_published_shapes_have_the_published_number_of_weights(name, weights):
    assert find_shape(name).weights == pytest.approx(weights, rel=0.01)
    assert find_shape(name).name == name


@pytest.mark.parametrize("shape", [GATED, PLAIN])
def test_the_weights_of_a_shape_are_those_of_its_model(shape):
    matrices = [weight for name, weight in random_model(shape).named_parameters() if weight.ndim == 2]
    positions = 512 * 32 if shape is PLAIN else 0
    assert shape.weights == sum(weight.numel() for weight in matrices) - positions


@pytest.mark.parametrize("shape", [GATED, PLAIN])
def test_the_shape_of_a_folder_is_read_from_its_config(shape, tmp_path):
    random_model(shape).config.save_pretrained(tmp_path / "small")
    assert find_shape(tmp_path / "small") == replace(shape, name="small")


def test_models_with_experts_and_folders_without_config_are_refused(tmp_path):
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    MixtralConfig(**sizes, num_key_value_heads=2, vocab_size=60).save_pretrained(tmp_path / "experts")
    with pytest.raises(ModelError, match="experts"):
        find_shape(tmp_path / "experts")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"config\.json"):
        find_shape(tmp_path / "empty")
    LlamaConfig(**sizes, vocab_size=60).save_pretrained(tmp_path / "fine")
    assert find_shape(tmp_path / "fine").mlp_matrices == 3


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"model_type": "t5"}, "T5Config"),
        ({"model_type": "mamba"}, "num_attention_heads"),
        ({"model_type": "llama", "num_attention_heads": 0}, "zero"),
        ({"model_type": "llama", "hidden_size": "wide"}, r"transformers can read|LlamaConfig"),
    ],
)
def test_configs_of_other_models_and_nonsense_are_model_errors(config, says, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=says):
        find_shape(tmp_path)


def test_code_of_a_folder_is_neither_run_nor_asked_about(tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *text: pytest.fail("asked"))
    # transformers waits for an answer with an alarm, which no keyboard gives here.
    monkeypatch.setattr(dynamic_module_utils.signal, "alarm", lambda seconds: pytest.fail("waits"), raising=False)
    code = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": code}), encoding="utf-8")
    (tmp_path / "own.py").write_text("raise SystemExit('run')", encoding="utf-8")
    with pytest.raises(ModelError, match="custom code"):
        find_shape(tmp_path)
