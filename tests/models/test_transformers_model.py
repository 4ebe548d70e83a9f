"""Files that are not a model: one sentence each, with what to do, and no code of theirs is run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from toys import word_tokenizer

from headcats.base.errors import ModelError
from headcats.models.loading import load_model


class Payload:
    """What a pickle can do to whoever reads it."""

    def __reduce__(self) -> tuple:
        return (Path.touch, (Path("was_run"),))


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as error:
        load_model(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("pickled", "damage"),
    [
        (False, lambda data: data[: len(data) // 2]),
        (False, lambda data: b"\0" * 4096),
        (True, lambda data: data[: len(data) // 2]),
        (True, lambda data: b""),
    ],
)
def test_damaged_weights(folder: Path, pickled: bool, damage: Callable[[bytes], bytes]) -> None:
    weights = folder / "model.safetensors"
    if pickled:
        tensors, weights = load_file(weights), folder / "pytorch_model.bin"
        torch.save(tensors, weights)
        (folder / "model.safetensors").unlink()
    weights.write_bytes(damage(weights.read_bytes()))
    assert "damaged or incomplete" in refusal(folder)


def test_a_pickle_that_would_run_code(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save({"lm_head.weight": Payload()}, folder / "pytorch_model.bin")
    message = refusal(folder)
    assert "safetensors" in message
    assert "weights_only" not in message
    assert not Path("was_run").exists()


def test_weights_without_a_place_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    layers = config["num_hidden_layers"]
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": layers - 1}), encoding="utf-8")
    with caplog.at_level("INFO", logger="headcats"):
        load_model(folder)
    assert "9 tensors" in caplog.text
    assert f"'model.layers.{layers - 1}." in caplog.text


def test_a_tokenizer_that_needs_code(folder: Path) -> None:
    config = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    message = refusal(folder)
    assert "needs code" in message
    assert "tokenizer=" in message


def test_a_tokenizer_of_another_model(folder: Path) -> None:
    word_tokenizer([f"word{number}" for number in range(200)]).save_pretrained(folder)
    message = refusal(folder)
    assert "of another model" in message
    assert "knows 60" in message


def test_added_tokens_are_no_sign_of_another_model(folder: Path) -> None:
    tokenizer = word_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": [f"<extra{number}>" for number in range(90)]})
    tokenizer.save_pretrained(folder)
    assert load_model(folder).d_vocab == 60
