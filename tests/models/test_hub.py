"""Models by name, from a hub on this machine that speaks the protocol of the real one and fails on request."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
import transformers
import xarray as xr
from hub_server import Fault, Hub, Repository
from peaks import peak_bytes
from safetensors.torch import load, save

import headcats as hc
from headcats.base.errors import ModelError
from headcats.models.loading import load_model
from headcats.models.source import fetch
from headcats.models.transformers_model import read_model
from headcats.results.run_results import RunResults
from headcats.study.identity import new_manifest
from headcats.study.plan import plan
from headcats.study.restore import restored_model

NAME = "lab/mini"
FOLDER = Path(hc.__file__).parent / "models" / "mini"
SMALL = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")


@functools.cache
def mini() -> Mapping[str, bytes]:
    """Files of the bundled model."""
    return {name: (FOLDER / name).read_bytes() for name in (*SMALL, "model.safetensors")}


@functools.cache
def later() -> Mapping[str, bytes]:
    """With other weights."""
    weights = load(mini()["model.safetensors"])
    weights["model.norm.weight"] = weights["model.norm.weight"] * 2
    return {**mini(), "model.safetensors": save(weights, metadata={"format": "pt"})}


@pytest.fixture
def repository(hub: Hub) -> Repository:
    """The bundled model; its branch `later` has other weights."""
    repository = hub.add(NAME, mini())
    repository.refs["later"] = repository.refs["main"]
    repository.commit(later(), "later")
    return repository


def check_refused(*parts: str, name: str = NAME, revision: str | None = None) -> None:
    """Fetching fails with a message that has these parts, and no other error hangs on it."""
    with pytest.raises(ModelError) as error:
        fetch(name, revision=revision)
    text = str(error.value)
    assert text.startswith(f"Could not load {name!r} ")
    assert [part for part in (*parts, "'./my-model'") if part not in text] == []
    assert text.endswith(".")
    assert "\n" not in text
    assert error.value.__suppress_context__


def blobs() -> set[str]:
    """Names of the files in the cache: their hashes, or what a download is written to until it is whole."""
    home = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--lab--mini"
    return {path.name for path in home.rglob("blobs/*")}


class TestLoaded:
    def test_the_newest_and_a_revision(self, hub: Hub, repository: Repository, request: pytest.FixtureRequest) -> None:
        newest, later = load_model(NAME, device="cpu"), load_model(NAME, device="cpu", revision="later")
        assert (newest.name, newest.origin.revision) == (NAME, repository.refs["main"])
        assert later.origin.revision == repository.refs["later"] != newest.origin.revision
        assert newest.weights_hash() == request.getfixturevalue("mini").weights_hash() != later.weights_hash()
        assert fetch(NAME, revision=newest.origin.revision) == fetch(NAME)
        # Of the second revision only what differs is fetched; loading itself asks the hub for nothing.
        assert [len(hub.asked(f"GET .*[/=]{file}")) for file in (*SMALL, "model.safetensors")] == [1, 1, 1, 1, 2]
        assert {request.token for request in hub.log} == {""}

    def test_it_is_found_again_by_the_commit_in_the_manifest(self, repository: Repository) -> None:
        model, commit = load_model(NAME, device="cpu", revision="later"), repository.refs["later"]
        manifest = new_manifest(model, plan(n_prompts=8))
        assert (manifest.model.name, manifest.model.revision) == (NAME, commit)
        repository.commit(mini(), "later")  # the branch moves on, the results stay with their commit
        run = RunResults(xr.DataTree(xr.Dataset(attrs={"manifest": manifest.to_json()})))
        again = restored_model(run, NAME)
        assert (again.origin.revision, again.weights_hash()) == (commit, model.weights_hash())

    def test_shards(self, hub: Hub, tmp_path: Path) -> None:
        whole = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
        whole.save_pretrained(tmp_path / "shards", max_shard_size="700KB")
        transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(tmp_path / "shards")
        files = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
        shards = [name for name in files if name.startswith("model-0000")]
        hub.add(NAME, files)
        model = load_model(NAME, device="cpu")
        assert len(shards) > 3
        assert {Path(request.path).name.partition("=")[2] for request in hub.asked("GET /large")} == set(shards)
        tokens = torch.arange(12)[None]
        assert torch.allclose(model.logits(tokens), whole(tokens).logits[:, -1], atol=2e-5)

    def test_shards_are_read_without_a_second_copy(self, tmp_path: Path) -> None:
        whole = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
        whole.save_pretrained(tmp_path, max_shard_size="700KB")
        weights = sum(parameter.nbytes for parameter in whole.parameters())
        options: dict[str, Any] = {"dtype": torch.float32, "device": torch.device("cpu"), "options": {}}
        assert weights <= peak_bytes(lambda: read_model(tmp_path, **options)) < 1.1 * weights

    def test_only_what_a_model_needs(self, hub: Hub) -> None:
        others = ["consolidated.safetensors", "onnx/model.onnx", "original/params.json", "pytorch_model.bin", "a.gguf"]
        hub.add(NAME, mini() | dict.fromkeys(others, b"other"))
        folder, _ = fetch(NAME)
        assert {path.name for path in folder.rglob("*")} == set(mini())
        old = {name: data for name, data in mini().items() if name in SMALL}
        hub.add("lab/old", old | {"pytorch_model.bin": b"pickle", "training_args.bin": b"pickle"})
        folder, _ = fetch("lab/old")
        assert {path.name for path in folder.iterdir()} == {*old, "pytorch_model.bin"}


class TestRefused:
    @pytest.mark.parametrize("status", [401, 403])
    def test_gated(self, hub: Hub, repository: Repository, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        repository.gated = status
        check_refused("it is gated", f"{hub.endpoint}/{NAME} and set HF_TOKEN")
        assert blobs() == set()
        hub.writers["secret"] = set()
        monkeypatch.setenv("HF_TOKEN", "secret")
        assert fetch(NAME)[1] == repository.refs["main"]
        assert {request.token for request in hub.asked("resolve")} == {"", "secret"}
        assert {request.token for request in hub.asked("/large")} == {""}, "another server, which must not get it"

    def test_what_is_not_there(self, repository: Repository) -> None:
        check_refused("no public model", "HF_TOKEN", name="nobody/nothing")
        check_refused("no public model", "did you mean 'mini'?", name="lab/minni")
        check_refused("no revision 'v9'", "branches, tags", revision="v9")
        check_refused("'owner/name'", name="a/b/c")

    def test_a_token_without_rights(self, hub: Hub, repository: Repository) -> None:
        for status, part in ((401, "(401); set HF_TOKEN"), (403, "(403); set HF_TOKEN"), (503, "(503); try again")):
            hub.faults.append(Fault("GET /api/models", status))
            check_refused(part)

    def test_a_download_that_breaks_off(self, hub: Hub, repository: Repository) -> None:
        hub.faults.append(Fault("GET /large", 503, times=99))
        check_refused("(503)", "try again later")
        hub.faults.clear()
        assert fetch(NAME)[1] == repository.refs["main"]


class TestCache:
    @pytest.mark.parametrize("status", [429, 500])
    def test_what_is_in_the_cache_is_used_where_the_hub_has_a_fault(
        self, hub: Hub, repository: Repository, status: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        folder = fetch(NAME)
        hub.faults.append(Fault("GET", status, times=99))
        with caplog.at_level("INFO", logger="headcats"):
            assert fetch(NAME) == folder
        assert "copy in the cache" in caplog.text

    def test_without_network_and_without_the_hub(
        self, hub: Hub, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        newest, later = fetch(NAME), fetch(NAME, revision="later")
        asked = len(hub.log)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        assert (fetch(NAME), fetch(NAME, revision="later")) == (newest, later)
        assert load_model(NAME, device="cpu").origin.revision == repository.refs["main"]
        check_refused("offline mode is enabled", "HF_HOME", revision="v9")
        assert len(hub.log) == asked
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
        huggingface_hub.close_session()
        assert fetch(NAME) == newest
        check_refused("(ConnectError", "check the network", revision="v9")

    def test_a_copy_that_is_not_whole(self, hub: Hub, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        hub.faults.append(Fault("GET /large", 503, times=99))
        with pytest.raises(ModelError, match="503"):
            fetch(NAME)
        hub.faults.clear()
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(ModelError, match=r"'lab/mini' in the cache .*model\.safetensors"):
            load_model(NAME)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        assert fetch(NAME)[1] == repository.refs["main"]

    @pytest.mark.parametrize(("files", "part"), [({}, r"config\.json and weights"), (mini(), "needs code")])
    def test_a_repository_of_something_else(self, hub: Hub, files: dict[str, bytes], part: str) -> None:
        if files:
            files = files | {"config.json": b'{"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}'}
        hub.add(NAME, files)
        with pytest.raises(ModelError, match=f"'lab/mini' .*{part}"):
            load_model(NAME)
