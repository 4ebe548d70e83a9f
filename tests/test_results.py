"""The results folder: what is written comes back, whole or not at all, and damage is named."""

import errno
import json
import os
import string
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import headcats as hc
from headcats.errors import DataError, PlanError, StorageError
from headcats.results import ResultsFolder, load, merge, slug, tree
from headcats.results import folder as folder_files

CATEGORIES = [{"name": "Knowledge", "colour": "#ff7f0e"}]
LABEL = "denoising_patch@last"


def block(values=None, *, fingerprint="f", items=("é", "→"), metric=("logit_diff",)):
    patched = np.arange(len(metric) * len(items) * 6, dtype=np.float32) if values is None else values
    patched = patched.reshape(len(metric), len(items), 2, 3)
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", "layer", "head"), patched),
            "clean": (("metric", "prompt"), patched[:, :, 0, 0]),
        },
        coords={"metric": list(metric), "item": ("prompt", list(items)), "layer": [0, 2], "head": [0, 1, 2]},
        attrs={"fingerprint": fingerprint, "method": "denoising_patch"},
    )


def manifest(*tasks, **changes):
    made = {
        "plan": {"seed": 0, "n_prompts": 2},
        "model": {"name": "toy", "device": "cpu", "revision": None, "weights_hash": "h"},
        "categories": CATEGORIES,
        "methods": [LABEL],
        "tasks": {task: {"category": "Knowledge", "refusal": ""} for task in tasks},
        "blocks": {task: {LABEL: {"fingerprint": "f"}} for task in tasks},
        "checks": {task: {"hooks": {}} for task in tasks},
    }
    return made | changes


def folder(path, *tasks, fingerprint="f", **changes):
    made = ResultsFolder(path)
    for task in tasks:
        made.write_block(task, LABEL, block(fingerprint=fingerprint))
    made.write_manifest(manifest(*tasks, **changes))
    return path


def files(path):
    """Every file with its content and the time it was written."""
    return {
        str(file.relative_to(path)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(Path(path).rglob("*"))
        if file.is_file()
    }


# ----------------------------------------------------------------------------------------------------- round trip
names = st.text(st.sampled_from(string.ascii_letters + "éß→日-_.=2"), min_size=1, max_size=12).filter(
    lambda name: name[0] not in ".-_"
)
floats = arrays.arrays(np.float32, (2, 3, 2, 3), elements=st.floats(width=32, allow_nan=True, allow_infinity=True))


@settings(max_examples=25)
@given(task=names, label=names, values=floats, items=st.lists(names, min_size=3, max_size=3))
def test_what_is_written_comes_back(tmp_path_factory, task, label, values, items):
    written = block(values, items=items, metric=("logit_diff", "prob"))
    made = ResultsFolder(tmp_path_factory.mktemp("results"))
    made.write_block(task, label, written)
    made.write_manifest(manifest(task))
    back = made.read_block(task, label)
    xr.testing.assert_equal(back, written)
    assert back.patched.dtype == np.float32
    assert back.patched.values.tobytes() == written.patched.values.tobytes(), "bit for bit, NaN included"
    assert back.attrs == written.attrs | {"task": task, "label": label}
    ((key, found),) = made.read_blocks().items()
    assert key == (task, label)
    xr.testing.assert_equal(found, written)
    assert made.read_manifest() == {"format": 1, **manifest(task)}
    loaded = load(made.path)
    xr.testing.assert_equal(loaded[task][label].to_dataset(), written)
    assert loaded[task].attrs["category"] == "Knowledge"
    assert json.loads(loaded.attrs["categories"]) == CATEGORIES


def test_text_files_are_utf8_and_readable(tmp_path):
    folder(tmp_path / "r", "français→english")
    text = (tmp_path / "r" / "manifest.json").read_bytes().decode("utf-8")
    assert "français→english" in text


def test_a_folder_reads_the_same_as_the_tree_in_memory(tmp_path):
    blocks = {("a", LABEL): block(), ("b", LABEL): block(fingerprint="g")}
    made = ResultsFolder(tmp_path / "r")
    for (task, label), one in blocks.items():
        made.write_block(task, label, one)
    made.write_manifest(manifest("b", "a"))
    loaded, memory = load(tmp_path / "r"), tree(blocks, manifest("b", "a"))
    xr.testing.assert_equal(loaded, memory)
    assert list(loaded.children) == list(memory.children) == ["b", "a"], "in the order of the manifest"
    assert hc.load is load


# ----------------------------------------------------------------------------------------------------------- names
@given(st.sets(names, max_size=6))
def test_different_names_are_different_files_even_without_regard_to_case(found):
    made = [slug(name) for name in found]
    assert len({one.casefold() for one in made}) == len(found)
    assert all(one == one.lower() and one.isascii() and not one.startswith(".") for one in made)


def test_plain_names_stay_as_they_are():
    assert slug("country_capital") == "country_capital"
    assert slug("mean_ablation=task@all") == "mean_ablation=task@all"
    assert slug("Case").startswith("_ase-")
    assert slug("..") != ".."
    assert slug("a:b") != slug("a_b")


def test_tasks_that_differ_in_case_alone_have_their_own_files(tmp_path):
    made = ResultsFolder(tmp_path)
    for number, task in enumerate(("plural", "Plural", "PLURAL")):
        made.write_block(task, LABEL, block() + number)
    assert [float(made.read_block(task, LABEL).patched[0, 0, 0, 0]) for task in ("plural", "Plural", "PLURAL")] == [
        0,
        1,
        2,
    ]


# ------------------------------------------------------------------------------------------------ whole or not at all
@pytest.fixture(params=["open", "fsync", "replace"])
def full_disk(request, monkeypatch):
    """A disk that is full from the moment the test calls the fixture's value; at three points of a write."""

    def fill():
        def fail(*args, **kwargs):
            raise OSError(errno.ENOSPC, "No space left on device")

        if request.param == "open":
            monkeypatch.setattr(folder_files, "open", fail, raising=False)
        else:
            monkeypatch.setattr(os, request.param, fail)

    return fill


def test_a_full_disk_leaves_a_new_folder_as_if_nothing_had_been(tmp_path, full_disk):
    full_disk()
    for write in (lambda r: r.write_block("a", LABEL, block()), lambda r: r.write_manifest(manifest("a"))):
        with pytest.raises(StorageError, match=r"Cannot write .*: No space left on device. Free space or choose"):
            write(ResultsFolder(tmp_path / "new" / "results"))
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
    assert not (path / "blocks" / "b").exists()


def test_an_interruption_while_writing_leaves_no_temporary_file(tmp_path, monkeypatch):
    path = folder(tmp_path / "r", "a")
    before = files(path)

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ResultsFolder(path).write_block("a", LABEL, block() + 1)
    assert files(path) == before


@pytest.mark.parametrize("place", ["a file", "/proc/headcats"])
def test_places_that_cannot_be_written_are_named(tmp_path, place):
    """Tests may run as root, who writes through permissions, but not under a file and not into /proc."""
    if place == "a file":
        (tmp_path / "file").write_text("mine", encoding="utf-8")
        place = tmp_path / "file" / "results"
    with pytest.raises(StorageError, match=r"Cannot write .*manifest.json: "):
        ResultsFolder(place).write_manifest(manifest())
    assert not Path(place).exists()


def test_leftovers_of_a_killed_run_are_removed_and_nothing_else(tmp_path):
    path = folder(tmp_path / "r", "a")
    before = files(path)
    (path / ".manifest.json.123.tmp").write_bytes(b"half")
    (path / "blocks" / "a" / f".{LABEL}.nc.99.tmp").write_bytes(b"half")
    ResultsFolder(path).remove_leftovers()
    assert files(path) == before


# --------------------------------------------------------------------------------------------------------- damage
def test_no_results_yet(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / ".git").mkdir()
    assert ResultsFolder(tmp_path / "absent").read_manifest() is None
    assert ResultsFolder(tmp_path / "hidden").read_manifest() is None
    assert ResultsFolder(tmp_path / "absent").read_block("a", LABEL) is None
    assert ResultsFolder(tmp_path / "absent").read_blocks() == {}
    with pytest.raises(StorageError, match=r"is no results folder .it has no manifest.json.; run `headcats run"):
        load(tmp_path / "absent")


def test_somebody_elses_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match=r"is not empty and holds no manifest.json; name a new or a results"):
        ResultsFolder(tmp_path).read_manifest()
    with pytest.raises(StorageError, match=r"is no results folder .it has no manifest.json.; run `headcats run"):
        load(tmp_path)
    with pytest.raises(StorageError, match=r"thesis.tex is a file; a results folder is a folder"):
        load(tmp_path / "thesis.tex")
    with pytest.raises(StorageError, match=r"thesis.tex is a file; a results folder is a folder"):
        ResultsFolder(tmp_path / "thesis.tex").read_manifest()


def test_a_folder_of_results_folders_names_them(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match=r"there are some in it: \S+/a, \S+/b\. Name one of these"):
        load(tmp_path)


def test_a_place_without_permission_is_not_full(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("headcats.results.folder.os.replace", refuse)
    with pytest.raises(StorageError, match=r"Permission denied\. Make it writable or choose another folder"):
        ResultsFolder(tmp_path).write_bytes("x", b"x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read: .* Move the folder away"),
        (b"{", "cannot be read: "),
        (b"\xff\xfe", "cannot be read: "),
        (b"[]", "has format None; this version of headcats reads format 1"),
        (b"{}", "has format None"),
        (b'{"format": 2}', "has format 2"),
        (b'{"format": 1, "plan": {}}', "is damaged: it lacks model, categories"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path, content, message):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StorageError, match=message) as problem:
        load(tmp_path)
    assert "manifest.json" in str(problem.value)


@pytest.mark.parametrize("damage", ["empty", "half", "other"])
def test_a_damaged_block_is_named_by_load_and_made_anew_by_a_run(tmp_path, damage):
    path = folder(tmp_path / "r", "a", "b")
    file = ResultsFolder(path).block_path("a", LABEL)
    whole = file.read_bytes()
    if damage == "other":
        xr.Dataset({"x": 1}).to_netcdf(file, engine="h5netcdf")
    else:
        file.write_bytes(b"" if damage == "empty" else whole[: len(whole) // 2])
        assert ResultsFolder(path).read_block("a", LABEL) is None
    with pytest.raises(StorageError, match=f"{LABEL}.nc cannot be read: .* Run again: it will be made anew"):
        load(path)


def test_a_block_of_an_unknown_task_is_refused(tmp_path):
    path = folder(tmp_path / "r", "a")
    ResultsFolder(path).write_block("stranger", LABEL, block())
    with pytest.raises(DataError, match="'denoising_patch@last' is of task 'stranger'"):
        load(path)


# ---------------------------------------------------------------------------------------------------------- merge
def test_merge_is_the_union(tmp_path):
    first, second = folder(tmp_path / "1", "a", "b"), folder(tmp_path / "2", "b", "c")
    before = files(first), files(second)
    merged = merge([first, second], out=tmp_path / "all")
    assert list(merged.children) == ["a", "b", "c"]
    xr.testing.assert_equal(merged, load(tmp_path / "all"))
    found = json.loads(merged.attrs["manifest"])
    assert list(found["tasks"]) == list(found["blocks"]) == ["a", "b", "c"]
    assert found["checks"].keys() == {"a", "b", "c"}
    assert (files(first), files(second)) == before


def test_merge_joins_methods_and_ignores_where_it_ran(tmp_path):
    first = folder(tmp_path / "1", "a")
    second = ResultsFolder(tmp_path / "2")
    second.write_block("a", "zero_ablation@all", block(fingerprint="z"))
    model = manifest()["model"] | {"device": "cuda:0", "name": "elsewhere", "revision": "main"}
    second.write_manifest(
        manifest("a", model=model, methods=["zero_ablation@all"], blocks={"a": {"zero_ablation@all": {}}})
    )
    merged = merge([first, second.path], out=tmp_path / "all")
    assert set(merged["a"].children) == {LABEL, "zero_ablation@all"}
    found = json.loads(merged.attrs["manifest"])
    assert found["methods"] == [LABEL, "zero_ablation@all"]
    assert set(found["blocks"]["a"]) == {LABEL, "zero_ablation@all"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": {"seed": 1, "n_prompts": 2}}, r"another plan than .*: seed 1 against 0\."),
        ({"model": manifest()["model"] | {"weights_hash": "x"}}, "another model than .*'x'.* against .*'h'"),
        ({"categories": [{"name": "Other", "colour": "#000000"}]}, "another categories than"),
        ({"fingerprint": "g"}, "Block 'denoising_patch@last' of task 'a' in .* was made with other prompts"),
    ],
)
def test_what_does_not_belong_together_is_not_merged(tmp_path, changes, message):
    first, second = folder(tmp_path / "1", "a"), folder(tmp_path / "2", "a", **changes)
    with pytest.raises(PlanError, match=message):
        merge([first, second], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_merge_needs_folders_and_a_free_place(tmp_path):
    first = folder(tmp_path / "1", "a")
    before = files(first)
    with pytest.raises(StorageError, match="Nothing to merge"):
        merge([], out=tmp_path / "all")
    with pytest.raises(StorageError, match="holds results already; merge into a new folder"):
        merge([first], out=first)
    with pytest.raises(StorageError, match="absent is no results folder"):
        merge([first, tmp_path / "absent"], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()
    assert files(first) == before


def test_a_merge_that_fails_while_writing_leaves_nothing(tmp_path, monkeypatch):
    first, second = folder(tmp_path / "1", "a"), folder(tmp_path / "2", "b")
    (tmp_path / "mine").mkdir()
    replace, calls = os.replace, []

    def fill_up(source, target):
        calls.append(target)
        if len(calls) % 2 == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fill_up)
    for out in ("new", "mine"):
        with pytest.raises(StorageError, match="No space left"):
            merge([first, second], out=tmp_path / out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "mine"]
    assert list((tmp_path / "mine").iterdir()) == []


def test_texts_joined_to_ones_that_were_read_are_not_cut(tmp_path):
    made = ResultsFolder(tmp_path)
    made.write_part("method", "short", xr.Dataset({"name": ("task", ["ab"])}))
    read = made.read_parts("method")["short"]
    made.write_part("method", "both", xr.concat([read, xr.Dataset({"name": ("task", ["abcdef"])})], dim="task"))
    assert made.read_parts("method")["both"].name.values.tolist() == ["ab", "abcdef"]
