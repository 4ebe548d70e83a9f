"""Where heads look is saved whole or not at all, and refused before anything is written; which heads are shown."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from counting import SUITE, counting_folder
from example_joint import weights_of
from simulated import block, tree

import headcats as hc
from headcats.base.errors import DataError, OptionError, PlanError, StatisticsWarning, StorageError, UnknownNameError
from headcats.categories.map_spec import MapSpec
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.reports.attention.saving import Chosen, choose
from headcats.reports.page.saved import saved_attention
from headcats.results.folder import KEPT
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
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


TASKS = dict.fromkeys(("plural", "gerund", "antonym"), "Linguistic") | {"capital": "Knowledge"}


def choice(results: xr.DataTree, **options: Any) -> list[Chosen]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # of categories with one task
        return choose(RunResults(results), MapSpec.parse(**options))[1]


def planted(
    effects: Mapping[str, Mapping[tuple[int, int], float]], *, prompts: int = 24, label: str = "denoising_patch@last"
) -> xr.DataTree:
    """Results of 2 layers of 4 heads: task -> (layer, head) -> effect, and noise of .01."""
    rng = np.random.default_rng(0)
    blocks = {}
    for task, heads in effects.items():
        differences = 0.01 * rng.standard_normal((prompts, 2, 4))
        for (layer, head), effect in heads.items():
            differences[:, layer, head] += effect
        blocks[task] = block(differences)
    results = tree(blocks, categories=TASKS, name=label)
    manifest = {
        "plan": {"metrics": ["logit_diff"], "suite": "icl", "n_demos": 5},
        "model": {"name": "planted"},
        "methods": [label],
        "tasks": {task: {"category": TASKS[task], "refusal": ""} for task in effects},
        "blocks": {},
    }
    results.attrs["manifest"] = json.dumps(manifest)
    return results


def test_members_with_the_largest_effect_first() -> None:
    both = {(0, 1): 0.5, (1, 2): 0.7, (1, 3): 0.3}
    found = choice(planted({"plural": both, "gerund": both, "capital": {(0, 0): 0.4}}))
    assert [(one.category, one.heads) for one in found] == [
        ("Knowledge", (Head(0, 0),)),
        ("Linguistic", (Head(1, 2), Head(0, 1), Head(1, 3))),
    ]


def test_tasks_that_most_heads_pass_come_first() -> None:
    both = {(0, 1): 0.5, (1, 2): 0.6}
    effects = {"plural": {(0, 1): 0.5}, "gerund": both, "antonym": both, "capital": {(0, 0): 0.4}}
    (_, linguistic) = choice(planted(effects))
    assert set(linguistic.tasks[:2]) == {"gerund", "antonym"}


def test_without_members_the_strongest_undecided_heads() -> None:
    # Above 0 for sure, but not for sure above .05.
    weak = {(0, 1): 0.05, (1, 2): 0.051}
    found = choice(planted({"plural": weak, "gerund": weak, "capital": {(0, 0): 0.4}}))
    assert set(found[1].heads) == {Head(0, 1), Head(1, 2)}


def test_a_category_without_any_head_is_left_out() -> None:
    clear = {(layer, head): -0.3 for layer in range(2) for head in range(4)}
    found = choice(planted({"plural": clear, "capital": {(0, 0): 0.4}}))
    assert [one.category for one in found] == ["Knowledge"]
    with pytest.raises(DataError, match="No category has a head"):
        choice(planted({"plural": clear}))


def test_controls_and_unknown_methods_are_refused() -> None:
    results = planted({"plural": {(0, 1): 0.5}}, label="second_corruption_patch@last")
    with pytest.raises(OptionError, match="is a control"):
        choice(results)
    with pytest.raises(UnknownNameError, match=r"block .*'noising_patch'"):
        choice(planted({"plural": {(0, 1): 0.5}}), method="noising_patch")


@pytest.mark.usefixtures("joint_methods")
def test_heads_by_their_weights_where_nothing_else_was_scored() -> None:
    results = planted({})
    score = np.zeros((2, 2, 4))
    score[0, 0, 1], score[0, 1, 0] = 0.6, 0.2
    tasks = ["plural", "capital"]
    block = weights_of(score, tasks=tasks, belongs=[TASKS[task] for task in tasks], threshold=[0.15] * 2)
    results["/_suite/word_weights"] = xr.DataTree(block)
    found = choice(results)
    assert found == choice(results, method="word_weights")
    assert [(one.category, one.heads) for one in found] == [("Linguistic", (Head(0, 1), Head(1, 0)))]


@pytest.mark.usefixtures("joint_methods")
def test_results_that_say_nothing_about_categories_are_refused() -> None:
    results = planted({})
    with pytest.raises(DataError, match="no scored task"):
        choice(results)
    results["/_suite/spoken_probe"] = xr.DataTree(
        xr.Dataset({"gate": ("head", [1.0])}, attrs={"label": "spoken_probe"})
    )
    with pytest.raises(OptionError, match="spoken_probe sorts no heads"):
        choice(results)
    with pytest.raises(OptionError, match=r"no word_weights: .*word_weights"):
        choice(results, method="word_weights")
