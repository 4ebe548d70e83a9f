import logging
import re
import warnings
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
import transformers
from toys import hf_model, random_tokens, tiny_model, word_tokenizer

from headcats.base import registry
from headcats.base.errors import ModelError, OptionError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.loading import load_model, quiet
from headcats.models.origin import Origin

TOLERANCE = 2e-5
HOOKED = pytest.param("llama", "hooked", marks=pytest.mark.needs_tl3("HookedTransformer"))


class TestFolder:
    @pytest.mark.both_versions
    @pytest.mark.parametrize(("layout", "backend"), [("gpt2", "bridge"), ("llama", "bridge"), HOOKED])
    def test_it_gives_the_numbers_of_transformers(
        self, folders: dict[str, Path], layout: Any, backend: Any, no_network: list[Any]
    ) -> None:
        model, tokens = load_model(folders[layout], backend=backend, device="cpu"), random_tokens()
        expected = hf_model(layout)(tokens).logits[:, -1].detach().log_softmax(-1)
        assert (model.logits(tokens).log_softmax(-1) - expected).abs().max() < TOLERANCE
        assert model.model_class == {"bridge": "TransformerBridge", "hooked": "HookedTransformer"}[backend]
        assert (model.name, model.origin.revision, model.weight_processing) == (layout, None, "none")
        assert not model.model.training
        assert no_network == []

    @pytest.mark.both_versions
    def test_its_tokenizer_is_the_one_in_the_folder(self, folders: dict[str, Path]) -> None:
        model, plain = load_model(str(folders["llama"])), word_tokenizer()
        text = "w1 → w2\nw3, w4 →"
        assert model.tokenizer(text).input_ids == plain(text).input_ids == [7, 3, 8, 4, 9, 5, 10, 3]
        assert model.tokenizer.eos_token is None  # TransformerLens gives its own copy one
        assert model.tokenizer.bos_token_id == 0
        assert len(model.tokenizer) == model.d_vocab

    def test_a_weight_that_is_not_finite_is_named(self, folders: dict[str, Path], tmp_path: Path) -> None:
        broken = hf_model("llama")
        with torch.no_grad():
            broken.model.layers[1].mlp.up_proj.weight[1, 2] = float("nan")
        broken.save_pretrained(tmp_path / "broken")
        with pytest.raises(ModelError, match=r"'model\.layers\.1\.mlp\.up_proj\.weight' .*'broken' holds NaN"):
            load_model(tmp_path / "broken", tokenizer=str(folders["llama"]))

    def test_dtype(self, folders: dict[str, Path]) -> None:
        model, same = (load_model(folders["llama"], dtype=dtype) for dtype in ("bfloat16", torch.bfloat16))
        assert model.dtype == same.dtype == torch.bfloat16
        assert model.logits(random_tokens()).dtype == torch.float32
        _, z = model.capture(random_tokens())
        assert z[0].dtype == torch.bfloat16

    def test_a_tokenizer_with_a_hub_name_is_not_asked_for_again(
        self, folders: dict[str, Path], no_network: list[Any]
    ) -> None:
        given = word_tokenizer()
        given.init_kwargs["name_or_path"] = "owner/name"
        assert load_model(folders["llama"], tokenizer=given).tokenizer is given
        assert no_network == []
        assert "add_bos_token" not in given.init_kwargs

    def test_a_name_of_this_folder_and_home(
        self, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, no_network: list[Any]
    ) -> None:
        monkeypatch.chdir(folders["gpt2"].parent)
        model = load_model("gpt2")
        assert (model.name, model.origin.revision) == ("gpt2", None)
        monkeypatch.setenv("HOME", str(folders["gpt2"].parent))
        monkeypatch.setenv("USERPROFILE", str(folders["gpt2"].parent))
        assert load_model("~/gpt2").name == "gpt2"
        assert no_network == []


class TestBundled:
    def test_a_bundled_model_asks_nobody(
        self, folders: dict[str, Path], no_network: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(registry._tables["model"], "toy", folders["llama"])
        model = load_model("toy")
        assert (model.name, model.origin.revision) == ("toy", None)
        assert no_network == []
        with pytest.raises(OptionError, match="belongs to a hub"):
            load_model("toy", revision="main")


class TestOwnModel:
    def test_it_is_used_as_it_is(self) -> None:
        raw = tiny_model("llama").model
        model = load_model(raw)
        assert model.model is raw
        assert load_model(model) is model
        raw.to(torch.bfloat16)
        assert load_model(raw, dtype="bfloat16").dtype == load_model(raw).dtype == torch.bfloat16

    def test_a_given_tokenizer_belongs_to_the_adapter_only(self) -> None:
        raw, given = tiny_model("llama").model, word_tokenizer()
        own = raw.tokenizer
        assert load_model(raw, tokenizer=given).tokenizer is given
        model = load_model(HookedModel(raw, name="mine", origin=Origin(revision="r1")), tokenizer=given)
        assert (model.tokenizer, model.name, model.origin.revision) == (given, "mine", "r1")
        assert raw.tokenizer is own

    @pytest.mark.parametrize(
        "options",
        [{"device": "cpu"}, {"dtype": torch.bfloat16}, {"device": "cpu", "revision": "main"}, {"device_map": "auto"}],
    )
    def test_it_is_not_moved(self, options: dict[str, Any]) -> None:
        raw = tiny_model("gpt2").model
        for source in (raw, adapt(raw)):
            with pytest.raises(OptionError, match=f"{' and '.join(options)} cannot"):
                load_model(source, **options)
        assert adapt(raw).dtype == torch.float32

    @pytest.mark.parametrize("source", [None, 3], ids=["None", "number"])
    def test_anything_else_is_refused(self, source: Any) -> None:
        with pytest.raises(ModelError, match="HookedTransformer or a TransformerBridge"):
            load_model(source)


class TestOptions:
    @pytest.mark.parametrize(
        "options", [{"backend": "hook"}, {"dtype": "float8"}, {"device": "cuda:99"}, {"tokenizer": 3}], ids=str
    )
    def test_bad_values(self, folders: dict[str, Path], options: dict[str, Any]) -> None:
        ((option, value),) = options.items()
        with pytest.raises(OptionError, match=rf"(?i){option}\b.*({re.escape(str(value))}|int)"):
            load_model(folders["gpt2"], **options)

    def test_the_device_is_chosen_and_logged(
        self, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
        with caplog.at_level(logging.INFO, logger="headcats"):
            assert load_model(folders["gpt2"]).device == torch.device("cpu")
        assert "cpu (no device" in caplog.text


class TestQuiet:
    @pytest.mark.parametrize(("bars", "hub_bars"), [(True, True), (True, False), (False, False)])
    def test_every_setting_is_restored(self, bars: bool, hub_bars: bool) -> None:
        from transformers.utils import logging as transformers_logging

        before = transformers_logging.get_verbosity()
        (transformers_logging.enable_progress_bar if bars else transformers_logging.disable_progress_bar)()
        (huggingface_hub.utils.enable_progress_bars if hub_bars else huggingface_hub.utils.disable_progress_bars)()
        transformers_logging.set_verbosity_info()
        handlers, filters = list(logging.getLogger().handlers), list(warnings.filters)
        try:
            with pytest.raises(RuntimeError), quiet():
                raise RuntimeError
            assert transformers_logging.get_verbosity() == logging.INFO
            assert transformers_logging.is_progress_bar_enabled() == bars
            assert huggingface_hub.utils.are_progress_bars_disabled() != hub_bars
            assert logging.getLogger().handlers == handlers
            assert warnings.filters == filters
        finally:
            transformers_logging.enable_progress_bar()
            transformers_logging.set_verbosity(before)

    def test_it_says_nothing_while_it_lasts(self, capfd: pytest.CaptureFixture[str]) -> None:
        with quiet():
            print("noise")
            transformers.utils.logging.get_logger("transformers.x").warning("noise")
        assert capfd.readouterr() == ("", "")
