"""Parquet and tables of `datasets`, on disk and of the hub, by the code of the libraries themselves."""

import datasets
import pyarrow as pa
import pytest
from for_each import for_each
from pyarrow import parquet
from tasks.files.layout_files import write

import headcats as hc
from headcats.base.errors import DataError
from headcats.tasks.files.dataset import loaded_records
from headcats.tasks.files.layouts import record_content
from headcats.tasks.files.settings import FileSettings

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
    (task,) = record_content(records, FileSettings()).tasks
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
