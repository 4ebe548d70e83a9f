"""CSV, TSV and Parquet, and tables of `datasets`: read row by row, never held."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import DELIMITERS, reading
from headcats.tasks.files.records import Records

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 8192
_TAB = "\t"
_DELIMITERS = (";", _TAB, ",", "|")


def table_records(path: Path) -> Records:
    """A CSV, TSV or Parquet file."""
    delimiter = DELIMITERS.get(path.suffix.lower())
    return parquet_records(path) if delimiter is None else separated_records(path, delimiter=delimiter)


def separated_records(path: Path, *, delimiter: str) -> Records:
    """A file of cells between delimiters, below a line of column names; every cell is text."""
    with reading(path), _open(path) as file:
        header = next(_rows(file, path, delimiter), (1, []))[1]
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
            next(rows)
            for number, cells in rows:
                if cells and len(cells) != len(header):
                    raise DataError(
                        f"{path.name}, line {number}: expected {len(header)} cells as in the first line; got "
                        f"{len(cells)}. Put text that holds the delimiter {delimiter!r} in double quotes."
                    )
                yield number, cells

    return Records(path.name, tuple(header), read, unit="line")


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
    """A Parquet file."""
    from pyarrow import parquet

    def batches() -> Iterator["pa.RecordBatch"]:
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_ROWS)

    with _arrow(path.name), parquet.ParquetFile(path) as file:
        columns = tuple(file.schema_arrow.names)
    return arrow_records(path.name, columns, batches)


def arrow_records(
    file: str, columns: Sequence[str], batches: Callable[[], "Iterator[pa.RecordBatch | pa.Table]"]
) -> Records:
    """Tables of the same columns, one after the other."""

    def read() -> Iterator[tuple[int, Sequence[Any]]]:
        number = 0
        with _arrow(file):
            for batch in batches():
                for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield number, cells

    return Records(file, tuple(columns), read)


@contextmanager
def _arrow(file: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"{file} cannot be read as a table: {error}; write it again.") from None
