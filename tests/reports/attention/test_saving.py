"""Where the heads of a results folder look is saved whole or not at all, and refused before anything is written."""

import json
from pathlib import Path

import pytest
from counting import SUITE, counting_folder

import headcats as hc
from headcats.base.errors import DataError, PlanError, StorageError
from headcats.models.adapter import HookedModel
from headcats.reports.page.saved import saved_attention
from headcats.results.folder import KEPT
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.study.preparation import Preparation


def files(folder: Path) -> dict[str, bytes]:
    """What the folder holds, without what can be computed again."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != KEPT)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_every_category_has_its_heads_on_a_prompt_of_the_run(
    model: HookedModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared, prepare = [], Preparation._prepare
    monkeypatch.setattr(Preparation, "_prepare", lambda self, task: prepared.append(task.name) or prepare(self, task))
    file = hc.save_attention(model, folder)
    before = files(folder)
    assert str(folder.parent).encode() not in before[file.name]
    saved = saved_attention(open_results(find_place(folder)))
    assert list(saved.contents) == ["Knowledge", "Linguistic"]
    assert saved.problems == {}
    picture = saved.contents["Knowledge"]["L0H0"]
    (batch,) = hc.task_prompts(model, "always_a", suite=SUITE, n_prompts=12, n_demos=2)
    assert (picture["task"], picture["item"]) == ("always_a", batch.items[0])
    # Prompts of other tasks take time.
    tasks = {small["task"] for pictures in saved.contents.values() for small in pictures.values()}
    assert set(prepared) == tasks
    assert hc.save_attention(model, folder) == file
    assert files(folder) == before


@pytest.mark.usefixtures("unchecked_types")
def test_what_is_no_results_folder_is_refused(model: HookedModel, counting_run: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not a results folder"):
        hc.save_attention(model, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    for results in (counting_run, model):
        with pytest.raises(DataError, match="other way round"):
            hc.save_attention(counting_run, results)
    with pytest.raises(DataError, match="folder; got DataTree"):
        hc.save_attention(model, hc.load(counting_run))


def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    before = json.dumps(sorted(files(folder)))
    other = hc.load_model(counting_folder(tmp_path / "other", seed=1), device="cpu")
    with pytest.raises(PlanError, match="is another one"):
        hc.save_attention(other, folder)
    assert json.dumps(sorted(files(folder))) == before
