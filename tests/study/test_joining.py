"""From a file for each finished block to one for each method: stopped, damaged and foreign ones on the way."""

import logging
import shutil

import pytest

import headcats as hc
from headcats.base.errors import PlanError, StorageWarning
from headcats.results import block_files
from headcats.results.block_files import BlockFiles
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.study import output

LABEL, TASKS = "denoising_patch@last", ["always_a", "always_b"]


@pytest.fixture(scope="module")
def options(options):
    return options | {"methods": ["denoising_patch"]}


@pytest.fixture(scope="module")
def whole(model, options, tmp_path_factory):
    """The folder of a finished run of two tasks and one method; never written to."""
    path = tmp_path_factory.mktemp("whole") / "r"
    hc.run(model, out=path, **options)
    return path


@pytest.fixture
def made(monkeypatch):
    """Tasks whose blocks are written as files of their own, in order."""
    tasks, write = [], BlockFiles.write_block
    monkeypatch.setattr(BlockFiles, "write_block", lambda self, *key: tasks.append(key[0]) or write(self, *key))
    return tasks


def tables(path):
    return sorted(file.relative_to(path / "blocks").as_posix() for file in path.glob("blocks/**/*.nc"))


def taken_apart(path, *tasks):
    """Put the blocks of these tasks back into files of their own, and the rest away."""
    results = ResultsFolder(path)
    stored = results.read_joined(LABEL)
    results.joined_path(LABEL).unlink()
    for task in tasks:
        results.write_block(task, LABEL, stored[task])
    return results


def same_files(path, whole):
    return (path / "blocks" / f"{LABEL}.nc").read_bytes() == (whole / "blocks" / f"{LABEL}.nc").read_bytes()


@pytest.mark.parametrize("method", ["write_joined", "write_block"])
def test_a_stopped_run_is_read_and_joins_what_it_has_the_next_time(
    model, options, whole, tmp_path, monkeypatch, method
):
    def stop(self, task, *rest, write=BlockFiles.write_block, **options):
        if method == "write_joined" or task == "always_b":
            raise KeyboardInterrupt
        return write(self, task, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(BlockFiles, method, stop)
        with pytest.raises(KeyboardInterrupt):
            hc.run(model, out=tmp_path / "r", **options)
    finished = TASKS if method == "write_joined" else TASKS[:1]
    assert tables(tmp_path / "r") == [f"{LABEL}/{task}.nc" for task in finished]
    stopped = hc.load(tmp_path / "r")
    assert list(RunResults(stopped).tasks) == finished
    assert all(block.equals(hc.load(whole)[block.path]) for block in stopped.leaves)
    hc.run(model, out=tmp_path / "r", **options)
    assert tables(tmp_path / "r") == [f"{LABEL}.nc"]
    assert same_files(tmp_path / "r", whole)


@pytest.mark.parametrize("kept", [output._KEPT, 0])
def test_what_is_joined_from_memory_and_from_files_is_the_same(model, options, whole, tmp_path, monkeypatch, kept):
    monkeypatch.setattr(output, "_KEPT", kept)
    hc.run(model, out=tmp_path / "r", **options)
    assert same_files(tmp_path / "r", whole)


def test_only_what_is_missing_is_made(model, options, whole, tmp_path, made):
    path = shutil.copytree(whole, tmp_path / "r")
    taken_apart(path, "always_b")
    with pytest.warns(StorageWarning, match="always_a"):
        assert RunResults(hc.load(path)).scored_tasks == ["always_b"]
    made.clear()
    hc.run(model, out=path, **options)
    assert made == ["always_a"]
    assert same_files(path, whole)


def test_more_than_fits_into_memory_stays_in_parts(model, options, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(output, "MOST_JOINED", 1000)
    results = hc.run(model, out=tmp_path / "r", **options)
    assert tables(tmp_path / "r") == [f"{LABEL}/{task}.nc" for task in TASKS]
    assert results.equals(hc.load(whole))
    hc.run(model, out=tmp_path / "r", **options)


def test_a_damaged_file_is_named_and_stays_while_tasks_of_it_are_not_asked_for(model, options, whole, tmp_path, caplog):
    path = shutil.copytree(whole, tmp_path / "r")
    file = path / "blocks" / f"{LABEL}.nc"
    file.write_bytes(file.read_bytes()[:-50])
    damaged = file.read_bytes()
    with caplog.at_level(logging.WARNING, "headcats"), pytest.warns(StorageWarning, match="lacks 1 file"):
        hc.run(model, out=path, **options | {"tasks": ["always_a"]})
    assert caplog.text.count(f"{LABEL}.nc is damaged") == 1
    assert file.read_bytes() == damaged
    assert tables(path) == [f"{LABEL}.nc", f"{LABEL}/always_a.nc"]
    hc.run(model, out=path, **options)
    assert same_files(path, whole)


def test_a_part_of_another_plan_is_refused_and_never_joined(model, options, whole, tmp_path):
    path = shutil.copytree(whole, tmp_path / "r")
    results = ResultsFolder(path)
    block = results.read_block("always_b", LABEL)
    results.write_block("always_b", LABEL, block.assign_attrs(fingerprint="other"))
    before = tables(path)
    with pytest.warns(StorageWarning, match=r"always_b\.nc is of other prompts"):
        hc.run(model, out=path, **options | {"tasks": ["always_a"]})
    assert tables(path) == before == [f"{LABEL}.nc", f"{LABEL}/always_b.nc"]
    with pytest.raises(PlanError, match=r"always_b\.nc was made with other prompts"):
        hc.run(model, out=path, **options)


def test_what_a_lost_manifest_knew_is_not_joined_away(model, options, whole, tmp_path):
    path = tmp_path / "r"
    shutil.copytree(whole, path)
    results = ResultsFolder(path)
    results.write_block("always_b", LABEL, results.read_joined(LABEL)["always_b"])  # as left by a kill
    results.manifest_path.unlink()
    hc.run(model, out=path, **options | {"tasks": ["always_b"]})
    assert set(results.read_joined(LABEL)) == set(TASKS)
    hc.run(model, out=path, **options)
    assert tables(path) == tables(whole)
    assert same_files(path, whole)


def test_parts_stay_where_the_joined_file_would_not_be_read(model, options, whole, tmp_path, monkeypatch):
    path = tmp_path / "r"
    shutil.copytree(whole, path)
    taken_apart(path, *TASKS)
    monkeypatch.setattr(block_files, "split_blocks", lambda table: {})
    hc.run(model, out=path, **options)
    assert tables(path) == [f"{LABEL}/{task}.nc" for task in TASKS]
