"""Where a model and its revisions are, and what is no model."""

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from toys import word_tokenizer

from headcats.base.errors import ModelError
from headcats.models import source
from headcats.models.loading import load_model
from headcats.models.source import Revision, find_revisions, training_step


class TestName:
    def test_unreachable_fails_after_one_request(self, no_network: list[Any], cache: Path) -> None:
        with pytest.raises(ModelError, match="was not reached"):
            load_model("owner/no-such-model")
        assert len(no_network) <= 2  # the download functions of huggingface_hub try six times, for 23 seconds

    def test_what_is_not_a_hub_name_asks_nobody(self, no_network: list[Any], cache: Path) -> None:
        for name in ("a/b/c", "what is this?"):
            with pytest.raises(ModelError, match="not a hub name"):
                load_model(name)
        assert no_network == []

    def test_near_matches_are_bundled_models_and_local_folders(
        self, monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path], no_network: list[Any], cache: Path
    ) -> None:
        with pytest.raises(ModelError, match=r"mean 'mini'\?"):
            load_model("mni")
        monkeypatch.chdir(folders["gpt2"].parent)
        with pytest.raises(ModelError, match=r"mean '\./llama'\?"):
            load_model("lama")


class TestBadFolder:
    def test_what_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"config.*safetensors.*tokenizer"):
            load_model(tmp_path)

    @pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
    def test_one_missing_file_is_named(self, folder: Path, file: str) -> None:
        (folder / file).unlink()
        with pytest.raises(ModelError, match=rf"lacks [^:]*{file}[^:]*: save"):
            load_model(folder)

    def test_a_given_tokenizer_replaces_the_missing_one(self, folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        given = word_tokenizer()
        assert load_model(folder, tokenizer=given).tokenizer is given
        assert given.eos_token is None

    def test_a_missing_shard_is_named(self, folder: Path) -> None:
        transformers.AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder, max_shard_size="10KB")
        (folder / "model.safetensors").unlink(missing_ok=True)
        assert load_model(folder).d_vocab == 60
        shard, *others = sorted(folder.glob("model-*"))
        shard.unlink()
        n_shards = len(others) + 1
        with pytest.raises(ModelError, match=rf"lacks '{shard.name}' \(1 of {n_shards}"):
            load_model(folder)

    @pytest.mark.parametrize(
        ("content", "message"), [("{", "Cannot read '.*index"), ("{}", "Expected 'weight_map' in")]
    )
    def test_an_unreadable_index(self, folder: Path, content: str, message: str) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(content, encoding="utf-8")
        with pytest.raises(ModelError, match=message):
            load_model(folder)

    def test_a_folder_of_checkpoints(self, folder: Path) -> None:
        with pytest.raises(ModelError, match=f": {folder.name}. .*--rev"):
            load_model(folder.parent)

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
                r"encoder-decoder \(T5ForConditionalGeneration\)",
            ),
            ({"model_type": "own", "auto_map": {"AutoModelForCausalLM": "modeling_own.Own"}}, "needs code"),
            ({"model_type": "no-such-type"}, "no-such-type"),
            ({"num_hidden_layers": 4}, r"lack 9 tensors .*'model\.layers\.3\."),
            ({"hidden_size": 64}, r"other shapes than config\.json"),
        ],
        ids=["encoder-decoder", "remote code", "unknown type", "missing weights", "other shapes"],
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
        with pytest.raises(ModelError, match="needs code"):
            load_model(folder)
        assert not (tmp_path / "ran").exists()

    def test_a_file_and_a_folder_that_is_not_there(self, folder: Path) -> None:
        with pytest.raises(ModelError, match=r"safetensors' is a file"):
            load_model(folder / "model.safetensors")
        with pytest.raises(ModelError, match=r"brokn' does .*'.*broken'\?"):
            load_model(str(folder.parent / "brokn"))
        with pytest.raises(ModelError):
            load_model("")


def model_in(folder, *, tokenizer=False):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").touch()
    if tokenizer:
        (folder / "tokenizer.json").touch()
    return folder


@pytest.mark.parametrize(
    ("name", "step"),
    [("step1000", 1000), ("checkpoint-500", 500), ("stage1-step20-tokens3B", 20), ("main", None), ("v1-2", None)],
)
def test_a_step_is_the_number_after_step_or_the_only_one(name, step):
    assert training_step(name) == step


def test_a_folder_has_its_revisions_in_it_or_by_their_paths(tmp_path):
    base = model_in(tmp_path / "model", tokenizer=True)
    inside, own = model_in(base / "checkpoints" / "step1"), model_in(tmp_path / "elsewhere" / "step2", tokenizer=True)
    assert find_revisions(base, ["checkpoints/step1", str(own)]) == [
        Revision("step1", str(inside), tokenizer=str(base)),
        Revision("step2", str(own)),
    ]


def test_a_bundled_model_lends_its_tokenizer_by_name(tmp_path):
    assert find_revisions("mini", [model_in(tmp_path / "step1")])[0].tokenizer == "mini"


def test_a_hub_name_has_revisions_there_and_folders_written_as_paths(tmp_path, monkeypatch):
    snapshots = {"refs/pr/1": model_in(tmp_path / "a", tokenizer=True), "step5": model_in(tmp_path / "b")}
    monkeypatch.setattr(source, "fetch", lambda name, *, revision: (snapshots[revision], "commit"))
    local = model_in(tmp_path / "c" / "mine")
    assert find_revisions("owner/model", ["refs/pr/1", "step5", local]) == [
        Revision("refs=pr=1", "owner/model", "refs/pr/1"),
        Revision("step5", "owner/model", "step5", "owner/model"),
        Revision("mine", str(local), tokenizer="owner/model"),
    ]


def test_a_folder_that_is_no_model_is_named(tmp_path):
    base = model_in(tmp_path / "model")
    (base / "step1").mkdir()
    with pytest.raises(ModelError, match=r"step1' lacks config\.json"):
        find_revisions(base, ["step1"])
    with pytest.raises(ModelError, match="no revisions"):
        find_revisions(tmp_path / "absent", ["step1"])
