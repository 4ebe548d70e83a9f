"""From a results folder to its views: the right pages, whole or not at all, and refusals before anything is written."""

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counting import SUITE, counting_folder

import headcats as hc
from headcats.base import registry
from headcats.base.errors import DataError, OptionError, PlanError, StorageError
from headcats.models.adapter import HookedModel
from headcats.reports.attention import writing
from headcats.reports.attention.writing import write_views
from headcats.results import whole_file
from headcats.results.folder import KEPT
from headcats.study.preparation import Preparation
from headcats.tasks.suites import make_suite


def files(folder: Path) -> dict[str, bytes]:
    """What the folder holds, without what can be computed again."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != KEPT)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def written(model: HookedModel, counting_run: Path, tmp_path_factory: pytest.TempPathFactory) -> writing.Views:
    """Views of the counting study."""
    folder = tmp_path_factory.mktemp("written") / "results"
    shutil.copytree(counting_run, folder)
    return write_views(model, folder, heads=2, prompts=3)


def test_one_page_for_each_category(written: writing.Views) -> None:
    assert {view.category: view.file for view in written.views} == {
        "Knowledge": "knowledge.html",
        "Linguistic": "linguistic.html",
    }
    assert sorted(path.name for path in written.folder.iterdir()) == ["index.json", "knowledge.html", "linguistic.html"]
    first = written.views[0]
    assert first.heads[0] == "L0H0"
    assert first.tasks == ("always_a", "always_b")
    assert first.what.startswith("Where L0H0 looks")
    assert f" 3 prompts of {', '.join(first.tasks)}, clean " in first.what
    text = (written.folder / first.file).read_text(encoding="utf-8")
    assert 'id="prompt-3-L0H0-corrupted"' in text
    assert 'href="linguistic.html"' in text
    assert "Prompt 1: always_a" in text
    assert "Prompt 3: always_b" in text


def test_the_index_says_the_same_and_no_path_of_this_machine(written: writing.Views) -> None:
    index = json.loads((written.folder / "index.json").read_text(encoding="utf-8"))
    assert index["by"] == written.by
    assert index["left_out"] == dict(written.left_out)
    for entry, view in zip(index["views"], written.views, strict=True):
        assert (entry["file"], entry["category"], entry["what"]) == (view.file, view.category, view.what)
        assert (tuple(entry["heads"]), tuple(entry["tasks"])) == (view.heads, view.tasks)
    for file in written.folder.iterdir():
        assert str(written.folder.parent.parent).encode() not in file.read_bytes(), file.name


def test_the_pictures_are_of_the_prompts_of_the_run(
    model: HookedModel, counting_run: Path, written: writing.Views
) -> None:
    plan = {"suite": SUITE, "n_prompts": 12, "n_demos": 2}
    (batch,) = hc.task_prompts(model, "always_a", **plan)
    text = (written.folder / "knowledge.html").read_text(encoding="utf-8")
    assert f"“{batch.items[0]}”" in text
    tokens = [model.tokenizer.decode([token]).strip() or "↵" for token in batch.clean[0].tolist()]
    assert json.dumps({"tokens": tokens})[1:-1].replace("<", "\\u003c") in text


def test_again_gives_the_same_files_and_removes_what_is_left_over(model: HookedModel, folder: Path) -> None:
    write_views(model, folder, heads=1, prompts=1)
    before = files(folder)
    generated = (folder / "views" / "knowledge.html").read_bytes()
    (folder / "views" / "gone.html").write_bytes(generated)
    (folder / "views" / f".knowledge.html.999999999-1@{whole_file._host()}.tmp").write_bytes(b"half")
    (folder / "views" / "mine.html").write_text("my own notes", encoding="utf-8")
    write_views(model, folder, heads=1, prompts=1)
    after = files(folder)
    assert after.pop("views/mine.html") == b"my own notes"
    assert after == before


def test_only_the_tasks_that_are_shown_are_written_as_prompts(
    model: HookedModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared, prepare = [], Preparation._prepare
    monkeypatch.setattr(Preparation, "_prepare", lambda self, task: prepared.append(task.name) or prepare(self, task))
    found = write_views(model, folder, heads=1, prompts=1)
    assert prepared == [task for view in found.views for task in view.tasks]


def test_a_page_that_fails_leaves_the_folder_as_it_was(
    model: HookedModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, make = files(folder), writing.view_page

    def failing(chosen: Any, *given: Any) -> str:
        if chosen.category == "Linguistic":
            raise DataError("no picture")
        return make(chosen, *given)

    monkeypatch.setattr(writing, "view_page", failing)
    with pytest.raises(DataError, match="no picture"):
        write_views(model, folder, heads=1, prompts=1)
    assert files(folder) == before


def test_numbers_out_of_range_are_refused_first() -> None:
    for option, value in itertools.product(("heads", "prompts"), (0, -1, True)):
        with pytest.raises(OptionError, match=rf"^{option} must .*1; got {value}\."):
            write_views("no such model", "no such folder", **{option: value})


def test_what_is_no_results_folder_is_refused(model: HookedModel, counting_run: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not a results folder"):
        write_views(model, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(DataError, match="other way round"):
        write_views(counting_run, counting_run)
    # Below the types that tests check at run time.
    with pytest.raises(DataError, match="other way round"):
        writing._folder(counting_run, model)
    with pytest.raises(DataError, match="folder; got DataTree"):
        writing._folder(model, hc.load(counting_run))


def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    before = files(folder)
    other = hc.load_model(counting_folder(tmp_path / "other", seed=1), device="cpu")
    with pytest.raises(PlanError, match="is another one"):
        write_views(other, folder)
    assert files(folder) == before


def test_only_another_suite_that_is_named_can_be_refused(
    model: HookedModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = hc.suite(SUITE).tasks
    fewer = replace(tasks[1], make=lambda n, *, seed: tasks[1].pairs(n, seed=seed)[:-3])
    changed = [tasks[0], fewer, *tasks[2:]]
    for own, message in ((tasks[:-1], "missing: shifted"), (changed, "gives other prompts")):
        with pytest.raises(PlanError, match=message):
            write_views(model, folder, suite=list(own))
    assert not (folder / "views").exists()
    monkeypatch.setitem(registry._tables["suite"], SUITE, lambda: make_suite(tasks[:-1], name=SUITE))
    assert write_views(model, folder, heads=1, prompts=1).views


def test_categories_that_differ_in_capitals_have_files_of_their_own() -> None:
    named = writing._files(["Math", "math", "Semantic Understanding", "Ä/b"])
    assert named["Semantic Understanding"] == "semantic-understanding.html"
    assert len({name.lower() for name in named.values()}) == 4
    assert all("/" not in name for name in named.values())
