"""Blocks of several tasks in one file: taken apart they are what they were, and nothing between two layouts is lost."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from results.folders import LABEL, block, files, manifest

from headcats.base.errors import DamagedFileError, StorageWarning
from headcats.results.folder import ResultsFolder
from headcats.results.joined import OF_TASKS, is_plain, join_blocks, split_blocks
from headcats.results.loading import load, open_results
from headcats.results.place import find_place
from headcats.results.records import BlockRecord, MethodRecord
from headcats.results.run_results import RunResults
from headcats.results.tables import parse_table, read_table, table_bytes

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
SCALARS = TEXT | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
KINDS = {"f4": st.floats(width=32), "f8": st.floats(), "i8": st.integers(-9, 9), "?": st.booleans(), "U": TEXT}
DIMS = [
    ("prompt",),
    ("metric", "prompt", "layer"),
    ("metric", "layer"),
    ("layer",),
    ("metric",),
    (),
    ("layer", "prompt"),
]


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, xr.Dataset]:
    """Blocks of up to five tasks; most differ in prompts, metrics, numbers and attributes alone."""
    layers, like = draw(st.integers(1, 2)), draw(st.lists(st.sampled_from(DIMS), min_size=1, max_size=4))
    kinds = [draw(st.sampled_from(sorted(KINDS))) for _ in like]
    shared = draw(st.dictionaries(st.sampled_from(["model", "plan"]), SCALARS))

    def of_task() -> xr.Dataset:
        metrics = draw(st.lists(st.sampled_from(["logit_diff", "prob", "é"]), min_size=1, max_size=3, unique=True))
        sizes = {"metric": len(metrics), "prompt": draw(st.integers(0, 3)), "layer": layers}
        odd = draw(st.integers(0, 9)) == 0

        def variable(dims: tuple[str, ...], kind: str) -> tuple[tuple[str, ...], np.ndarray]:
            shape = [sizes[dim] for dim in dims]
            n = int(np.prod(shape))
            return dims, np.array(draw(st.lists(KINDS[kind], min_size=n, max_size=n)), kind).reshape(shape)

        data = {f"v{n}": variable(dims, kind) for n, (dims, kind) in enumerate(zip(like, kinds, strict=True))}
        coords = {"item": variable(("prompt",), "U"), "metric": metrics, "layer": list(range(layers))}
        if odd:
            data["more"] = variable(("prompt",), "f4")
        own = draw(st.dictionaries(st.sampled_from(["model", "note", "dropped"]), SCALARS, max_size=2))
        return xr.Dataset(data, coords=coords, attrs=shared | own)

    return {f"task {number}": of_task() for number in range(draw(st.integers(1, 5)))}


def joined(of_tasks: dict[str, xr.Dataset]) -> tuple[list[str], xr.Dataset]:
    names = dict.fromkeys(of_tasks, "x")
    return join_blocks(of_tasks, checksums=names, categories=names)


def stored(table: xr.Dataset) -> xr.Dataset:
    return parse_table(table_bytes(table), Path("table.nc"), again="-")


@given(blocks())
def test_what_is_joined_stored_and_taken_apart_is_the_same(of_tasks: dict[str, xr.Dataset]) -> None:
    tasks, table = joined(of_tasks)
    assert tasks
    for apart in (split_blocks(table), split_blocks(stored(table))):
        assert list(apart) == tasks
        for task in tasks:
            xr.testing.assert_identical(apart[task], of_tasks[task])
            for name, values in of_tasks[task].variables.items():
                again = apart[task].variables[name]
                assert again.dtype.kind == values.dtype.kind
                if values.dtype.kind != "U":
                    assert (again.dtype, again.values.tobytes()) == (values.dtype, values.values.tobytes())
    assert all(map(is_plain, of_tasks.values()))
    read = {task: stored(one) for task, one in of_tasks.items()}
    assert table_bytes(joined(read)[1]) == table_bytes(table), "a run that was stopped gives the same file"


def other_forms() -> dict[str, xr.Dataset]:
    one = block()
    return {
        "another variable": one.assign(more=("prompt", [0.0, 1.0])),
        "fewer heads": one.isel(head=[0, 1]),
        "other heads": one.assign_coords(head=[3, 4, 5]),
        "another type": one.assign(patched=one.patched.astype(np.float64)),
        "no coordinate": one.reset_coords("item"),
        "its own tasks": one.assign_coords(task=("prompt", ["x", "y"])),
        "attributes of a variable": one.assign(clean=one.clean.assign_attrs(units="logits")),
        "a list": one.assign_attrs(names=["x", "y"]),
        "the attribute that is ours": one.assign_attrs({OF_TASKS: "mine"}),
    }


@for_each("form", sorted(other_forms()))
def test_blocks_of_another_form_stay_apart(tmp_path: Path, form: str) -> None:
    of_tasks = {"a": block(), "b": other_forms()[form], "c": block()}
    path = tmp_path / form
    target = run_of(path, of_tasks)
    before = load(path)
    assert write_joined(target) == ["a", "c"]
    assert sorted(file.relative_to(path).as_posix() for file in path.rglob("*.nc")) == [
        f"blocks/{LABEL}.nc",
        f"blocks/{LABEL}/b.nc",
    ]
    assert_same(load(path), before)


def test_blocks_that_lose_their_place_in_the_file_get_files_of_their_own(tmp_path: Path) -> None:
    of_tasks = {"a": block(), "b": block(fingerprint="g")}
    target = run_of(tmp_path, of_tasks)
    assert write_joined(target) == ["a", "b"]
    of_tasks |= {task: block().assign(more=("prompt", [0.0, 1.0])) for task in "cde"}
    checksums = {task: target.write_block(task, LABEL, one) for task, one in of_tasks.items() if task in "cde"}
    records = {task: BlockRecord("f", checksum=checksum) for task, checksum in checksums.items()}
    target.write_manifest(manifest(*of_tasks, blocks=recorded(target, records)))
    before = load(tmp_path)
    assert write_joined(target) == ["c", "d", "e"]
    assert [path.name for path in sorted((tmp_path / "blocks" / LABEL).iterdir())] == ["a.nc", "b.nc"]
    assert_same(load(tmp_path), before)
    assert {task: target.read_block(task, LABEL).attrs["fingerprint"] for task in "abc"} == {
        "a": "f",
        "b": "g",
        "c": "f",
    }


def test_texts_that_would_be_padded_beyond_reason_stay_apart() -> None:
    long = block(np.zeros(6 * 400, np.float32), items=("x" * 10**5, *[""] * 399))
    assert joined({"a": long, "b": long})[0] == []


# ------------------------------------------------------------------------------------------------------------- files
def run_of(path: Path, of_tasks: dict[str, xr.Dataset]) -> ResultsFolder:
    """A folder of these blocks as parts, with their checksums."""
    target, records = ResultsFolder(path), {}
    for task, one in of_tasks.items():
        checksum = target.write_block(task, LABEL, one)
        records[task] = BlockRecord(one.attrs["fingerprint"], checksum=checksum)
    target.write_manifest(manifest(*of_tasks, blocks={LABEL: MethodRecord(records)}))
    return target


def recorded(target: ResultsFolder, records: dict[str, BlockRecord]) -> dict[str, MethodRecord]:
    """Records of the folder, and these."""
    known = target.read_manifest()
    assert known is not None
    return {LABEL: MethodRecord({**known.blocks[LABEL].parts, **records})}


def write_joined(target: ResultsFolder) -> list[str]:
    known = target.read_manifest()
    assert known is not None
    parts = [task for task in known.tasks if target.part_path(LABEL, task).exists()]
    stored = target.read_joined(LABEL) if target.joined_path(LABEL).exists() else {}
    return target.write_joined(
        LABEL,
        stored | {task: target.read_block(task, LABEL) for task in parts},
        checksums={task: known.blocks[LABEL].parts[task].checksum for task in known.tasks},
        categories={task: record.category for task, record in known.tasks.items()},
    )


def assert_same(first: xr.DataTree, second: xr.DataTree) -> None:
    assert first.identical(second)
    assert list(first.children) == list(second.children)


THREE = {"b": block(fingerprint="g"), "a": block(), "c": block(items=("x",), fingerprint="h")}


@pytest.fixture
def three(tmp_path: Path) -> ResultsFolder:
    """A folder of three tasks in one file."""
    target = run_of(tmp_path / "r", THREE)
    before = load(target.path)
    assert write_joined(target) == ["a", "b", "c"]
    assert [file.name for file in target.path.rglob("*.nc")] == [f"{LABEL}.nc"]
    assert_same(load(target.path), before)
    return target


def test_anybody_reads_the_file_with_xarray(three: ResultsFolder) -> None:
    with xr.open_dataset(three.joined_path(LABEL), engine="h5netcdf") as table:
        assert table.patched.dims == ("metric", "prompt", "layer", "head")
        assert table.task.values.tolist() == ["a", "a", "b", "b", "c"]
        assert table.category.values.tolist() == ["Knowledge"] * 5
        assert table.item.values.tolist() == ["é", "→", "é", "→", "x"]


def damaged(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@for_each("how", ["one bit", "cut", "gone", "another table", "a joint block"])
def test_a_damaged_file_is_named_once(tmp_path: Path, how: str) -> None:
    target = run_of(tmp_path / how, THREE)
    write_joined(target)
    file = target.joined_path(LABEL)
    if how == "one bit":
        damaged(file)
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif how == "gone":
        file.unlink()
    else:
        attrs = {OF_TASKS: "[]"} if how == "another table" else {"task": "_suite", "label": LABEL}
        file.write_bytes(table_bytes(block().assign_attrs(attrs)))
    with pytest.warns(StorageWarning, match="lacks 1 file"):
        run = RunResults(load(target.path))
    assert (list(run.missing), run.scored_tasks) == ([f"blocks/{LABEL}.nc"], [])
    assert "headcats run" in run.missing[f"blocks/{LABEL}.nc"]


def test_of_a_large_file_only_the_end_and_the_names_are_read_at_opening(three: ResultsFolder, monkeypatch: Any) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("headcats.results.block_files.read_checked", lambda *a, **k: pytest.fail("it is read whole"))
        run = open_results(find_place(three.path), checked_later=1000)
    damaged(three.joined_path(LABEL))
    with pytest.raises(DamagedFileError, match="checksum"):
        run.block("a", LABEL)


def test_a_stopped_run_shows_its_parts_beside_the_file(three: ResultsFolder) -> None:
    known, more = three.read_manifest(), block(fingerprint="i")
    checksum = three.write_block("d", LABEL, more)
    extended = manifest(*known.tasks, "d", blocks=recorded(three, {"d": BlockRecord("i", checksum=checksum)}))
    three.write_manifest(extended)
    before = load(three.path)
    assert list(RunResults(before).tasks) == ["b", "a", "c", "d"]
    assert write_joined(three) == ["a", "b", "c", "d"]
    assert_same(load(three.path), before)


def test_a_part_beside_the_file_is_newer(three: ResultsFolder) -> None:
    newer = block() + 1
    three.write_block("a", LABEL, newer.assign_attrs(THREE["a"].attrs))
    assert load(three.path)["a"][LABEL].patched.equals(newer.patched)
    damaged(three.part_path(LABEL, "a"))
    with pytest.warns(StorageWarning, match="lacks 1 file"):
        assert list(RunResults(load(three.path)).missing) == [f"blocks/{LABEL}/a.nc"]


def test_blocks_of_other_prompts_within_the_file_are_not_taken_for_ours(three: ResultsFolder) -> None:
    known = three.read_manifest()
    records = recorded(three, {"a": BlockRecord("other", checksum="0" * 32)})
    three.write_manifest(manifest(*known.tasks, blocks=records))
    with pytest.warns(StorageWarning, match="is of other prompts"):
        assert RunResults(load(three.path)).scored_tasks == ["b", "c"]


def test_a_task_that_the_file_lacks_is_named(three: ResultsFolder) -> None:
    known = three.read_manifest()
    three.write_manifest(manifest(*known.tasks, "z", blocks=recorded(three, {"z": BlockRecord("f")})))
    with pytest.warns(StorageWarning, match="it lacks 'z'"):
        assert RunResults(load(three.path)).scored_tasks == ["a", "b", "c"]


@for_each("kept", [("a",), ("a", "b", "c"), ()])
def test_parts_that_a_killed_run_has_not_removed_change_nothing(tmp_path: Path, kept: tuple[str, ...]) -> None:
    target = run_of(tmp_path / "".join(kept), THREE)
    before, parts = load(target.path), tmp_path / f"parts of {''.join(kept)}"
    shutil.copytree(target.path / "blocks" / LABEL, parts)
    write_joined(target)
    whole = files(target.path)
    for task in kept:
        target.part_path(LABEL, task).parent.mkdir(exist_ok=True)
        shutil.copy(parts / f"{task}.nc", target.part_path(LABEL, task))
    assert_same(load(target.path), before)
    write_joined(target)
    assert files(target.path).keys() == whole.keys()


def test_parts_that_are_joined_while_somebody_reads_are_found(tmp_path: Path, monkeypatch: Any) -> None:
    target = run_of(tmp_path, THREE)
    opened, before = open_results(find_place(tmp_path)), load(tmp_path)
    write_joined(target)
    assert opened.block("a", LABEL).identical(before["a"][LABEL].to_dataset())


def test_a_file_of_tasks_that_contradicts_itself_is_damaged(three: ResultsFolder) -> None:
    table = read_table(three.joined_path(LABEL), again="-")
    entries = json.loads(table.attrs[OF_TASKS])
    entries["c"]["prompts"] = 7
    three.joined_path(LABEL).write_bytes(table_bytes(table.assign_attrs({OF_TASKS: json.dumps(entries)})))
    with pytest.raises(DamagedFileError, match="prompts"):
        three.read_joined(LABEL)
