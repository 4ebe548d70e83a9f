"""Refusal of tables that would harm whoever opens them; a results folder may come from anybody.

Refused is what is compressed, is taken from other files, or would grow in memory, before xarray makes room for it.
xarray reads without the conventions by which it changes values, so that nothing grows after that.
"""

import math

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o

from headcats.base.errors import DamagedFileError

NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable."
_INTERNAL = {b"REFERENCE_LIST", b"DIMENSION_LIST", b"_NCProperties"}
PADDED = 2**27
"""Bytes that the texts of any table may take, each as long as the longest of its variable."""
_SMALL, _MOST = 2**24, 4  # bytes that any table may take in memory, and times its file: texts take more than there
_REFERENCE = np.dtype([("length", "<u4"), ("place", "<u8"), ("number", "<u4")])  # to a text, in the file
_OF_TEXT = 48  # bytes that Python takes for any
_TEXTS = 10  # of an attribute
_MOST_PADDED = 8  # times a file, bytes of its texts, each as long as the longest
_MOST_ATTRIBUTES, _MOST_VARIABLES = 200, 1000  # HDF5 takes time for many


def check_untrusted(data: bytes) -> None:
    """Refuse the bytes of a netCDF file that name other files, hold more than variables, or grow in memory.

    A DamagedFileError says what is wrong. HDF5 raises errors of its own for what it cannot open.
    """
    root, room = h5g.open(h5f.open_file_image(data), b"/"), _Room(data)
    if (n := root.get_num_objs()) > _MOST_VARIABLES:
        raise DamagedFileError(f"it has {n:,} variables, more than {_MOST_VARIABLES:,}")
    names: list[bytes] = []
    root.links.iterate(names.append)
    _check_attributes(root, room)
    for name in names:
        _check_variable(root, name, room)


class _Room:
    """The bytes of a file, and how many those of its table may still take, as stored and of padded texts."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._left = {"stored": max(_SMALL, _MOST * len(data)), "padded": max(PADDED, _MOST_PADDED * len(data))}

    def take(self, n: int, name: bytes, *, of: str = "stored") -> None:
        """Make room for so many bytes; a DamagedFileError where there is none."""
        self._left[of] -= n
        if self._left[of] < 0:
            raise DamagedFileError(
                f"with {_shown(name)} its {len(self.data):,} bytes would be more than may come of them in memory"
            )


def _check_variable(root: h5g.GroupID, name: bytes, room: _Room) -> None:
    if root.links.get_info(name).type != h5l.TYPE_HARD:
        raise DamagedFileError(f"{_shown(name)} is a link")
    stored = h5o.open(root, name)
    if not isinstance(stored, h5d.DatasetID):
        raise DamagedFileError(f"{_shown(name)} is no variable")
    made = stored.get_create_plist()
    layout, size = made.get_layout(), math.prod(stored.shape) * stored.get_type().get_size()
    if layout == h5d.VIRTUAL or made.get_external_count():
        raise DamagedFileError(f"the values of {_shown(name)} are in another file")
    _check_attributes(stored, room)
    if made.get_nfilters():
        raise DamagedFileError(f"{_shown(name)} is compressed, as headcats writes nothing")
    if stored.get_storage_size() >= size and (layout != h5d.CHUNKED or not size):
        room.take(size, name)
    elif not _is_dimension(stored):
        raise DamagedFileError(f"the values of {_shown(name)} are not in it as headcats writes them")
    if (text := h5py.check_string_dtype(stored.dtype)) is not None and text.length is None:
        _check_texts(stored, room, name)
    elif stored.dtype.kind not in "iufSb":
        raise DamagedFileError(f"{_shown(name)} holds neither numbers nor texts")


def _is_dimension(stored: h5d.DatasetID) -> bool:
    """True if this stands for the size of a dimension, and has no values."""
    if not h5a.exists(stored, b"NAME") or (attribute := h5a.open(stored, b"NAME")).shape:
        return False
    value = np.empty((), dtype=attribute.dtype)
    attribute.read(value)
    return bytes(value[()]).startswith(NO_VARIABLE) if value.dtype.kind == "S" else False


def _check_texts(stored: h5d.DatasetID, room: _Room, name: bytes) -> None:
    """Take room for texts, of which many may be one and the same in the file."""
    if not (n := math.prod(stored.shape)):
        return
    if (offset := stored.get_offset()) is None or stored.get_storage_size() != n * _REFERENCE.itemsize:
        raise DamagedFileError(f"the values of {_shown(name)} are not in it as headcats writes them")
    lengths = np.frombuffer(room.data, _REFERENCE, n, offset)["length"]
    room.take(n * _OF_TEXT + int(lengths.sum(dtype=np.int64)), name)
    room.take(n * int(lengths.max()) * np.dtype("U1").itemsize, name, of="padded")


def _check_attributes(place: h5d.DatasetID | h5g.GroupID, room: _Room) -> None:
    """Take room for attributes: numbers are in the file, a text may be there once for many."""
    if (n := h5a.get_num_attrs(place)) > _MOST_ATTRIBUTES:
        raise DamagedFileError(f"it has {n:,} attributes in one place, more than {_MOST_ATTRIBUTES:,}")
    names: list[bytes] = []
    h5a.iterate(place, names.append)
    for name in names:
        attribute = h5a.open(place, name)
        if name == b"DIMENSION_LIST" and len(attribute.shape) > 0 and attribute.shape != (place.rank,):
            raise DamagedFileError("it names more dimensions than a variable has")
        if name in _INTERNAL or attribute.dtype.kind != "O":
            continue
        value = np.empty(attribute.shape, dtype=attribute.dtype)
        if value.size > _TEXTS:
            room.take(value.size * len(room.data), name)
        attribute.read(value)
        room.take(sum(len(text) for text in value.ravel() if text), b"an attribute")


def _shown(name: bytes) -> str:
    return f"{name.decode('utf-8', 'replace')!r:.80}"
