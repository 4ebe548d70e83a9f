"""What a map is made of, and its copy in the folder of the results."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from counting import SUITE
from for_each import for_each
from results.folders import change_manifest, files

import headcats as hc
from headcats.base.errors import DataError, StatisticsWarning
from headcats.categories import run_maps as module
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import kept_tables, map_tables, with_descriptors
from headcats.models.adapter import HookedModel
from headcats.results import cached_tables as keeping
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.results.sharing import _files
from headcats.results.tables import read_table, table_bytes
from headcats.results.whole_file import write_whole
from headcats.rules.rule import Rule
from headcats.scale.merging import merge

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
TABLES = {"scores", "members", "overlap", "differences", "sharing"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, counting_model: HookedModel) -> Path:
    """A run of a few tasks; every category of one of them is warned of."""
    path = tmp_path_factory.mktemp(".kept")
    hc.run(counting_model, suite=SUITE, n_prompts=12, n_demos=2, methods=["denoising_patch"], out=path / "run")
    return path / "run"


@pytest.fixture(scope="module")
def finished_and_mapped(finished: Path) -> Path:
    """The same run with its map, as `mapped` keeps it."""
    path = finished.parent / "mapped"
    shutil.copytree(finished, path)
    mapped(path)
    return path


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def kept_folder(finished_and_mapped: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished_and_mapped, tmp_path / "run")
    return tmp_path / "run"


def opened(folder: Path) -> RunResults:
    return open_results(find_place(folder)).without_untried()


def mapped(folder: Path, reading: MapSpec | None = None) -> tuple[dict[str, xr.Dataset], list[str]]:
    """The tables, and what the statistics warn of."""
    run = opened(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tables = kept_tables(run, (reading or MapSpec()).resolve(run))
    return tables, [str(one.message) for one in caught if one.category is StatisticsWarning]


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is scored."""

    def score(*arguments: object, **options: object) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr(module, "score", score)


def assert_same(first: dict[str, xr.Dataset], second: dict[str, xr.Dataset]) -> None:
    assert first.keys() == second.keys()
    for name, table in first.items():
        xr.testing.assert_identical(table, second[name])
        assert {key: type(value) for key, value in table.attrs.items()} == {
            key: type(value) for key, value in second[name].attrs.items()
        }


def test_what_is_kept_is_what_was_computed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, warned = mapped(folder)
    assert first.keys() == TABLES
    monkeypatch.setattr(module, "score", None)  # a call would be a TypeError
    again, warned_again = mapped(folder)
    assert_same(first, again)
    assert warned == warned_again
    assert warned


def test_kept_tables_are_those_of_the_map_without_its_draws(kept_folder: Path) -> None:
    kept, _ = mapped(kept_folder)
    run = RunResults(hc.load(kept_folder))  # in memory: what is kept is not looked at
    whole = map_tables(run, MapSpec().resolve(run))
    for name, table in whole.items():
        xr.testing.assert_identical(kept[name], table.drop_dims(("resample", "draw"), errors="ignore"))
    assert "direct_logit" in kept["overlap"]
    assert {"resampled", "null_effect_t"} <= set(whole["scores"]) - set(kept["scores"])


@pytest.mark.usefixtures("never")
def test_scores_alone_are_kept_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(folder)
    with monkeypatch.context() as allowed:
        allowed.setattr(module, "score", hc.score)
        scores = kept_tables(run, MapSpec(), upto="scores")["scores"]
    xr.testing.assert_identical(scores, kept_tables(opened(folder), MapSpec(), upto="scores")["scores"])
    with pytest.raises(AssertionError, match="scored again"):
        mapped(folder)


@pytest.mark.usefixtures("never")
def test_results_in_memory_are_computed(finished: Path) -> None:
    run = RunResults(hc.load(finished))
    with pytest.raises(AssertionError, match="scored again"):
        kept_tables(run, MapSpec().resolve(run))


def rescaled_block(folder: Path) -> None:
    """Another run of the same plan: its effects are others."""
    target = ResultsFolder(folder)
    block = target.read_block("always_a", "denoising_patch@last")
    checksum = target.write_block("always_a", "denoising_patch@last", block.assign(patched=block["patched"] * 0.5))

    def record(manifest: dict) -> None:
        manifest["blocks"]["denoising_patch@last"]["parts"]["always_a"]["checksum"] = checksum

    change_manifest(folder, record)


def test_changed_categories_are_computed_anew(kept_folder: Path) -> None:
    def change(manifest: dict) -> None:
        manifest["tasks"]["always_a"]["category"] = "Algorithmic"

    before, _ = mapped(kept_folder)
    change_manifest(kept_folder, change)
    after, _ = mapped(kept_folder)
    assert not before["members"].equals(after["members"])


@pytest.mark.usefixtures("never")
def test_another_reading_and_another_version_of_the_code_compute(
    kept_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped(kept_folder)
    for reading in (
        MapSpec(min_tasks=1),
        MapSpec(sign="suppressing"),
        MapSpec(rule=hc.rules.fdr(alpha=0.01)),
        MapSpec(effect="task_specific"),
    ):
        with pytest.raises(AssertionError, match="scored again"):
            mapped(kept_folder, reading)
    monkeypatch.setattr(keeping, "_CODE", "another")
    with pytest.raises(AssertionError, match="scored again"):
        mapped(kept_folder)


def test_a_rule_of_ones_own_is_called_every_time(folder: Path) -> None:
    calls = []

    def judge(scores: xr.Dataset) -> xr.DataArray:
        calls.append(1)
        return xr.zeros_like(scores["effect"], dtype=int)

    for _ in range(2):
        before = len(calls)
        mapped(folder, MapSpec(rule=Rule(judge, name="mine")))
        assert len(calls) > before
    assert not (folder / ".kept").exists()


def test_warnings_are_given_where_the_computation_fails(folder: Path) -> None:
    def compute() -> None:
        warnings.warn("said before", StatisticsWarning, stacklevel=1)
        raise DataError("failed")

    with pytest.warns(StatisticsWarning, match="said before"), pytest.raises(DataError, match="failed"):
        keeping.cached_tables(opened(folder), "any", ("scores",), compute)
    assert not (folder / ".kept").exists()


@pytest.mark.parametrize("text", ["\0", "\ud800"])
def test_what_cannot_be_stored_is_computed(folder: Path, text: str) -> None:
    table = xr.Dataset({"effect": 1.0}, attrs={"note": text})
    computed = keeping.cached_tables(opened(folder), text, ("scores",), lambda: {"scores": table})
    xr.testing.assert_identical(computed["scores"], table)
    assert not list(folder.glob(".kept/*"))


def test_a_damaged_copy_is_made_anew(kept_folder: Path) -> None:
    def flipped(data: bytes) -> bytes:
        place = len(data) // 2
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

    first, _ = mapped(kept_folder)
    (path,) = (kept_folder / ".kept").glob("*-differences.nc")
    damaged = flipped(path.read_bytes())
    path.write_bytes(damaged)
    assert_same(first, mapped(kept_folder)[0])
    assert path.read_bytes() != damaged


@for_each("warned", [None, "[" * 100_000, "[5]", "5", '{"a": "b"}'])
def test_a_copy_whose_warnings_are_none_is_made_anew(warned: str | None, folder: Path) -> None:
    table, run = xr.Dataset({"v": ("x", [1.0, 2.0])}), opened(folder)
    shutil.rmtree(folder / ".kept", ignore_errors=True)
    keeping.cached_tables(run, "any", ("scores",), lambda: {"scores": table})
    (path,) = folder.glob(".kept/*-scores.nc")
    stored = read_table(path, again="")
    attrs = {name: value for name, value in stored.attrs.items() if name != "warned"}
    path.write_bytes(
        table_bytes(stored.drop_attrs().assign_attrs(attrs | ({} if warned is None else {"warned": warned})))
    )
    again = keeping.cached_tables(run, "any", ("scores",), lambda: {"scores": table + 1})
    assert list(again["scores"]["v"].values) == [2.0, 3.0]


def test_what_is_kept_of_other_blocks_is_removed_and_never_mixed_in(kept_folder: Path) -> None:
    first, _ = mapped(kept_folder)
    (path,) = (kept_folder / ".kept").glob("*-members.nc")
    before, other = {path.name for path in (kept_folder / ".kept").iterdir()}, path.read_bytes()
    rescaled_block(kept_folder)
    after, _ = mapped(kept_folder)
    names = {path.name for path in (kept_folder / ".kept").iterdir()}
    assert len(names) == len(before) == len(TABLES)
    assert not before & names
    (path,) = (kept_folder / ".kept").glob("*-members.nc")
    path.write_bytes(other)
    assert_same(after, mapped(kept_folder)[0])
    assert not first["members"].equals(after["members"])


def test_nothing_is_kept_of_results_with_a_damaged_block(folder: Path) -> None:
    write_whole(ResultsFolder(folder).part_path("denoising_patch@last", "always_b"), b"")
    with pytest.warns(hc.errors.StorageWarning):
        tables, _ = mapped(folder)
    assert "always_b" not in tables["scores"]["task"]
    assert not (folder / ".kept").exists()


def test_a_folder_that_cannot_be_written_is_read_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise hc.errors.StorageError("closed")

    monkeypatch.setattr(keeping, "write_whole", refuse)
    before, table = files(folder), xr.Dataset({"effect": 1.0})
    xr.testing.assert_identical(keeping.cached_tables(opened(folder), "any", ("t",), lambda: {"t": table})["t"], table)
    assert files(folder) == before


def test_copies_are_neither_pushed_nor_merged(finished_and_mapped: Path, tmp_path: Path) -> None:
    manifest = RunResults(hc.load(finished_and_mapped)).manifest
    assert not [name for name in _files(finished_and_mapped, manifest) if ".kept" in str(name)]
    merge([finished_and_mapped], out=tmp_path / "merged")
    assert not (tmp_path / "merged" / ".kept").exists()


@pytest.fixture
def descriptors() -> xr.Dataset:
    of_tasks = np.arange(12.0).reshape(3, 2, 2)
    return xr.Dataset(
        {"entropy": (("layer", "head"), np.ones((2, 2))), "direct_logit": (("task", "layer", "head"), of_tasks)},
        coords={"task": ["a", "b", "c"], "category": ("task", ["x", "y", "x"]), "layer": [0, 1], "head": [0, 1]},
    )


def members(**attrs: str) -> xr.Dataset:
    coords = {"category": ["y", "x", "z"], "layer": [0, 1], "head": [0, 1]}
    return xr.Dataset({"member": (("category", "layer", "head"), np.zeros((3, 2, 2)))}, coords=coords, attrs=attrs)


def test_direct_logits_are_means_over_the_tasks_of_a_category(descriptors: xr.Dataset) -> None:
    described = with_descriptors(members(), descriptors)
    assert described.entropy.dims == ("layer", "head")
    assert described.direct_logit.sel(category="x").values.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert described.direct_logit.sel(category="y").values.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert described.direct_logit.sel(category="z").isnull().all()
    gap = xr.DataArray([2.0, 1.0, 4.0], coords={"task": ["a", "b", "c"]})
    shares = with_descriptors(members(), descriptors, gap=gap).direct_share
    assert shares.sel(category="x").values.tolist() == [[1.0, 1.375], [1.75, 2.125]]


def test_groups_of_heads_have_none(descriptors: xr.Dataset) -> None:
    groups = members(unit="kv_group")
    assert with_descriptors(groups, descriptors) is groups
