"""Shards of a study: who gets which cell, what is refused, and that all together are one run."""

import pytest
from in_process import InProcess

import headcats as hc
from headcats.errors import DataError, OptionError
from headcats.results.folder import ResultsFolder
from headcats.results.merging import merge
from headcats.results.run_results import RunResults
from headcats.study.assessment import memory_plan
from headcats.study.plan import plan
from headcats.study.preparation import Preparation
from headcats.study.shard import Shard, missing_parts


def test_parts_that_lack_are_known_by_the_folders():
    given = ["out/shard-1-of-3", "elsewhere/shard-3-of-3/", "hf://owner/name"]
    assert missing_parts(given) == [Shard(2, 3)]
    assert missing_parts([*given, Shard(2, 3).folder]) == []
    assert missing_parts(["results/all", "shard-x-of-3"]) == []


def cells(shard, tasks, methods):
    return [(task, method) for task, of_task in shard.dealt(tasks, methods).items() for method in of_task]


@pytest.mark.parametrize("n_tasks", [1, 3, 4])
@pytest.mark.parametrize("n_methods", [0, 1, 3])
@pytest.mark.parametrize("of", [1, 2, 3, 5, 12])
def test_every_cell_is_in_one_shard(n_tasks, n_methods, of):
    tasks, methods = [f"t{i}" for i in range(n_tasks)], [f"m{i}" for i in range(n_methods)]
    shares = [cells(Shard(number, of), tasks, methods) for number in range(1, of + 1)]
    assert sorted(cell for share in shares for cell in share) == sorted(
        (task, method) for task in tasks for method in methods
    )
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= (n_methods if of <= n_tasks else 1)


def test_tasks_stay_whole_while_there_are_enough():
    assert Shard(2, 2).dealt(["a", "b", "c", "d"], ["m", "n"]) == {"b": ["m", "n"], "d": ["m", "n"]}
    assert Shard(2, 3).dealt(["a", "b"], ["m", "n"]) == {"b": ["m"]}
    assert Shard(1, 3).dealt(["a", "b"], ["m", "n"]) == {"a": ["m"], "b": ["n"]}


def test_parts_are_dealt_in_turn():
    assert [Shard(number, 3).share("abcde") for number in (1, 2, 3)] == [["a", "d"], ["b", "e"], ["c"]]


@pytest.mark.parametrize("text", ["0/4", "5/4", "a/b", "1/0", "-1/4", "1/4/2", "1", "", "1.0/4", " 1/4", None, 2])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(OptionError, match=r"shard must be i/n.*such as 1/4; got"):
        Shard.parse(text)
    assert Shard.parse("4/4") == Shard(4, 4)


@pytest.mark.parametrize("about_folders", [{"shard": "1/2"}, {"store": "compact"}])
def test_what_is_about_a_folder_is_refused_without_one(model, options, about_folders):
    with pytest.raises(OptionError, match="out="):
        hc.run(model, **options, **about_folders)


def test_more_shards_than_cells_are_refused_in_every_shard():
    for number in (1, 7):
        with pytest.raises(OptionError, match=r"4 tasks x 1 method"):
            plan(suite_source="counting", methods=["denoising_patch"], n_prompts=8, n_demos=2, shard=f"{number}/7")


@pytest.mark.parametrize("of", [2, 5])
def test_merged_shards_are_one_run(model, options, finished, tmp_path, of):
    """With five shards, the tasks that are scored (three of four) are in more than one."""
    folders = [tmp_path / str(number) for number in range(of)]
    for number, folder in enumerate(folders, start=1):
        hc.run(model, out=folder, shard=f"{number}/{of}", **options)
    n_blocks = [len(list(folder.rglob("*@*.nc"))) for folder in folders]
    assert sum(n_blocks) == 6
    assert n_blocks.count(0) == (of == 5)  # one has the task that is skipped alone
    merge(folders, out=tmp_path / "all")
    assert set(hc.diff(tmp_path / "all", finished).state.values.tolist()) == {"same bits"}
    found, expected = (ResultsFolder(path).read_manifest() for path in (tmp_path / "all", finished))
    assert found.tasks == expected.tasks
    assert list(found.tasks) == list(expected.tasks)
    assert found.methods == expected.methods
    assert found.unfinished() == []


def test_a_shard_goes_on_where_it_stopped(model, options, tmp_path, files):
    hc.run(model, out=tmp_path / "r", shard="1/2", **options)
    before = files(tmp_path / "r", "*.nc")
    hc.run(model, out=tmp_path / "r", shard="1/2", **options)
    assert files(tmp_path / "r", "*.nc") == before != {}


def test_a_shard_of_skipped_tasks_is_a_part_of_the_whole(model, options, tmp_path):
    """`shifted`, the last of the four tasks, is more than the model can do."""
    alone = hc.run(model, out=tmp_path / "4", shard="4/4", **options)
    assert RunResults(alone).manifest.skipped().keys() == {"shifted"}
    hc.run(model, out=tmp_path / "1", shard="1/4", **options)
    merged = RunResults(merge([tmp_path / "4", tmp_path / "1"], out=tmp_path / "all"))
    assert list(merged.manifest.skipped()) == ["shifted"]
    assert list(merged.tasks) == ["always_a"]


def test_a_shard_whose_only_block_is_refused_is_a_part_of_the_whole(model, options, tmp_path):
    options = options | {"tasks": ["always_a", "always_b"], "methods": ["denoising_patch", "noising_patch@x9"]}
    folders = [tmp_path / str(number) for number in (1, 2, 3, 4)]
    for number, folder in enumerate(folders, start=1):
        hc.run(model, out=folder, shard=f"{number}/4", **options)
    (refused,) = RunResults(hc.load(folders[2])).manifest.blocks["always_a"].items()
    assert refused[0] == "noising_patch@x9"
    assert refused[1].refusal
    merged = RunResults(merge(folders, out=tmp_path / "all"))
    assert merged.tasks == {"always_a": ("denoising_patch@last",), "always_b": ("denoising_patch@last",)}
    whole = RunResults(hc.run(model, out=tmp_path / "whole", **options)).manifest
    assert merged.manifest.blocks.keys() == whole.blocks.keys()
    with pytest.raises(DataError, match="Nothing is scored"):
        hc.run(model, **options | {"methods": ["noising_patch@x9"]})


def test_a_shard_writes_no_prompts_of_others(model, options):
    of_plan = {name: value for name, value in options.items() if name != "suite"}
    study = plan(suite_source=options["suite"], shard="2/4", **of_plan)
    preparation = Preparation(model, study)
    assert memory_plan(model, study, preparation, limit=None).peak > 0
    assert list(preparation._prepared) == ["always_b"]


@pytest.mark.parametrize(
    ("method", "read"),
    [
        ("denoising_patch", []),
        ("mean_ablation:reference=task", ["always_b"]),
        ("mean_ablation", ["always_a", "always_b", "always_c", "shifted"]),
    ],
)
def test_workers_get_the_reference_prompts_that_methods_read(model, options, method, read):
    cluster = InProcess()
    hc.run(model, cluster=cluster, **options | {"methods": [method], "tasks": ["always_b"]})
    *of_assessments, of_cells = [list(shared.references.batches_of.__self__) for shared in cluster.shared]
    assert of_cells == read
    assert not any(of_assessments)


@pytest.mark.ci
def test_parts_of_a_joint_method_are_dealt(mini, tmp_path):
    plan_of_all = {"suite": "icl", "tasks": ["country_capital", "plural"], "methods": ["ov_relation"], "n_prompts": 8}
    whole = RunResults(hc.run(mini, out=tmp_path / "whole", **plan_of_all))
    for number in (1, 2):
        hc.run(mini, out=tmp_path / str(number), shard=f"{number}/2", **plan_of_all)
    merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "all")
    parts = [RunResults(hc.load(tmp_path / name)).manifest.joint_blocks["ov_relation"].parts for name in "12"]
    assert parts[0].keys() | parts[1].keys() == whole.manifest.joint_blocks["ov_relation"].parts.keys()
    assert not parts[0].keys() & parts[1].keys()
    assert set(hc.diff(tmp_path / "all", tmp_path / "whole").state.values.tolist()) == {"same bits"}
