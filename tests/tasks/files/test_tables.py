"""Parquet and tables of `datasets`, on disk and of the hub, by the code of the libraries themselves."""

import tracemalloc

import datasets
import numpy as np
import pyarrow as pa
import pytest
from for_each import for_each
from pyarrow import parquet
from tasks.files.layout_files import write

import headcats as hc
from headcats.base.errors import DataError
from headcats.tasks.files.layouts import record_tasks
from headcats.tasks.files.settings import FileSettings
from headcats.tasks.files.tables import _expanded, loaded_records, parquet_records

PAIRS = {"input": ["France", "Italy"], "output": ["Paris", "Rome"]}


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def test_parquet(tmp_path):
    table = pa.table({"row": [1, 2], **PAIRS, "year": [1.5, None]})
    parquet.write_table(table, tmp_path / "capitals.parquet")
    (task,) = hc.suite(tmp_path / "capitals.parquet").tasks
    assert task.pairs(9, seed=0) == [("France", "Paris"), ("Italy", "Rome")]
    parquet.write_table(pa.table({"x": [7, 8], "y": [1, None]}), tmp_path / "numbers.parquet")
    (task,) = hc.suite(tmp_path / "numbers.parquet").tasks
    assert task.pairs(9, seed=0) == [("7", "1")]
    assert task.drops.dropped == {"nothing in column 'y'": 1}
    parquet.write_table(pa.table({"x": ["a"], "y": [1.0]}), tmp_path / "real.parquet")
    with pytest.raises(DataError, match=r"real\.parquet, record 1: column 'y'"):
        hc.suite(tmp_path / "real.parquet")


def test_a_text_that_stands_in_many_rows_is_counted_in_each(tmp_path):
    def written(n, length):
        words = pa.DictionaryArray.from_arrays(
            pa.array(np.arange(n, dtype=np.int32) % 2), pa.array(["a", "b" * length])
        )
        rows = pa.table({"input": [f"word {number}" for number in range(n)], "output": words})
        parquet.write_table(rows, tmp_path / "x.parquet", store_schema=False, compression="zstd")
        return tmp_path / "x.parquet"

    lists, maps = [["a", "b"], None, ["c"]], [[("k", "v")], [], None]
    nested = pa.table({"lists": pa.array(lists, pa.list_(pa.string())), "maps": pa.array(maps, pa.map_("str", "str"))})
    parquet.write_table(nested, tmp_path / "nested.parquet")
    assert [tuple(cells) for _, cells in parquet_records(tmp_path / "nested.parquet").read()] == list(
        zip(lists, maps, strict=True)
    )
    assert len(hc.suite(written(3000, 2000)).tasks[0].pairs(9999, seed=0)) == 3000
    assert written(3000, 500_000).stat().st_size < 30_000  # of 750 MB
    tracemalloc.start()
    with pytest.raises(DataError, match=r"x\.parquet has .* bytes"):
        hc.suite(tmp_path / "x.parquet")
    assert tracemalloc.get_traced_memory()[1] < 2**27
    tracemalloc.stop()
    same = pa.table({"input": pa.array(["a"] * 2 * 10**6), "output": pa.array(["b"] * 2 * 10**6)})
    parquet.write_table(same, tmp_path / "x.parquet")
    with pytest.raises(DataError, match="more than"):
        hc.suite(tmp_path / "x.parquet")


def test_values_are_counted_over_all_groups_and_columns(tmp_path):
    nulls, path = pa.array([[None] * 2**17], pa.list_(pa.null())), tmp_path / "x.parquet"
    with parquet.ParquetWriter(path, pa.schema({"input": pa.list_(pa.null())})) as file:
        for _ in range(20):
            file.write_table(pa.table({"input": nulls}))
    with pytest.raises(DataError, match="more than"):
        parquet_records(path)
    parquet.write_table(pa.table({f"c{number}": pa.nulls(10**5) for number in range(30)}), path)
    with pytest.raises(DataError, match="more than"):
        parquet_records(path)
    assert _expanded(pa.nulls(100)) == _expanded(pa.array([""] * 100).dictionary_encode()) == 800


def test_a_dataset_on_disk_alone_and_in_a_folder(tmp_path):
    datasets.Dataset.from_dict(PAIRS).save_to_disk(tmp_path / "suite" / "capitals")
    write(tmp_path / "suite" / "other.csv", "input,output\na,b\n")
    (alone,) = hc.suite(tmp_path / "suite" / "capitals").tasks
    assert (alone.name, alone.pairs(9, seed=0)) == ("capitals", [("France", "Paris"), ("Italy", "Rome")])
    assert [task.name for task in hc.suite(tmp_path / "suite").tasks] == ["capitals", "other"]


def test_splits_on_disk(tmp_path):
    split = datasets.Dataset.from_dict(PAIRS)
    datasets.DatasetDict({"train": split}).save_to_disk(tmp_path / "one")
    assert hc.suite(tmp_path / "one").tasks[0].drops.kept == 2
    datasets.DatasetDict({"train": split, "test": split}).save_to_disk(tmp_path / "two")
    with pytest.raises(DataError, match="'train', 'test'"):
        hc.suite(tmp_path / "two")
    assert hc.suite(tmp_path / "two" / "test").tasks[0].drops.kept == 2


def test_a_damaged_dataset_on_disk(tmp_path):
    datasets.Dataset.from_dict(PAIRS).save_to_disk(tmp_path / "capitals")
    (tmp_path / "capitals" / "data-00000-of-00001.arrow").write_bytes(b"no arrow")
    with pytest.raises(DataError, match="'capitals' cannot"):
        hc.suite(tmp_path / "capitals")


# Older versions of datasets and pandas leave the file that they have read to the garbage collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO:pytest.PytestUnraisableExceptionWarning")
def test_what_the_hub_serves(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    home = tmp_path / "user" / "capitals"
    for split in ("train", "test"):
        write(home / f"{split}.csv", "input,output\nFrance,Paris\nItaly,Rome\n")
    with pytest.raises(DataError, match="'train', 'test'"):
        loaded_records(str(home))
    records = loaded_records(str(home), "default", "test")
    task = record_tasks(records, FileSettings())[""]
    assert task.make(9, seed=0) == [("France", "Paris"), ("Italy", "Rome")]
    with pytest.raises(DataError, match="'capitals' cannot"):
        loaded_records(str(home), "default", "dev")


def test_whatever_a_loader_raises_is_one_sentence(monkeypatch):
    def load(*arguments, **options):
        raise ArithmeticError("first line\nsecond line")

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(DataError) as caught:
        hc.suite("hf://datasets/user/capitals")
    assert str(caught.value).endswith(": first line.")


@for_each(
    "address", ["../..", "user/..", "./name", "user", "user//name", "user/my name", "user/name/a/b/c", "~/x/../.."]
)
def test_other_addresses(address):
    with pytest.raises(DataError, match="/config and /split"):
        hc.suite(f"hf://datasets/{address}")


def test_a_folder_is_not_taken_for_a_dataset_of_the_hub(tmp_path, monkeypatch):
    write(tmp_path / "user" / "capitals" / "train.csv", "input,output\nFrance,Paris\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="user/capitals"):
        hc.suite("hf://datasets/user/capitals")


def test_an_address_of_the_hub_names_the_suite(monkeypatch):
    asked = []

    def load(*arguments, **options):
        asked.append((*arguments, options))
        return datasets.Dataset.from_dict(PAIRS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    suite = hc.suite("hf://datasets/user/my.capitals/main/test")
    assert (suite.name, suite.source) == ("my.capitals", "hf://datasets/user/my.capitals/main/test")
    assert asked == [("user/my.capitals", "main", {"split": "test"})]
    assert suite.tasks[0].source.endswith("; my.capitals")
