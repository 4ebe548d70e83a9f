"""Where the model and the suite of results are: paths follow the results, and a private name goes nowhere."""

from pathlib import Path

import pytest

from headcats.base.errors import OptionError
from headcats.results.records import ModelRecord
from headcats.results.sources import moved_source, shown_source, source_of, stored_source


def stored(source: str, results: Path) -> ModelRecord:
    return ModelRecord(name="lm", source=stored_source(source, results))


def test_a_folder_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, results = tmp_path / "models" / "lm", tmp_path / "work" / "results"
    for folder in (model, results):
        folder.mkdir(parents=True)
    record = stored(str(model), results)
    assert record.source == "../../models/lm"
    for start in (tmp_path, results, model):
        monkeypatch.chdir(start)
        assert (Path.cwd() / source_of(record, results)).resolve() == model
    monkeypatch.chdir(tmp_path)
    assert source_of(record, Path("work/results")) == "./models/lm"  # not taken for a name on the hub
    assert shown_source(record.source) == "./lm"


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    record = stored(str(tmp_path / "lm"), tmp_path / "results")
    with pytest.raises(OptionError, match=r"lm', .*--model"):
        source_of(record, tmp_path / "results")


def test_merged_results_lie_elsewhere(tmp_path: Path) -> None:
    assert moved_source("../lm", tmp_path / "a", tmp_path / "deep" / "b") == "../../lm"
    assert moved_source("owner/model", tmp_path / "a", tmp_path / "b") == "owner/model"


def test_results_that_do_not_say() -> None:
    """A name that may be of a folder is not looked for on the hub."""
    with pytest.raises(OptionError, match="'my-private-lm'"):
        source_of(ModelRecord(name="my-private-lm"), Path())
