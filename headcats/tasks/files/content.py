"""What a file may be before any of it is parsed: of which suffix, text in UTF-8, and never a pickle."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headcats.base.errors import DataError
from headcats.results.whole_file import regular


class UnclearColumnsError(DataError):
    """Columns that could mean several things, or nothing; a line of suite.toml tells."""


class UnknownLayoutError(UnclearColumnsError):
    """A file that can be read, and holds no task."""


LINES = (".jsonl", ".ndjson")
JSON = (".json", *LINES)
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*JSON, *DELIMITERS, ".parquet")
PICKLED = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt", ".joblib")
_FORMATS = "JSON, JSON Lines, CSV, TSV or Parquet"


def check_safe(path: Path) -> None:
    """Refuse a pickle, by its suffix or its first bytes, an archive, an empty file and one that cannot be read."""
    pickled = (
        f"{path.name} is a pickle, which can run any code when it is opened, so headcats never opens one: save the "
        f"data as {_FORMATS}."
    )
    if path.suffix.lower() in PICKLED:
        raise DataError(pickled)
    with reading(path), open(regular(path), "rb") as file:
        head = file.read(4)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise DataError(pickled)
    if head[:4] == b"PK\x03\x04":
        raise DataError(f"{path.name} is an archive, such as those of torch and spreadsheets: save it as {_FORMATS}.")
    if not head:
        raise DataError(f"{path.name} is empty; expected {_FORMATS}.")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of the file system and of decoding into a DataError that names the file, and the line if it can."""
    try:
        yield
    except UnicodeDecodeError:
        raise DataError(
            f"{path.name}, line {_undecodable_line(path)}: not text in UTF-8; save the file as UTF-8."
        ) from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}.") from None


def _undecodable_line(path: Path) -> int:
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1
