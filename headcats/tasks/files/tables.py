"""CSV, TSV and Parquet, and tables of `datasets`, saved on disk or of the hub: read row by row, never held."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import DELIMITERS, reading
from headcats.tasks.files.questions import LETTERS
from headcats.tasks.files.records import Records

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 8192
# Bytes that may be made of any file, and of rows at once; times that compression may save of a larger one.
_AT_ONCE, _MOST_PACKED = 2**28, 100
_FEW_VALUES, _MOST_VALUES = 2**21, 4  # of any file, and for each of its bytes
_CELL = 8  # bytes of a value in Python, at least
_TAB = "\t"
_DELIMITERS = (";", _TAB, ",", "|")
HUB = "hf://datasets/"
_MARKS = ("dataset_info.json", "dataset_dict.json")
# A name of the hub; `.` and `..` are none.
_NAME = re.compile(r"(?!\.{1,2}$)[\w.-]+")


def table_records(path: Path, *, names: Sequence[str] = ()) -> Records:
    """A CSV, TSV or Parquet file; `names` are those of the columns of one that has none."""
    delimiter = DELIMITERS.get(path.suffix.lower())
    return parquet_records(path) if delimiter is None else separated_records(path, delimiter=delimiter, names=names)


def separated_records(path: Path, *, delimiter: str, names: Sequence[str] = ()) -> Records:
    """A file of cells between delimiters, below a line of column names; every cell is text."""
    with reading(path), _open(path) as file:
        header = next(_rows(file, path, delimiter), (1, []))[1]
    names = names or _names_of(header)
    if names and len(names) != len(header):
        raise DataError(f"{path.name} has {len(header)} columns, and suite.toml names {len(names)} of them.")
    if not header:
        raise DataError(f"{path.name}, line 1: expected the names of the columns; got an empty line.")
    if len(header) == 1 and (other := next((mark for mark in _DELIMITERS if mark in header[0]), None)):
        raise DataError(
            f"{path.name}, line 1: expected cells between {delimiter!r}; got {header[0]!r:.60}, which is "
            f"separated by {other!r}: write the file with {delimiter!r}{' or call it .tsv' if other == _TAB else ''}."
        )

    def read() -> Iterator[tuple[int, Sequence[Any]]]:
        with reading(path), _open(path) as file:
            rows = _rows(file, path, delimiter)
            if not names:
                next(rows)
            for number, cells in rows:
                if cells and len(cells) != len(header):
                    raise DataError(
                        f"{path.name}, line {number}: expected {len(header)} cells as in the first line; got "
                        f"{len(cells)}. Put text that holds the delimiter {delimiter!r} in double quotes."
                    )
                yield number, cells

    return Records(path.name, tuple(names or header), read, unit="line")


def _names_of(first: Sequence[str]) -> Sequence[str]:
    """Names of the columns of a file that begins with a row of MMLU, as published; none for any other."""
    *others, last = (cell.strip() for cell in first)
    options = list(LETTERS[: max(0, len(first) - 2)])
    return ["question", *options, "answer"] if len(options) > 1 and last in options and " " in others[0] else []


def _open(path: Path) -> Any:
    return open(path, encoding="utf-8-sig", newline="")


def _rows(file: Any, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of the line that it starts on."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path.name}, line {number}: {error}; check the double quotes there.") from None
        yield number, cells


def parquet_records(path: Path) -> Records:
    """A Parquet file.

    A text that is in the file once may stand in every row, so what they would take is summed before they are made.
    """
    from pyarrow import parquet

    size = path.stat().st_size
    most, values = max(_AT_ONCE, _MOST_PACKED * size), max(_FEW_VALUES, _MOST_VALUES * size)

    def batches() -> Iterator["pa.RecordBatch"]:
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            taken = 0
            for batch in file.iter_batches(batch_size=_ROWS):
                taken += (expanded := sum(map(_expanded, batch.columns)))
                if taken > most:
                    raise _larger(path, size, most)
                rows = max(1, batch.num_rows * _AT_ONCE // max(expanded, _AT_ONCE))
                for first in range(0, batch.num_rows, rows):
                    yield batch.slice(first, rows)

    with _arrow(path.name), parquet.ParquetFile(path) as file:
        columns, whole = tuple(file.schema_arrow.names), file.metadata
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
        texts = [
            leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"
        ]
        groups = [whole.row_group(number) for number in range(whole.num_row_groups)]
        n = sum(group.column(place).num_values for group in groups for place in range(len(leaves)))
    longest = max((leaf.length for leaf in leaves), default=0)  # of texts that are all of one length
    if max(n, whole.num_rows) > values or max(sum(group.total_byte_size for group in groups), longest * _ROWS) > most:
        raise _larger(path, size, most)
    return arrow_records(path.name, columns, batches)


def _expanded(column: "pa.Array") -> int:
    """Bytes of the values of a column, each text counted wherever it stands."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        lengths = compute.binary_length(column.dictionary).take(column.indices)
        return max(compute.sum(lengths).as_py() or 0, _CELL * len(column))
    if pa.types.is_nested(column.type):
        inner = [column.keys, column.items] if pa.types.is_map(column.type) else column.flatten()
        return sum(map(_expanded, inner)) if isinstance(inner, list) else _expanded(inner)
    return max(int(column.nbytes), _CELL * len(column))


def _larger(path: Path, size: int, most: int) -> DataError:
    return DataError(
        f"{path.name} has {size:,} bytes and would take more than {most:,} in memory: write it with fewer rows or "
        "shorter texts, or as CSV."
    )


def arrow_records(
    file: str, columns: Sequence[str], batches: Callable[[], "Iterator[pa.RecordBatch | pa.Table]"]
) -> Records:
    """Tables of the same columns, one after the other."""

    def read() -> Iterator[tuple[int, Sequence[Any]]]:
        number = 0
        with _arrow(file):
            for batch in batches():
                for cells in zip(*map(_cells, batch.columns), strict=True):
                    number += 1
                    yield number, cells

    return Records(file, tuple(columns), read)


def _cells(column: "pa.Array | pa.ChunkedArray") -> list[Any]:
    """Values of a column; those of a dictionary are slow one by one."""
    is_packed = hasattr(column, "dictionary_decode")
    return (column.dictionary_decode() if is_packed else column).to_pylist()


@contextmanager
def _arrow(file: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"{file} cannot be read as a table: {error}; write it again.") from None


def is_saved_dataset(folder: Path) -> bool:
    """True if `save_to_disk` has written this folder."""
    return (any((folder / mark).is_file() for mark in _MARKS) and (folder / "state.json").is_file()) or (
        folder / _MARKS[1]
    ).is_file()


def saved_records(folder: Path) -> Records:
    """A dataset that `save_to_disk` has written."""
    import datasets

    return _records(lambda: datasets.load_from_disk(str(folder)), folder.name, "name the folder of one")


def hub_records(address: str) -> Records:
    """A dataset of the hub, downloaded if it is not in the cache: `hf://datasets/user/name[/config[/split]]`."""
    parts = address.removeprefix(HUB).rstrip("/").split("/")
    if not (address.startswith(HUB) and 2 <= len(parts) <= 4 and all(parts) and all(map(_NAME.fullmatch, parts[:2]))):
        raise DataError(
            f"Expected a dataset of the hub as {HUB}user/name, /config and /split behind it; got {address!r}."
        )
    user, name, *chosen = parts
    if Path(user, name).exists():
        raise DataError(
            f"{user}/{name} is here too, as a file or folder, which would be loaded in place of the hub's: name it as "
            "one, or start from another folder."
        )
    return loaded_records(f"{user}/{name}", *chosen)


def loaded_records(name: str, config: str | None = None, split: str | None = None) -> Records:
    """Records that `datasets.load_dataset` loads under this name; code of the dataset is never run."""
    import datasets

    def load() -> Any:
        return datasets.load_dataset(name, config, split=split)

    return _records(load, name.rpartition("/")[2], "name one behind the config, as /default/train")


def _records(load: Callable[[], Any], name: str, advice: str) -> Records:
    try:
        table = load()
    except Exception as error:  # noqa: BLE001 - any of datasets, pyarrow, fsspec and the readers of each format
        reason = next(iter(str(error).splitlines()), "").rstrip(".") or type(error).__name__
        raise DataError(f"The dataset {name!r} cannot be loaded: {reason}.") from None
    if isinstance(table, dict):
        if len(table) != 1:
            raise DataError(f"The dataset {name!r} has the splits {', '.join(map(repr, table))}: {advice}.")
        (table,) = table.values()

    def batches() -> Iterator[Any]:
        yield from table.with_format("arrow").iter(batch_size=_ROWS)

    return arrow_records(name, table.column_names, batches)
