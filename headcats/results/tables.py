"""Tables as netCDF files with a checksum, written and read by xarray.

It neither masks nor scales numbers nor makes times of them: what is written comes back to the bit.
"""

import contextlib
import io
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import xarray as xr

from headcats.base.errors import DamagedFileError, HeadcatsError, StorageError
from headcats.results.file_format import checksum, content_of, read_file, with_checksum
from headcats.results.untrusted import check_untrusted
from headcats.results.writer import WRITER

T = TypeVar("T")

WRITTEN_WITH = "written_with"
"""Attribute of tables that were written together: the same in all of them."""
_TRIES, _PAUSE = 20, 0.1


def table_bytes(table: xr.Dataset) -> bytes:
    """A table as the content of a netCDF file, for `write_whole`."""
    if times := [name for name, of in table.variables.items() if of.dtype.kind in "mM"]:
        raise TypeError(f"{times[0]!r} holds times")  # which nothing here reads as such
    # Made in memory first: HDF5 reports a full disk late and in many ways, an ordinary write at once and in one.
    plain = {name: {"_FillValue": None} for name in table.variables}
    return with_checksum(bytes(table.to_netcdf(engine="h5netcdf", encoding=plain)))


def read_table(path: Path, *, again: str) -> xr.Dataset:
    """The table in a file; `again` is the command that makes it again, such as "`headcats evidence DIR`".

    A DamagedFileError if it is damaged, takes more memory than it may, or the disk cannot read it; a StorageError if
    there is no such file, or it is not readable.
    """
    return parse_table(read_checked(path, again=again), path, again=again)


def read_checked(path: Path, *, again: str) -> bytes:
    """The bytes of the file of a table whose checksum fits; arguments and errors of `read_table`."""
    try:
        data = read_file(path)
        content_of(data)
        return data
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        advice = f"{again} makes it again" if isinstance(error, FileNotFoundError) else "Make it a readable file"
        raise StorageError(f"{path} cannot be read: {error.strerror}. {advice}.") from None
    except DamagedFileError as error:
        raise DamagedFileError(f"{path} is damaged: {error}. {again} makes it again.") from None
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error.strerror or error}. {again} makes it again.") from None


def parse_table(checked: bytes, path: Path, *, again: str) -> xr.Dataset:
    """The table in bytes that `read_checked` gave."""
    with of_hdf5(path, again=again):
        try:
            return _read(checked)
        except DamagedFileError as error:
            raise DamagedFileError(f"{path} is damaged: {error}. {again} makes it again.") from None


@contextlib.contextmanager
def of_hdf5(path: Path, *, again: str) -> Iterator[None]:
    """Raise DamagedFileError in place of errors of HDF5; arguments of `read_table`."""
    try:
        yield
    except (HeadcatsError, MemoryError, ImportError):
        raise
    except Exception as error:  # HDF5 has errors of many types for what somebody else made
        raise DamagedFileError(
            f"{path} is damaged: HDF5 cannot read it ({type(error).__name__}). {again} makes it again."
        ) from error


def _read(checked: bytes) -> xr.Dataset:
    check_untrusted(checked)
    # HDF5 does not look behind the end of what it wrote.
    with xr.open_dataset(
        io.BytesIO(checked), engine="h5netcdf", mask_and_scale=False, decode_times=False, concat_characters=False
    ) as stored:
        table = stored.load()
    table = table.drop_encoding()  # which would cut longer texts that are joined to those of the file
    texts = {name: of.astype(str) for name, of in table.variables.items() if of.dtype.kind == "O"}  # of earlier xarray
    coords = {name: texts.pop(name) for name in table.coords if name in texts}
    return table.assign(texts).assign_coords(coords) if texts or coords else table


@contextlib.contextmanager
def as_written(what: str, *, again: str) -> Iterator[None]:
    """Raise DamagedFileError, which calls them `what`, where stored tables do not fit, in place of other errors."""
    try:
        yield
    except HeadcatsError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        problem = textwrap.shorten(f"{type(error).__name__}: {error}", 120, placeholder=" …")
        raise DamagedFileError(
            f"{what} is not as this version of headcats writes it ({problem}). {again} makes it again."
        ) from error


class MixedTablesError(DamagedFileError):
    """Tables of two calls where those of one belong together."""


def set_bytes(tables: Mapping[str, xr.Dataset]) -> dict[str, bytes]:
    """Tables that belong together, by the names of their files, as contents of these; each carries the same mark."""
    mark = checksum(b"".join(map(table_bytes, tables.values())))
    return {name: table_bytes(table.assign_attrs({WRITTEN_WITH: mark})) for name, table in tables.items()}


def check_set(tables: Iterable[xr.Dataset]) -> None:
    """Refuse tables that were not written together: a MixedTablesError."""
    if len({table.attrs.get(WRITTEN_WITH) for table in tables}) > 1:
        raise MixedTablesError("its tables are of two calls, the second of which was stopped while it wrote them")


def read_whole(read: Callable[[], T], folder: Path) -> T:
    """Call `read`, again for two seconds at most while a writer is replacing the tables of a set."""
    for _ in range(_TRIES):
        written = (folder / WRITER).exists()
        try:
            return read()
        except MixedTablesError:
            if not written:
                break
            time.sleep(_PAUSE)
    return read()
