"""Weights: their hash, what was done to them, and models that their loader places."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from placements import SECOND, on_disk, placed
from torch import nn
from toys import Toy, random_tokens, tiny_model

from headcats.base.errors import ModelError, OptionError
from headcats.models.adapter import adapt
from headcats.models.circuit import Circuit
from headcats.models.loading import load_model
from headcats.models.weights import in_place, is_offloaded, largest_offloaded, resident_bytes, weights_hash

N_LAYERS = 3
offloads = pytest.mark.needs_tl4("the bridge of 3.x refuses weights on disk")


class TestWeights:
    def test_the_hash_is_stable_and_sees_every_bit(self, layout: Any) -> None:
        first, same, other = (adapt(tiny_model(layout, seed=seed).model) for seed in (0, 0, 1))
        before = first.weights_hash()
        assert len(before) == 32
        assert before == first.weights_hash() == same.weights_hash() != other.weights_hash()
        with torch.no_grad():
            next(first.model.parameters()).view(-1)[0] += 1
        assert first.weights_hash() != before

    def test_the_same_bytes_of_another_shape_or_dtype_are_other_weights(self) -> None:
        options = [(2, 3, torch.float16), (3, 2, torch.float16), (2, 3, torch.bfloat16)]
        models = [nn.Linear(n_in, n_out, bias=False, dtype=dtype) for n_in, n_out, dtype in options]
        for model in models:
            nn.init.zeros_(model.weight)
        assert len({weights_hash(model) for model in models}) == 3

    def test_bfloat16_weights_have_a_hash(self) -> None:
        model = tiny_model("llama").model
        before = adapt(model).weights_hash()
        assert adapt(model.to(torch.bfloat16)).weights_hash() != before

    def test_untouched_weights_are_called_so(self, toy: Toy) -> None:
        assert adapt(toy.model).weight_processing == "none"

    @pytest.mark.needs_tl3("HookedTransformer")
    def test_processed_weights_are_recognised(self) -> None:
        off = dict.fromkeys(["fold_ln", "center_unembed", "fold_value_biases", "center_writing_weights"], False)
        for option in ("fold_ln", "center_unembed", "fold_value_biases"):
            model = tiny_model("gpt2", "hooked").model
            assert adapt(model).weight_processing == "none"
            model.load_and_process_state_dict(model.state_dict(), **{**off, option: True})
            assert adapt(model).weight_processing == "processed", option

    @pytest.mark.both_versions
    def test_compatibility_mode_is_recognised(self, layout: Any) -> None:
        model = tiny_model(layout).model
        model.enable_compatibility_mode(disable_warnings=True)
        assert adapt(model).weight_processing == "processed"


def last_on_disk(folder: Path) -> dict[str, Any]:
    """Arguments of the loader that leave the last block of a toy on disk."""
    return on_disk(folder, blocks=[N_LAYERS - 1], n_blocks=N_LAYERS)


class TestOffloaded:
    @offloads
    def test_what_is_read_of_it_is_what_a_resident_model_has(self, folders: dict[str, Path], tmp_path: Path) -> None:
        here, there = load_model(folders["llama"], device="cpu"), load_model(folders["llama"], **last_on_disk(tmp_path))
        assert (there.placement, str(there.device), here.placement) == ("cpu, offloaded", "cpu", "cpu")
        assert torch.equal(here.logits(random_tokens()), there.logits(random_tokens()))
        assert there.weights_hash() == here.weights_hash()
        assert there.weight_processing == here.weight_processing == "none"
        for layer in here.layers:
            assert torch.equal(here.W_O(layer), there.W_O(layer))
        rows = Circuit(here).embeddings(torch.arange(3))
        for layer in here.layers:
            assert torch.equal(Circuit(here).values(rows, layer=layer), Circuit(there).values(rows, layer=layer))
        assert torch.equal(Circuit(here).unembedding(), Circuit(there).unembedding())

    @offloads
    def test_it_is_left_offloaded(self, folders: dict[str, Path], tmp_path: Path) -> None:
        model = load_model(folders["llama"], **last_on_disk(tmp_path))
        before = [parameter.is_meta for parameter in model.model.parameters()]
        with in_place(model.model.blocks[N_LAYERS - 1]):
            assert not any(parameter.is_meta for parameter in model.model.blocks[N_LAYERS - 1].parameters())
        model.weights_hash(), model.W_O(N_LAYERS - 1), model.logits(random_tokens())
        assert [parameter.is_meta for parameter in model.model.parameters()] == before
        assert set(before) == {True, False}

    @offloads
    def test_only_what_is_there_counts(self, folders: dict[str, Path], tmp_path: Path) -> None:
        here, there = load_model(folders["llama"]), load_model(folders["llama"], **last_on_disk(tmp_path))
        last = sum(parameter.nbytes for parameter in here.model.blocks[N_LAYERS - 1].parameters())
        assert resident_bytes(here.model) - resident_bytes(there.model) == last
        assert (largest_offloaded(here.model), is_offloaded(here.model)) == (0, False)
        assert 0 < largest_offloaded(there.model) < last

    @offloads
    def test_a_weight_on_disk_that_is_not_finite_is_named(
        self, folders: dict[str, Path], folder: Path, tmp_path: Path
    ) -> None:
        broken = transformers.AutoModelForCausalLM.from_pretrained(folder)
        with torch.no_grad():
            broken.model.layers[N_LAYERS - 1].mlp.up_proj.weight[1, 2] = float("nan")
        broken.save_pretrained(folder)
        with pytest.raises(ModelError, match=r"layers\.2\.mlp\.up_proj\.weight' .*'broken' holds NaN"):
            load_model(folder, **last_on_disk(tmp_path))


@pytest.mark.needs_tl4("made for the bridge of 4.x")
def test_several_devices(tmp_path: Path) -> None:
    model = placed("llama", "two devices", tmp_path)
    assert (model.placement, str(model.device)) == (f"cpu, {SECOND}", "cpu")
    assert list(map(str, model.devices)) == ["cpu", SECOND]


class TestOptions:
    def test_a_map_of_one_device(self, folders: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="headcats"):
            model = load_model(folders["llama"], device_map={"": "cpu"})
        assert "on cpu, torch.float32" in caplog.text
        assert model.origin.source == str(folders["llama"])
        assert model.origin.recorded_loader() == {"device_map": {"": "cpu"}}
        resident = load_model(folders["llama"], device="cpu")
        assert torch.equal(model.logits(random_tokens()), resident.logits(random_tokens()))

    def test_what_transformers_takes_is_passed_on(self, folders: dict[str, Path]) -> None:
        model = load_model(folders["llama"], num_hidden_layers=1)
        assert model.n_layers == 1

    def test_the_dtype_of_the_file(self, folder: Path) -> None:
        transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
        assert load_model(folder, dtype="auto").dtype == torch.bfloat16
        assert load_model(folder).dtype == torch.float32

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"device": "cpu", "device_map": "auto"}, "device and device_map"),
            ({"attn_implementation": "sdpa"}, "attn_implementation cannot.*eager"),
            ({"device_mapp": "auto"}, "'device_mapp'.* 'device_map'"),
            ({"token": "secret"}, "token cannot.*HF_TOKEN"),
            ({"trust_remote_code": True}, "trust_remote_code cannot"),
            ({"backend": "hooked", "device_map": "auto"}, "backend='hooked' .*device_map"),
        ],
    )
    def test_options_that_contradict(self, folders: dict[str, Path], options: dict[str, Any], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            load_model(folders["llama"], **options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [({"device_map": {"": "cuda:7"}}, "Cannot load"), ({"device_map": {"": "meta"}}, "no values")],
    )
    def test_what_cannot_be_done_here(self, folders: dict[str, Path], options: dict[str, Any], message: str) -> None:
        with pytest.raises(ModelError, match=message) as caught:
            load_model(folders["llama"], **options)
        assert "\n" not in str(caught.value)

    def test_bitsandbytes_is_asked_for(self, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(*_: Any, **__: Any) -> None:
            raise ImportError("Using `bitsandbytes` 4-bit quantization requires bitsandbytes: pip install bitsandbytes")

        monkeypatch.setattr(
            "transformers.quantizers.quantizer_bnb_4bit.Bnb4BitHfQuantizer.validate_environment", missing
        )
        options = transformers.BitsAndBytesConfig(load_in_4bit=True)
        with pytest.raises(ModelError, match="missing; pip install bitsandbytes"):
            load_model(folders["llama"], quantization_config=options)

    def test_devices_that_are_not_there(self, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(OptionError, match="n_devices=2 requires CUDA"):
            load_model(folders["llama"], n_devices=2)
