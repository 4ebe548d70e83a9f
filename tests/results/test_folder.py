"""The results folder: what is written comes back, whole or not at all, and damage is named."""

import errno
import json
import os
import shutil
import string
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from covering import spread
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from results.folders import LABEL, block, files, folder, manifest

from headcats.base.errors import DamagedFileError, DataError, StorageError, StorageWarning
from headcats.results import whole_file
from headcats.results.block_files import slug
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load, read_whole_results
from headcats.results.place import find_place
from headcats.results.records import ModelRecord
from headcats.results.run_results import RunResults
from headcats.results.stored_blocks import StoredBlocks
from headcats.results.stored_run import tree
from headcats.results.tables import table_bytes
from headcats.results.whole_file import write_whole
from headcats.results.writer import LOCK

# ----------------------------------------------------------------------------------------------------------- names
names = st.text(st.sampled_from(string.ascii_letters + "éß→日-_.=2"), min_size=1, max_size=12).filter(
    lambda name: name[0] not in ".-_"
)


@given(st.sets(names, max_size=6))
def test_different_names_are_different_files_even_without_regard_to_case(task_names):
    slugs = [slug(name) for name in task_names]
    assert len({text.casefold() for text in slugs}) == len(task_names)
    assert all(text == text.lower() and text.isascii() and not text.startswith(".") for text in slugs)


# ------------------------------------------------------------------------------------------------ whole or not at all
@pytest.fixture(params=["open", "fsync", "replace"])
def full_disk(request, monkeypatch):
    """A disk that is full from the moment the test calls the fixture's value; at three points of a write."""

    def fill():
        def fail(*args, **kwargs):
            raise OSError(errno.ENOSPC, "No space left on device")

        if request.param == "open":
            monkeypatch.setattr(whole_file, "open", fail, raising=False)
        else:
            monkeypatch.setattr(os, request.param, fail)

    return fill


def test_a_full_disk_leaves_a_new_folder_as_if_nothing_had_been(tmp_path, full_disk):
    full_disk()
    with pytest.raises(StorageError, match=r"No space .*Free"):
        ResultsFolder(tmp_path / "new" / "results").write_block("a", LABEL, block())
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_what_is_there_as_it_is(tmp_path, full_disk):
    path = folder(tmp_path / "r", "a")
    before = files(path)
    full_disk()
    made = ResultsFolder(path)
    for write in (
        lambda: made.write_block("b", LABEL, block()),
        lambda: made.write_block("a", LABEL, block() + 1),
        lambda: made.write_manifest(manifest("a", "b")),
    ):
        with pytest.raises(StorageError, match="No space left"):
            write()
        assert files(path) == before
    assert not made.part_path(LABEL, "b").exists()


def test_an_interruption_while_writing_leaves_no_temporary_file(tmp_path, monkeypatch):
    path = folder(tmp_path / "r", "a")
    before = files(path)

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ResultsFolder(path).write_block("a", LABEL, block() + 1)
    assert files(path) == before


@for_each("place", ["a file", "/proc/headcats"])
def test_places_that_cannot_be_written_are_named(tmp_path, place):
    """Tests may run as root, who writes through permissions, but not under a file and not into /proc."""
    if place == "a file":
        (tmp_path / "file").write_text("mine", encoding="utf-8")
        place = tmp_path / "file" / "results"
    with pytest.raises(StorageError, match=r"write .*manifest.json: "):
        ResultsFolder(place).write_manifest(manifest())
    assert not Path(place).exists()


def test_leftovers_of_a_killed_run_are_removed_and_nothing_else(tmp_path):
    path = folder(tmp_path / "r", "a")
    (path / ".draft.999999999-1.tmp").write_bytes(b"of another program")
    before = files(path)
    (path / "blocks" / LABEL / f".a.nc.999999999-1@{whole_file._host()}.tmp").write_bytes(b"half")
    with ResultsFolder(path).writing("a test"):
        pass
    assert files(path) == before | {LOCK: files(path)[LOCK]}


# --------------------------------------------------------------------------------------------------------- damage
def test_no_results_yet(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / ".git").mkdir()
    assert ResultsFolder(tmp_path / "absent").read_manifest() is None
    assert ResultsFolder(tmp_path / "hidden").read_manifest() is None
    with pytest.raises(StorageError, match=r"@last\.nc"):
        ResultsFolder(tmp_path / "absent").read_block("a", LABEL)
    assert not StoredBlocks(ResultsFolder(tmp_path / "absent"), manifest())
    with pytest.raises(StorageError, match=r"headcats run"):
        load(tmp_path / "absent")


@for_each("name", ["blocks/denoising_patch@last/a.nc", "suite.json", "descriptors.nc"])
def test_a_pipe_in_place_of_a_file_is_named_and_not_waited_for(tmp_path, name):
    path = folder(tmp_path / "r", "a")
    ResultsFolder(path).write_suite('{"tasks": []}')
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    with pytest.warns(StorageWarning, match="no regular file"):
        assert list(RunResults(load(path)).missing) == [name]


@for_each("name", ["blocks", f"blocks/{LABEL}", f"blocks/{LABEL}/a.nc", "suite.json", "evidence", ".kept"])
def test_a_link_out_of_the_folder_is_refused(tmp_path, name):
    path = folder(tmp_path / "r", "a")
    ResultsFolder(path).write_suite('{"tasks": []}')
    target = tmp_path / "elsewhere"
    shutil.move(path / name, target) if (path / name).exists() else target.mkdir()
    for place in (target, os.path.relpath(target, (path / name).parent)):
        (path / name).symlink_to(place)
        with pytest.raises(StorageError, match=f"{name} is a link"):
            load(path)
        with pytest.raises(StorageError, match="is a link"), ResultsFolder(path).writing("a test"):
            pass
        (path / name).unlink()


def test_other_links_are_followed(tmp_path):
    path, file = folder(tmp_path / "snapshots" / "r", "a"), f"blocks/{LABEL}/a.nc"
    (tmp_path / "link").symlink_to(path)
    assert "missing" not in load(tmp_path / "link").attrs
    (tmp_path / "blobs").mkdir()
    for target in (path / "blocks" / LABEL / "b.nc", tmp_path / "blobs" / "b"):  # the second as in the cache of the hub
        (path / file).resolve().rename(target)
        (path / file).unlink(missing_ok=True)
        (path / file).symlink_to(target)
        assert "missing" not in load(path).attrs
    (path / "notes").symlink_to(tmp_path)  # which headcats does not read
    assert "missing" not in load(path).attrs
    step = tmp_path / "snapshots" / "f" / "step1"  # results within a shared folder
    step.parent.mkdir()
    path.rename(step)
    assert "missing" not in load(step).attrs


def test_devices_and_pipes_are_never_replaced_and_links_are_never_followed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="a pipe"):
        write_whole(tmp_path / "pipe", b"new")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"new"
    assert (tmp_path / "file").read_bytes() == b"old"
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent" / "file")
    write_whole(tmp_path / "nowhere", b"new")
    assert not (tmp_path / "absent").exists()


def test_blocks_without_a_manifest_are_said(tmp_path):
    path = folder(tmp_path / "r", "a")
    (path / "manifest.json").unlink()
    with pytest.raises(StorageError, match=r"no manifest\.json"):
        load(path)


@for_each("change,problem", [({"made_on": "zzz"}, "another model"), ({"fingerprint": "g"}, "other prompts")])
def test_a_whole_block_of_another_run_is_not_taken_for_ours(tmp_path, change, problem):
    path = folder(tmp_path / "r", "a", "b")
    ResultsFolder(path).write_block("a", LABEL, block().assign_attrs(change))
    with pytest.warns(StorageWarning, match=problem):
        assert set(RunResults(load(path)).tasks) == {"b"}


def test_a_whole_block_of_other_layers_is_not_taken_for_ours(tmp_path):
    model = ModelRecord("toy", weights_hash="h", layers=(0, 1), heads=(3, 3))
    path = folder(tmp_path / "r", "a", model=model)  # the block is of layers 0 and 2
    with pytest.warns(StorageWarning, match="other layers"):
        assert not RunResults(load(path)).tasks


@for_each("name", ["suite.json", "descriptors.nc"])
def test_a_file_beside_the_blocks_that_is_gone_is_named(tmp_path, name):
    path = folder(tmp_path / "r", "a", beside=("suite.json", "descriptors.nc"))
    ResultsFolder(path).write_suite('{"tasks": []}')
    ResultsFolder(path).write_descriptors(xr.Dataset({"entropy": ("head", [1.0])}))
    assert RunResults(load(path)).missing == {}
    (path / name).unlink()
    with pytest.warns(StorageWarning, match=f"{name} is missing"):
        assert list(RunResults(load(path)).missing) == [name]


def test_somebody_elses_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match=r"not empty"):
        ResultsFolder(tmp_path).read_manifest()
    with pytest.raises(StorageError, match=r"headcats run"):
        load(tmp_path)
    with pytest.raises(StorageError, match=r"thesis.tex is a"):
        load(tmp_path / "thesis.tex")
    with pytest.raises(StorageError, match=r"thesis.tex is a"):
        ResultsFolder(tmp_path / "thesis.tex").read_manifest()


def test_a_misspelt_folder_is_told_from_its_neighbours(tmp_path):
    (tmp_path / "mini-icl").mkdir()
    (tmp_path / "mini-icl" / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match=r"mean \S+/mini-icl\?"):
        load(tmp_path / "mini_icl")
    with pytest.raises(StorageError, match="another") as problem:
        load(tmp_path / "another")
    assert "Did you mean" not in str(problem.value)


def test_a_folder_of_results_folders_names_them(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match=r" in \S+/a, \S+/b:"):
        load(tmp_path)


def _damaged(data, damage):
    """The content of a file after an accident."""
    middle = len(data) // 2
    return {
        "empty": b"",
        "half": data[:middle],
        "without its end": data[:-1],
        "longer": data + b"0",
        "one bit": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "overwritten": data[:middle] + b"\xaa" * 64 + data[middle + 64 :],
        "doubled": data + data[: len(data) // 3] + data,
        "a text": b"no table",
        "another table": bytes(xr.Dataset({"x": 1}).to_netcdf(engine="h5netcdf")),
        "a whole other table": table_bytes(block().assign_attrs(task="b", label=LABEL)),
    }[damage]


DAMAGES = ("empty", "half", "without its end", "longer", "one bit", "overwritten", "doubled", "a text", "another table")


@for_each("damage", [*DAMAGES, "a whole other table"])
def test_a_damaged_block_is_named_and_left_out(tmp_path, damage):
    path = folder(tmp_path / "r", "a", "b")
    file = ResultsFolder(path).block_path("a", LABEL)
    file.write_bytes(_damaged(file.read_bytes(), damage))
    with pytest.raises(DamagedFileError, match=rf"{LABEL}/a\.nc is damaged"):
        ResultsFolder(path).read_block("a", LABEL)
    with pytest.warns(StorageWarning, match=rf"lacks 1 file.*blocks/{LABEL}/a\.nc is damaged"):
        run = RunResults(load(path))
    assert list(run.missing) == [f"blocks/{LABEL}/a.nc"]
    assert run.scored_tasks == ["b"]
    with pytest.raises(DamagedFileError, match=r"is damaged"):
        read_whole_results(find_place(path))


@for_each("damage,name", spread(DAMAGES, [("manifest.json",), ("suite.json",), ("descriptors.nc",)]))
def test_other_damaged_files_are_named(tmp_path, name, damage):
    path = folder(tmp_path / "r", "a")
    made = ResultsFolder(path)
    made.write_suite(json.dumps({"tasks": []}))
    made.write_descriptors(xr.Dataset({"entropy": ("head", np.ones(3))}))
    file = path / name
    file.write_bytes(_damaged(file.read_bytes(), damage))
    if name == "manifest.json":
        with pytest.raises(DamagedFileError, match=r"manifest\.json is damaged"):
            load(path)
        return
    with pytest.warns(StorageWarning, match=f"{name} is damaged"):
        assert list(RunResults(load(path)).missing) == [name]


def test_a_block_that_no_manifest_names_is_not_read(tmp_path):
    """A run that was killed, or is under way, has written it; the next one of the same plan takes it up."""
    path = folder(tmp_path / "r", "a")
    ResultsFolder(path).write_block("stranger", LABEL, block())
    assert RunResults(load(path)).scored_tasks == ["a"]
    with pytest.raises(DataError, match=r"@last'.* 'stranger'"):
        tree({("stranger", LABEL): block()}, manifest("a"))
