"""Read what xarray has written as netCDF straight from HDF5, in a sixth of the time that `xr.open_dataset` takes.

A results folder holds hundreds of small files, and xarray looks up every dimension of every variable in each. Files of
other kinds are read by xarray.
"""

import io
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np
import xarray as xr
from h5py import h5, h5a, h5d, h5f, h5g, h5p, h5s

NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"
_OF_NETCDF = {"CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates", "coordinates"}
_NOT_READ = {b"REFERENCE_LIST", b"DIMENSION_LIST", b"_NCProperties"}
NOT_PLAIN = {"scale_factor", "add_offset", "missing_value", "calendar", "_Unsigned", "flag_values"}
"""Attributes of the climate and forecast conventions, by which xarray would change the values."""
_TIMES = ("day", "hour", "minute", "second", "since")


def is_time(units: str) -> bool:
    """Whether xarray would read values of these units as times."""
    return any(unit in units for unit in _TIMES)


class _UnknownError(Exception):
    """The file is not of the kind that is read here."""


def read_netcdf(data: bytes) -> xr.Dataset:
    """The table in the bytes of a netCDF file, as `xr.load_dataset` gives it, without encodings."""
    try:
        return _table(h5g.open(h5f.open_file_image(data), b"/"))
    except _UnknownError:
        with xr.open_dataset(io.BytesIO(data), engine="h5netcdf") as stored:
            # Without the encoding, by which xarray would cut longer texts that are joined to those of the file.
            return stored.load().drop_encoding()


def _table(root: h5g.GroupID) -> xr.Dataset:
    names: list[bytes] = []
    if not root.get_create_plist().get_link_creation_order() & h5p.CRT_ORDER_INDEXED:
        raise _UnknownError
    root.links.iterate(names.append, idx_type=h5.INDEX_CRT_ORDER)
    stored = {name.decode("utf-8"): h5d.open(root, name) for name in names}
    attrs_of = {name: _attributes(variable) for name, variable in stored.items()}
    dims = {int(attrs["_Netcdf4Dimid"]): name for name, attrs in attrs_of.items() if "CLASS" in attrs}
    variables = {
        name: _variable(stored[name], attrs, dims)
        for name, attrs in attrs_of.items()
        if not str(attrs.get("NAME", "")).startswith(NO_VARIABLE)
    }
    of_table = _attributes(root)
    listed = " ".join(attrs.get("coordinates", "") for attrs in (of_table, *attrs_of.values())).split()
    coords = {*listed, *(name for name, variable in variables.items() if variable.dims == (name,))}
    return xr.Dataset(
        {name: variable for name, variable in variables.items() if name not in coords},
        coords={name: variable for name, variable in variables.items() if name in coords},
        attrs={name: value for name, value in of_table.items() if name != "coordinates"},
    )


def _variable(stored: h5d.DatasetID, attrs: Mapping[str, Any], dims: Mapping[int, str]) -> xr.Variable:
    places = attrs.get("_Netcdf4Coordinates", attrs.get("_Netcdf4Dimid") if len(stored.shape) == 1 else [])
    names = tuple(dims[int(place)] for place in np.atleast_1d(places))
    plain = {name: value for name, value in attrs.items() if name not in _OF_NETCDF}
    is_foreign = not stored.dtype.isnative and stored.dtype.kind != "O"
    if is_foreign or len(names) != len(stored.shape) or NOT_PLAIN & plain.keys() or is_time(str(plain.get("units"))):
        raise _UnknownError
    values = np.empty(stored.shape, dtype=stored.dtype)
    stored.read(h5s.ALL, h5s.ALL, values)
    if values.dtype.kind == "O":
        if h5py.check_string_dtype(stored.dtype) is None:
            raise _UnknownError
        values = np.array(list(map(_text, values.ravel())), dtype=str).reshape(values.shape)
    fill, kind = plain.pop("_FillValue", None), plain.pop("dtype", None)
    if kind == "bool":
        values = values.astype(bool)
    elif values.dtype.kind not in "iufU" or (fill is not None and not np.isnan(fill)):
        raise _UnknownError
    return xr.Variable(names, values, plain)


def _attributes(place: h5d.DatasetID | h5g.GroupID) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    if not place.get_create_plist().get_attr_creation_order() & h5p.CRT_ORDER_TRACKED:
        raise _UnknownError
    for number in range(h5a.get_num_attrs(place)):
        attribute = h5a.open(place, index=number, index_type=h5.INDEX_CRT_ORDER)
        if attribute.name in _NOT_READ:
            continue
        if len(attribute.shape) > 1:
            raise _UnknownError
        value = np.empty(attribute.shape, dtype=attribute.dtype)
        attribute.read(value)
        values = list(map(_text, value.ravel())) if value.dtype.kind in "OS" else value.ravel()
        attrs[attribute.name.decode("utf-8")] = values[0] if len(values) == 1 else values
    return attrs


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
