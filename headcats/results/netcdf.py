"""Read what xarray has written as netCDF straight from HDF5, in a sixth of the time that `xr.open_dataset` takes.

A results folder holds hundreds of small files, and xarray looks up every dimension of every variable in each. Files of
other kinds are read by xarray.

A file may come from anybody: what it would take from other files is refused, and so is what would grow beyond
`largest_table`, before there is room made for it.
"""

import io
import math
import zlib
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np
import xarray as xr
from h5py import h5, h5a, h5d, h5f, h5g, h5l, h5o, h5p, h5s, h5z

from headcats.base.errors import DamagedFileError

NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
_OF_NETCDF = {"CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates", "coordinates"}
_NOT_READ = {b"REFERENCE_LIST", b"DIMENSION_LIST", b"_NCProperties"}
NOT_PLAIN = {"scale_factor", "add_offset", "missing_value", "calendar", "_Unsigned", "flag_values"}
"""Attributes of the climate and forecast conventions, by which xarray would change the values."""
_TIMES = ("day", "hour", "minute", "second", "since")
_SMALL, _MOST_PACKED = 2**24, 400  # bytes of any table; times that compression may save of a larger one
_FILTERS = ((h5z.FILTER_DEFLATE,), (h5z.FILTER_SHUFFLE, h5z.FILTER_DEFLATE))
_AS_DOUBLE = 8  # bytes of each of a compressed block, which is restored in double precision
_DECODED = 16  # bytes of a value that xarray changes, at most
_OF_CHUNK = 1024  # bytes that HDF5 takes to find a chunk, at least
_DEFLATED = 1032  # times that it makes of anything, at most
_REFERENCE = np.dtype([("length", "<u4"), ("place", "<u8"), ("number", "<u4")])  # to a text, in the file
_OF_TEXT = 48  # bytes that Python takes for any
_TEXTS = 10  # of an attribute
_PADDED, _MOST_PADDED = 2**27, 8  # bytes of texts, each as long as the longest: of any table, and times the file
_MOST_ATTRIBUTES, _MOST_VARIABLES = 200, 1000  # HDF5 takes time for many


def is_time(units: str) -> bool:
    """True if xarray would read values of these units as times."""
    return any(unit in units for unit in _TIMES)


class _UnknownError(Exception):
    """The file is not of the kind that is read here."""


def largest_table(stored: int, most: float = 0) -> float:
    """Bytes that a table may take in memory, of a file of `stored` bytes.

    Four times the file, for numbers are stored as they are and texts take more; `most`, that which fits the numbers of
    the manifest, of what is compressed; 16 MB in any case.
    """
    return max(_SMALL, 4 * stored, min(most, _MOST_PACKED * stored))


class _Room:
    """The bytes of a file, and how many those of its table may still take: as stored, unpacked, and of padded texts."""

    def __init__(self, data: bytes, most: float) -> None:
        self.data = data
        self._left = {
            "stored": largest_table(len(data)),
            "packed": largest_table(len(data), most),
            "padded": max(_PADDED, _MOST_PADDED * len(data)),
        }

    def take(self, n: int, name: bytes, *, of: str = "stored") -> None:
        """Make room for so many bytes; a DamagedFileError where there is none."""
        self._left[of] -= n
        if self._left[of] < 0:
            raise DamagedFileError(
                f"with {_shown(name)} its {len(self.data):,} bytes would be more than may come of them in memory"
            )


def read_netcdf(data: bytes, *, most: float = 0) -> xr.Dataset:
    """The table in the bytes of a netCDF file, as `xr.load_dataset` gives it, without encodings.

    Args:
        data: The bytes.
        most: See `largest_table`.

    Raises:
        DamagedFileError: It refers to another file, holds more than variables, or would take too much memory.
    """
    root = h5g.open(h5f.open_file_image(data), b"/")
    try:
        return _table(root, _Room(data, most))
    except _UnknownError:
        _check_whole(root, _Room(data, most))
        with xr.open_dataset(io.BytesIO(data), engine="h5netcdf") as stored:
            # Without the encoding, by which xarray would cut longer texts that are joined to those of the file.
            return stored.load().drop_encoding()


def _check_whole(root: h5g.GroupID, room: _Room) -> None:
    """Refuse what xarray would read too much of, or from elsewhere."""
    stored = {name: _opened(root, name, room)[0] for name in _names(root, links=True)}
    for name, variable in stored.items():
        if (text := h5py.check_string_dtype(variable.dtype)) is not None and text.length is None:
            _texts(variable, room, name)
        elif variable.dtype.kind not in "iufSb":
            raise DamagedFileError(f"{_shown(name)} holds neither numbers nor texts")
    for place in (root, *stored.values()):
        for name in _names(place):
            attribute = h5a.open(place, name)
            if name == b"DIMENSION_LIST" and len(attribute.shape) > 0 and attribute.shape != (place.rank,):
                raise DamagedFileError("it names more dimensions than a variable has")
            if name in _NOT_READ:
                continue
            value = str(_value(attribute, room))
            if place is not root and (
                (name == b"units" and is_time(value))
                or (name == b"_FillValue" and place.dtype.kind != "f")
                or name.decode("utf-8", "replace") in NOT_PLAIN
            ):
                room.take(math.prod(place.shape) * _DECODED, name)


def _names(place: h5d.DatasetID | h5g.GroupID, *, links: bool = False, index: int = h5.INDEX_NAME) -> list[bytes]:
    """Names of the attributes of a place, or of its links."""
    names: list[bytes] = []
    n, most = (place.get_num_objs(), _MOST_VARIABLES) if links else (h5a.get_num_attrs(place), _MOST_ATTRIBUTES)
    if n > most:
        raise DamagedFileError(
            f"it has {n:,} {'variables' if links else 'attributes in one place'}, more than {most:,}"
        )
    if links:
        place.links.iterate(names.append, idx_type=index)
    else:
        h5a.iterate(place, names.append, index_type=index)
    return names


def _opened(root: h5g.GroupID, name: bytes, room: _Room) -> tuple[h5d.DatasetID, h5p.PropDCID]:
    """The variable of this name, whose values are in the file and have room, and how it was made."""
    if root.links.get_info(name).type != h5l.TYPE_HARD:
        raise DamagedFileError(f"{_shown(name)} is a link")
    stored = h5o.open(root, name)
    if not isinstance(stored, h5d.DatasetID):
        raise DamagedFileError(f"{_shown(name)} is no variable")
    made = stored.get_create_plist()
    layout = made.get_layout()
    if layout == h5d.VIRTUAL or made.get_external_count():
        raise DamagedFileError(f"the values of {_shown(name)} are in another file")
    size = math.prod(stored.shape) * stored.get_type().get_size()
    if made.get_nfilters():
        _check_packed(stored, made, room, name)
    elif stored.get_storage_size() >= size and (layout != h5d.CHUNKED or not size):
        room.take(size, name)
    elif not _is_dimension(stored, room):
        raise DamagedFileError(f"the values of {_shown(name)} are not in it as headcats writes them")
    return stored, made


def _is_dimension(stored: h5d.DatasetID, room: _Room) -> bool:
    """True if this stands for the size of a dimension, and has no values."""
    if not h5a.exists(stored, b"NAME") or (attribute := h5a.open(stored, b"NAME")).shape:
        return False
    return NO_VARIABLE in _text(_value(attribute, room)[()])


def _check_packed(stored: h5d.DatasetID, made: h5p.PropDCID, room: _Room, name: bytes) -> None:
    """Take room for a compressed variable; refuse one that is packed of more than its size."""
    n_filters, chunk, item = made.get_nfilters(), made.get_chunk(), stored.get_type().get_size()
    filters = tuple(made.get_filter(place)[0] for place in range(n_filters))
    if filters not in _FILTERS or stored.dtype.kind == "O":
        raise DamagedFileError(f"{_shown(name)} is packed as headcats packs nothing")
    n_chunks = math.prod(math.ceil(size / part) for size, part in zip(stored.shape, chunk, strict=True))
    n = max(math.prod(stored.shape), math.prod(chunk))
    room.take(n * max(item, _AS_DOUBLE) + n_chunks * _OF_CHUNK, name, of="packed")
    large: list[tuple[int, ...]] = []
    stored.chunk_iter(lambda each: large.append(each.chunk_offset) if each.size * _DEFLATED > _SMALL else None)
    for offset in large:
        skipped, packed = stored.read_direct_chunk(offset)
        whole = math.prod(chunk) * item
        if not skipped >> (n_filters - 1) and len(zlib.decompressobj().decompress(packed, whole + 1)) > whole:
            raise DamagedFileError(f"a part of {_shown(name)} is larger than it says")


def _shown(name: bytes) -> str:
    return f"{name.decode('utf-8', 'replace')!r:.80}"


def _texts(stored: h5d.DatasetID, room: _Room, name: bytes) -> list[str]:
    """The texts of a variable in order, which have room: many may be one and the same in the file."""
    n, values = math.prod(stored.shape), np.empty(stored.shape, dtype=stored.dtype)
    if is_large := n * len(room.data) > _SMALL:
        lengths = np.frombuffer(room.data, _REFERENCE, n, stored.get_offset())["length"]
        room.take(n * _OF_TEXT + int(lengths.sum(dtype=np.int64)), name)
    if n:
        stored.read(h5s.ALL, h5s.ALL, values)
    texts = list(map(_text, values.ravel()))
    if not is_large:
        room.take(n * _OF_TEXT + sum(map(len, texts)), name)
    return texts


def _table(root: h5g.GroupID, room: _Room) -> xr.Dataset:
    of_root = root.get_create_plist()
    if not of_root.get_link_creation_order() & h5p.CRT_ORDER_INDEXED:
        raise _UnknownError
    names = _names(root, links=True, index=h5.INDEX_CRT_ORDER)
    stored = {name.decode("utf-8"): _opened(root, name, room) for name in names}
    attrs_of = {name: _attributes(variable, made, room) for name, (variable, made) in stored.items()}
    dims = {int(attrs["_Netcdf4Dimid"]): name for name, attrs in attrs_of.items() if "CLASS" in attrs}
    variables = {
        name: _variable(name, stored[name][0], attrs, dims, room)
        for name, attrs in attrs_of.items()
        if NO_VARIABLE not in str(attrs.get("NAME", ""))
    }
    of_table = _attributes(root, of_root, room)
    listed = " ".join(attrs.get("coordinates", "") for attrs in (of_table, *attrs_of.values())).split()
    coords = {*listed, *(name for name, variable in variables.items() if variable.dims == (name,))}
    return xr.Dataset(
        {name: variable for name, variable in variables.items() if name not in coords},
        coords={name: variable for name, variable in variables.items() if name in coords},
        attrs={name: value for name, value in of_table.items() if name != "coordinates"},
    )


def _variable(
    name: str, stored: h5d.DatasetID, attrs: Mapping[str, Any], dims: Mapping[int, str], room: _Room
) -> xr.Variable:
    places = attrs.get("_Netcdf4Coordinates", attrs.get("_Netcdf4Dimid") if len(stored.shape) == 1 else [])
    names = tuple(dims[int(place)] for place in np.atleast_1d(places))
    plain = {name: value for name, value in attrs.items() if name not in _OF_NETCDF}
    is_foreign = not stored.dtype.isnative and stored.dtype.kind != "O"
    if is_foreign or len(names) != len(stored.shape) or NOT_PLAIN & plain.keys() or is_time(str(plain.get("units"))):
        raise _UnknownError
    if stored.dtype.kind == "O":
        if h5py.check_string_dtype(stored.dtype) is None:
            raise _UnknownError
        texts = _texts(stored, room, name.encode())
        padded = len(texts) * max(map(len, texts), default=0) * np.dtype("U1").itemsize
        room.take(padded, name.encode(), of="padded")
        values = np.array(texts, dtype=str).reshape(stored.shape)
    else:
        values = np.empty(stored.shape, dtype=stored.dtype)
        stored.read(h5s.ALL, h5s.ALL, values)
    fill, kind = plain.pop("_FillValue", None), plain.pop("dtype", None)
    if kind == "bool":
        values = values.astype(bool)
    elif values.dtype.kind not in "iufU" or (fill is not None and not np.isnan(fill)):
        raise _UnknownError
    return xr.Variable(names, values, plain)


def _attributes(place: h5d.DatasetID | h5g.GroupID, made: h5p.PropOCID, room: _Room) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    if not made.get_attr_creation_order() & h5p.CRT_ORDER_TRACKED:
        raise _UnknownError
    for name in _names(place, index=h5.INDEX_CRT_ORDER):
        if name in _NOT_READ:
            continue
        value = _value(h5a.open(place, name), room)
        if value.ndim > 1:
            raise _UnknownError
        values = list(map(_text, value.ravel())) if value.dtype.kind in "OS" else value.ravel()
        attrs[name.decode("utf-8")] = values[0] if len(values) == 1 else values
    return attrs


def _value(attribute: h5a.AttrID, room: _Room) -> np.ndarray:
    """The value of an attribute: numbers are in the file, a text may be there once for many."""
    value = np.empty(attribute.shape, dtype=attribute.dtype)
    is_text = value.dtype.kind == "O"
    if is_text and value.size > _TEXTS:
        room.take(value.size * len(room.data), attribute.name)
    attribute.read(value)
    if is_text:
        room.take(sum(map(len, filter(None, value.ravel()))), b"an attribute")
    return value


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
