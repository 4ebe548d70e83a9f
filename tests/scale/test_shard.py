"""Shards of a study: who gets which cell, what is refused, and that all together are one run."""

import itertools
import re

import pytest
from counting import STUDY, SUITE

import headcats as hc
from headcats.base.errors import OptionError
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.scale.merging import merge
from headcats.scale.shard import Shard, missing_parts
from headcats.study.assessment import memory_plan
from headcats.study.plan import plan
from headcats.study.preparation import Preparation


def test_parts_that_lack_are_known_by_the_folders():
    given = ["out/shard-1-of-3", "elsewhere/shard-3-of-3/", "hf://owner/name"]
    assert missing_parts(given) == [Shard(2, 3)]
    assert missing_parts([*given, Shard(2, 3).folder]) == []
    assert missing_parts(["results/all", "shard-x-of-3"]) == []


def test_every_cell_is_in_one_shard():
    for n_tasks, n_methods, of in itertools.product((1, 3, 4), (0, 1, 3), (1, 2, 3, 5, 12)):
        tasks, methods = [f"t{i}" for i in range(n_tasks)], [f"m{i}" for i in range(n_methods)]
        shares = [Shard(number, of).deal(tasks, methods) for number in range(1, of + 1)]
        assert sorted(cell for share in shares for cell in share) == list(itertools.product(tasks, methods))
        sizes = [len(share) for share in shares]
        assert max(sizes) - min(sizes) <= (n_methods if of <= n_tasks else 1)


def test_tasks_stay_whole_while_there_are_enough_and_parts_are_dealt_in_turn():
    assert ["".join(cell) for cell in Shard(2, 2).deal("abcd", "mn")] == ["bm", "bn", "dm", "dn"]
    assert ["".join(cell) for cell in Shard(2, 3).deal("ab", "mn")] == ["bm"]
    assert ["".join(cell) for cell in Shard(1, 3).deal("ab", "mn")] == ["am", "bn"]
    assert [Shard(number, 3).deal("abcde", "m")[-1][0] for number in (1, 2, 3)] == ["d", "e", "c"]


def test_what_is_no_shard_is_refused():
    for text in ("0/4", "5/4", "a/b", "1/0", "-1/4", "1/4/2", "1", "", "1.0/4", " 1/4"):
        with pytest.raises(OptionError, match=rf"i/n.*got {re.escape(repr(text))}"):
            Shard.parse(text)
    assert Shard.parse("4/4") == Shard(4, 4)
    for numbers in ((0, 4), (5, 4), (1, 0), (1.0, 4), (1, "4")):
        with pytest.raises(OptionError, match="whole number"):
            Shard(*numbers)


def test_what_is_about_a_folder_is_refused_without_one(counting_model):
    with pytest.raises(OptionError, match="out="):
        hc.run(counting_model, **STUDY, shard=Shard(1, 2))
    with pytest.raises(OptionError, match=r"hc\.Shard\(2, 4\).*'1/2'"):
        hc.run(counting_model, **STUDY, shard="1/2")


def test_more_shards_than_cells_are_refused_in_every_shard():
    study = plan(suite="counting", methods=["denoising_patch"], n_prompts=8, n_demos=2)
    for number in (1, 7):
        with pytest.raises(OptionError, match=r"4 tasks x 1 method"):
            Shard(number, 7).narrow(study)


@pytest.mark.parametrize(
    ("of", "tasks", "n_blocks"),
    [
        (2, ["always_a", "shifted"], [2, 0]),  # the task that is skipped is all that one has
        pytest.param(5, ["always_a", "always_b", "always_c", "shifted"], [2, 2, 1, 1, 0], marks=pytest.mark.slow),
    ],
)
def test_merged_shards_are_one_run(counting_model, all_finished, tmp_path, of, tasks, n_blocks):
    folders = [tmp_path / str(number) for number in range(of)]
    for number, folder in enumerate(folders, start=1):
        hc.run(counting_model, out=folder, shard=Shard(number, of), **STUDY | {"suite": SUITE, "tasks": tasks})
    assert sorted(len(list(folder.rglob("*@*.nc"))) for folder in folders) == sorted(n_blocks)
    merge(folders, out=tmp_path / "all")
    found, expected = (ResultsFolder(path).read_manifest() for path in (tmp_path / "all", all_finished))
    merged, whole = hc.load(tmp_path / "all"), hc.load(all_finished)
    blocks = [(task, label) for task, labels in RunResults(merged).tasks.items() for label in labels]
    assert len(blocks) == sum(n_blocks)
    assert all(merged[task][label].equals(whole[task][label]) for task, label in blocks)
    assert list(found.tasks) == tasks
    assert found.tasks == {task: expected.tasks[task] for task in tasks}
    assert found.methods == expected.methods
    assert found.unfinished() == []


def test_a_shard_whose_only_block_is_refused_is_a_part_of_the_whole(counting_model, tmp_path):
    options = STUDY | {"tasks": ["always_a", "always_b"], "methods": ["denoising_patch", "noising_patch@x9"]}
    folders = [tmp_path / number for number in "13"]
    for folder in folders:
        hc.run(counting_model, out=folder, shard=Shard(int(folder.name), 4), **options)
    ((task, label, refused),) = RunResults(hc.load(folders[1])).manifest.cells()
    assert (task, label) == ("always_a", "noising_patch@x9")
    assert refused.refusal
    merged = RunResults(merge(folders, out=tmp_path / "all"))
    assert merged.tasks == {"always_a": ("denoising_patch@last",)}
    assert {label for task, label, _ in merged.manifest.cells() if task == "always_a"} == {
        "denoising_patch@last",
        "noising_patch@x9",
    }


def test_a_shard_writes_no_prompts_of_others(counting_model):
    of_plan = {name: value for name, value in STUDY.items() if name != "suite"}
    study = Shard(2, 4).narrow(plan(suite=STUDY["suite"], **of_plan))
    preparation = Preparation(counting_model, study)
    assert memory_plan(counting_model, study, preparation, limit=None).peak > 0
    assert list(preparation._prepared) == ["always_b"]
