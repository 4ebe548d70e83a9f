"""Results on a hub on this machine: pushed, read, brought up to date, and what is said when that fails."""

from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pytest
import xarray as xr
from hub_server import Fault, Hub, Repository
from results import folders

import headcats as hc
from headcats.base.errors import DataError, OptionError, StorageError
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.results.tables import table_bytes
from headcats.scale.merging import merge

NAME = "somebody/toy"
ADDRESS = f"hf://{NAME}"
TOKEN = "of-somebody"
# What huggingface_hub 2.4 does where Xet is off, as httpx2 says.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")


@pytest.fixture
def somebody(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The hub, and a token that may write what is of somebody."""
    hub.writers[TOKEN] = {"somebody"}
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with two tasks, evidence, and what is no part of results."""
    path = folders.folder(tmp_path / "results", "plural", "capital")
    ResultsFolder(path).write_suite('{"tasks":[]}')
    (path / "evidence.nc").write_bytes(table_bytes(folders.block()))
    for name in ("report.html", "attention.json", "heads.csv", ".hidden.nc", ".a/b.nc"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("not to be shared", encoding="utf-8")
    return path


def pushed(hub: Hub) -> Repository:
    return hub.repositories["dataset", NAME]


def check_sentence(error: pytest.ExceptionInfo[Exception], *parts: str) -> None:
    """One sentence, with these parts, and no other error on it."""
    text = str(error.value)
    for part in parts:
        assert part in text
    assert text.endswith(".")
    assert "\n" not in text
    assert ". " not in text
    assert error.value.__suppress_context__


class TestPush:
    def test_what_belongs_to_results_comes_back(self, somebody: Hub, results: Path) -> None:
        address = hc.push(results, NAME)
        repository = pushed(somebody)
        assert address == f"{ADDRESS}@{repository.refs['main']}"
        tables = {f"blocks/{folders.LABEL}/{task}.nc" for task in ("plural", "capital")} | {"evidence.nc"}
        assert set(repository.files()) == {"README.md", ".gitattributes", "manifest.json", "suite.json", *tables}
        assert len(repository.commits) == 2, "the repository, and one commit"
        xr.testing.assert_identical(hc.load(ADDRESS), hc.load(results))
        xr.testing.assert_identical(hc.load(address), hc.load(results))

    def test_the_page_beside_it(self, somebody: Hub, results: Path) -> None:
        hc.push(hc.load(results), NAME)
        text = pushed(somebody).files()["README.md"].decode()
        assert "\n- headcats\n" in text.partition("\n---\n")[0]
        assert "| model | `toy` |" in text
        assert "2 tasks" in text
        assert folders.LABEL in text
        assert f'hc.load("{ADDRESS}")' in text

    def test_pushing_again_brings_it_up_to_date(self, somebody: Hub, results: Path, tmp_path: Path) -> None:
        first = hc.push(results, NAME)
        assert hc.push(results, NAME) == first, "nothing has changed"
        sent = len(somebody.asked("PUT"))
        (results / "evidence.nc").unlink()
        third = hc.push(results, NAME)
        assert third != first
        assert "evidence.nc" not in pushed(somebody).files()
        assert ".gitattributes" in pushed(somebody).files(), "not ours"
        assert len(somebody.asked("PUT")) == sent, "what is there is not sent again"
        more = folders.folder(tmp_path / "more", "plural", "capital", "antonym")
        hc.push(more, NAME)
        assert set(RunResults(hc.load(ADDRESS)).tasks) == {"plural", "capital", "antonym"}
        assert set(RunResults(hc.load(first)).tasks) == {"plural", "capital"}

    def test_a_branch(self, somebody: Hub, results: Path, tmp_path: Path) -> None:
        hc.push(results, NAME)
        draft = hc.push(folders.folder(tmp_path / "one", "plural"), NAME, revision="draft")
        assert set(RunResults(hc.load(ADDRESS)).tasks) == {"plural", "capital"}
        assert set(RunResults(hc.load(f"{ADDRESS}@draft")).tasks) == {"plural"}
        assert draft == f"{ADDRESS}@{pushed(somebody).refs['draft']}"
        assert f'hc.load("{ADDRESS}@draft")' in pushed(somebody).files("draft")["README.md"].decode()
        assert hc.push(tmp_path / "one", NAME, revision="draft") == draft

    def test_no_folder_of_this_machine_is_told(self, somebody: Hub, tmp_path: Path) -> None:
        places = {"source": "../../secret/my-model", "tokenizer": "../secret/words"}
        model = replace(folders.manifest("plural").model, name="/home/somebody/my-model", **places)
        sources = {
            "/secret/mine.py:suite": "mine.py:suite",
            r"C:\secret\data": "data",
            "../../secret/words.csv": "words.csv",
            "icl": "icl",
        }
        for place, (source, told) in enumerate(sources.items()):
            path = folders.folder(tmp_path / str(place), "plural", model=model, suite_source=source)
            hc.push(path, NAME)
            manifest = RunResults(hc.load(ADDRESS)).manifest
            shared = manifest.model
            assert (shared.name, shared.source, shared.tokenizer) == ("my-model", "", "")
            assert manifest.suite_source == told
            for data in pushed(somebody).files().values():
                assert b"/home/somebody" not in data
                assert b"secret/" not in data
            assert RunResults(hc.load(path)).manifest.suite_source == source

    def test_private_ones(self, somebody: Hub, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        hc.push(results, NAME, private=True)
        assert pushed(somebody).private
        assert set(RunResults(hc.load(ADDRESS)).tasks) == {"plural", "capital"}
        monkeypatch.delenv("HF_TOKEN")
        with pytest.raises(StorageError) as error:
            hc.load(ADDRESS)
        check_sentence(error, "the hub has no public dataset of that name", "set HF_TOKEN to a token with access")
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        pushed(somebody).private = False
        commits = dict(pushed(somebody).commits)
        with pytest.raises(StorageError) as error:
            hc.push(results, NAME, private=True)
        check_sentence(error, "it is public already")
        assert pushed(somebody).commits == commits

    def test_without_a_token_nobody_is_asked(self, hub: Hub, results: Path) -> None:
        with pytest.raises(StorageError) as error:
            hc.push(results, NAME)
        check_sentence(error, f"Could not push {results} to {ADDRESS}: there is no token", "set HF_TOKEN to it")
        assert hub.log == []

    @pytest.mark.parametrize(
        ("where", "status", "part"),
        [("POST .*create", 401, "HF_TOKEN"), ("POST .*commit", 403, "HF_TOKEN"), ("PUT", 500, "(500)")],
    )
    def test_what_the_hub_refuses(self, somebody: Hub, results: Path, where: str, status: int, part: str) -> None:
        somebody.faults.append(Fault(where, status, times=99))
        with pytest.raises(StorageError) as error:
            hc.push(results, NAME)
        check_sentence(error, f"to {ADDRESS}: ", part)
        if ("dataset", NAME) in somebody.repositories:
            assert list(pushed(somebody).files()) == [".gitattributes"]
        somebody.faults.clear()
        hc.push(results, NAME)
        xr.testing.assert_identical(hc.load(ADDRESS), hc.load(results))

    def test_a_name_of_others_and_none(self, somebody: Hub, results: Path) -> None:
        with pytest.raises(StorageError) as error:
            hc.push(results, "others/toy")
        check_sentence(error, "(403); set HF_TOKEN")
        for name in ("toy", "a/b/c", ADDRESS):
            with pytest.raises(OptionError, match="as 'owner/name'; got"):
                hc.push(results, name)
        with pytest.raises(StorageError) as error:
            hc.push(results, "somebody/-what?")
        check_sentence(error, "that is not a hub name")

    def test_what_is_no_folder_of_results(self, somebody: Hub, results: Path, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="results folder"):
            hc.push(tmp_path, NAME)
        in_memory = hc.load(results)
        in_memory.encoding.clear()
        for nothing in (in_memory, in_memory["plural"], 3):
            with pytest.raises(DataError, match="lie in none"):
                hc.push(nothing, NAME)  # type: ignore[arg-type]
        (results / "blocks" / folders.LABEL / "plural.nc").write_bytes(b"damaged")
        with pytest.raises(StorageError, match="is damaged"):
            hc.push(results, NAME)
        assert somebody.log == []


class TestRead:
    def test_without_network_as_it_was(self, somebody: Hub, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        hc.push(results, NAME)
        read = hc.load(ADDRESS)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        asked = len(somebody.log)
        xr.testing.assert_identical(hc.load(ADDRESS), read)
        with pytest.raises(StorageError) as error:
            hc.load(f"{ADDRESS}@draft")
        check_sentence(error, f"Could not read {ADDRESS}@draft: ", "offline mode is enabled", "set HF_HOME")
        assert len(somebody.log) == asked

    def test_what_is_not_there(self, somebody: Hub, results: Path) -> None:
        somebody.add("somebody/texts", {"data.csv": b"a,b"}, "dataset")
        for address in ("hf://somebody/nothing", "hf://somebody/texts@v9", "hf://", "hf://a/b/c"):
            with pytest.raises(StorageError) as error:
                hc.load(address)
            check_sentence(error, f"Could not read {address}: ")
        with pytest.raises(StorageError, match=r"without manifest\.json"):
            hc.load("hf://somebody/texts")

    def test_a_copy_to_work_on(self, somebody: Hub, results: Path, tmp_path: Path) -> None:
        hc.push(results, NAME)
        other = folders.folder(tmp_path / "other", "antonym")
        merged = merge([ADDRESS, other], out=tmp_path / "copy")
        assert set(RunResults(merged).tasks) == {"plural", "capital", "antonym"}
        assert hc.load(tmp_path / "copy").encoding["source"] == str(tmp_path / "copy")

    def test_what_writes_into_results_names_the_way(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(StorageError, match="headcats merge hf://somebody/toy"):
            hc.save_attention("mini", Path(ADDRESS))
        assert list(tmp_path.iterdir()) == []


def test_a_link_out_of_the_folder_is_not_pushed(results: Path, somebody: Hub, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("of the reader", encoding="utf-8")
    (results / "more").mkdir()
    (results / "more" / "suite.json").symlink_to(tmp_path / "key")
    with pytest.raises(StorageError, match=r"more/suite\.json is a link"):
        hc.push(results, NAME)
    assert somebody.repositories == {}
