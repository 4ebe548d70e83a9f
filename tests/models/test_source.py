import json
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import transformers
from huggingface_hub import errors as hub_errors
from safetensors.torch import load_file, save_file
from toys import random_tokens, word_tokenizer

from headcats.errors import ModelError
from headcats.models import source
from headcats.models.loading import load_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def answer(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> list[dict[str, Any]]:
    """The hub answers model_info with `outcome`, raised if it is an error; returns the calls."""
    calls: list[dict[str, Any]] = []

    class Api:
        def model_info(self, name: str, **options: Any) -> Any:
            calls.append({"name": name, **options})
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

    monkeypatch.setattr(source, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    return calls


def hub_error(kind: type[Exception]) -> Exception:
    """Its constructor wants the HTTP response, of another class in every version."""
    return kind.__new__(kind)


def one_sentence_with_the_ways_out(error: pytest.ExceptionInfo[ModelError], name: str) -> str:
    text = str(error.value)
    for part in (repr(name), "HF_TOKEN", "HF_HOME", "HF_HUB_OFFLINE=1", "local folder such as './my-model'"):
        assert part in text
    assert text.endswith(".")
    assert "\n" not in text
    assert ". " not in text
    assert error.value.__suppress_context__  # no chained traceback
    return text


class TestHub:
    def test_unreachable_fails_after_one_request(self, no_network: list[Any], cache: Path) -> None:
        with pytest.raises(ModelError) as error:
            load_model("owner/no-such-model")
        text = one_sentence_with_the_ways_out(error, "owner/no-such-model")
        assert "did not answer" in text
        assert len(no_network) <= 2  # the download functions of huggingface_hub try six times, for 23 seconds

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [
            ("RepositoryNotFoundError", "the hub has no public model of that name"),
            ("GatedRepoError", "it is gated and no token with access was found"),
            ("RevisionNotFoundError", "it has no revision 'v9'"),
        ],
    )
    def test_what_the_hub_refuses(self, monkeypatch: pytest.MonkeyPatch, kind: str, reason: str) -> None:
        calls = answer(monkeypatch, hub_error(getattr(hub_errors, kind)))
        with pytest.raises(ModelError, match=reason) as error:
            load_model("owner/model", revision="v9")
        one_sentence_with_the_ways_out(error, "owner/model")
        assert calls == [{"name": "owner/model", "revision": "v9", "timeout": 10.0}]

    @pytest.mark.parametrize("name", ["a/b/c", "what is this?"])
    def test_what_is_not_a_hub_name(self, name: str, no_network: list[Any], cache: Path) -> None:
        with pytest.raises(ModelError, match="not a hub name") as error:
            load_model(name)
        one_sentence_with_the_ways_out(error, name)
        assert no_network == []

    def test_near_matches_are_bundled_models_and_local_folders(
        self, monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path], no_network: list[Any], cache: Path
    ) -> None:
        with pytest.raises(ModelError, match=r"mean 'mini'\?"):
            load_model("mni")
        monkeypatch.chdir(folders["gpt2"].parent)
        with pytest.raises(ModelError, match=r"mean '\./llama'\?"):
            load_model("lama")

    def test_without_network_the_cache_is_used(
        self, folders: dict[str, Path], no_network: list[Any], cache: Path
    ) -> None:
        self.fill(cache, folders["llama"])
        model = load_model("owner/model")
        assert (model.name, model.revision) == ("owner/model", COMMIT)
        assert model.logits(random_tokens()).shape == (3, 60)

    def test_offline_asks_nobody(
        self, folders: dict[str, Path], no_network: list[Any], cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(ModelError, match="HF_HUB_OFFLINE=1 is set") as error:
            load_model("owner/model")
        one_sentence_with_the_ways_out(error, "owner/model")
        self.fill(cache, folders["llama"])
        assert load_model("owner/model").revision == COMMIT
        assert load_model("owner/model", revision=COMMIT).revision == COMMIT
        with pytest.raises(ModelError, match="not in the cache"):
            load_model("owner/model", revision="v9")
        assert no_network == []

    def test_the_commit_that_the_hub_names_is_downloaded(
        self, folders: dict[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = [path.name for path in folders["llama"].iterdir()]
        extra = ["consolidated.safetensors", "onnx/model.onnx", "original/params.json", "pytorch_model.bin", "a.gguf"]
        answer(monkeypatch, self.info([*files, *extra]))
        downloads: list[dict[str, Any]] = []

        def download(name: str, **options: Any) -> str:
            downloads.append({"name": name, **options})
            return str(self.fill(cache, folders["llama"]))

        monkeypatch.setattr(source, "snapshot_download", download)
        assert load_model("owner/model", revision="main").revision == COMMIT
        assert sorted(downloads[0].pop("allow_patterns")) == sorted(files)
        assert downloads == [{"name": "owner/model", "revision": COMMIT}]
        assert load_model("owner/model").revision == COMMIT
        assert len(downloads) == 1  # the second time every file is in the cache

    def test_a_gated_download_and_a_broken_one(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        answer(monkeypatch, self.info(["config.json"]))
        for error, reason in [
            (hub_error(hub_errors.GatedRepoError), "it is gated"),
            (TimeoutError(), r"the download broke off \(TimeoutError\)"),
        ]:

            def download(name: str, error: Exception = error, **options: Any) -> str:
                raise error

            monkeypatch.setattr(source, "snapshot_download", download)
            with pytest.raises(ModelError, match=reason) as raised:
                load_model("owner/model")
            one_sentence_with_the_ways_out(raised, "owner/model")

    @staticmethod
    def info(files: list[str]) -> Any:
        siblings = [huggingface_hub.hf_api.RepoSibling(rfilename=file) for file in files]
        return type("Info", (), {"sha": COMMIT, "siblings": siblings})

    @staticmethod
    def fill(cache: Path, folder: Path) -> Path:
        repo = cache / "models--owner--model"
        (repo / "refs").mkdir(parents=True)
        (repo / "refs" / "main").write_text(COMMIT, encoding="utf-8")
        return Path(shutil.copytree(folder, repo / "snapshots" / COMMIT))


class TestBadFolder:
    def test_what_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"config.*safetensors.*tokenizer"):
            load_model(tmp_path)

    @pytest.mark.parametrize(
        ("file", "message"),
        [
            ("config.json", r"lacks config\.json: save"),
            ("model.safetensors", r"lacks weights \(model\.safetensors\): save"),
            ("tokenizer.json", r"lacks a tokenizer \(tokenizer\.json; or pass tokenizer=\): save"),
        ],
    )
    def test_one_missing_file_is_named(self, folder: Path, file: str, message: str) -> None:
        (folder / file).unlink()
        with pytest.raises(ModelError, match=message):
            load_model(folder)

    def test_a_given_tokenizer_replaces_the_missing_one(self, folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        given = word_tokenizer()
        assert load_model(folder, tokenizer=given).tokenizer is given
        assert given.eos_token is None

    @pytest.mark.parametrize("content", ["{", "[]"])
    def test_an_unreadable_config(self, folder: Path, content: str) -> None:
        (folder / "config.json").write_text(content, encoding="utf-8")
        with pytest.raises(ModelError, match=r"(read|in) '.*config"):
            load_model(folder)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"is_encoder_decoder": True, "architectures": ["T5ForConditionalGeneration"]},
                r"is an encoder-decoder \(T5ForConditionalGeneration\)",
            ),
            ({"vision_config": {}}, "has a vision or audio part"),
            (
                {"model_type": "own", "auto_map": {"AutoModelForCausalLM": "modeling_own.Own"}},
                "needs code from its repository, which headcats does not run",
            ),
            ({"model_type": "no-such-type"}, "Cannot load the model in .*no-such-type"),
            ({"num_hidden_layers": 4}, r"lack 9 tensors of LlamaForCausalLM, 'model\.layers\.3\."),
            ({"hidden_size": 64}, "Cannot load the model in"),
        ],
        ids=["encoder-decoder", "vision", "remote code", "unknown type", "missing weights", "other shapes"],
    )
    def test_a_config_of_another_kind(self, folder: Path, changes: dict[str, Any], message: str) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")
        with pytest.raises(ModelError, match=message) as error:
            load_model(folder)
        assert "\n" not in str(error.value)

    def test_code_in_the_folder_is_not_run(self, folder: Path, tmp_path: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n", encoding="utf-8")
        with pytest.raises(ModelError, match="Cannot load"):
            load_model(folder)
        assert not (tmp_path / "ran").exists()

    def test_broken_weights(self, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1")
        with pytest.raises(ModelError, match="Cannot load"):
            load_model(folder)

    def test_a_missing_tensor_is_not_filled_with_random_numbers(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        del weights["model.layers.1.self_attn.o_proj.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelError, match=r"lack 1 tensors .*self_attn\.o_proj"):
            load_model(folder)

    def test_an_architecture_that_transformer_lens_does_not_hold(self, folder: Path) -> None:
        config = transformers.CTRLConfig(vocab_size=60, n_embd=16, n_layer=1, n_head=2, dff=16, n_positions=16)
        transformers.CTRLLMHeadModel(config).save_pretrained(folder)
        with pytest.raises(ModelError, match="CTRLLMHeadModel"):
            load_model(folder)

    def test_a_file_and_a_folder_that_is_not_there(self, folder: Path) -> None:
        with pytest.raises(ModelError, match=r"safetensors' is a file"):
            load_model(folder / "model.safetensors")
        with pytest.raises(ModelError, match=r"brokn' does .*'.*broken'\?"):
            load_model(str(folder.parent / "brokn"))

    def test_an_empty_source(self) -> None:
        with pytest.raises(ModelError):
            load_model("")
