"""Write tables as netCDF straight into HDF5, in a fraction of the time that xarray takes.

A run writes hundreds of small files, and h5netcdf goes through every dimension again for every variable. The files hold
the same; tables of other kinds are written by xarray.
"""

import itertools
from collections.abc import Hashable, Mapping
from typing import Any

import h5py
import numpy as np
import xarray as xr
from h5py import h5ds

from headcats.results.netcdf import NO_VARIABLE, NOT_PLAIN, is_time

_TEXT = h5py.string_dtype()
# HDF5 takes two files in memory of the same name for one, also those of two threads.
_numbers = itertools.count()


def netcdf_bytes(table: xr.Dataset) -> bytes:
    """The table as the content of a netCDF file, as `table.to_netcdf(engine="h5netcdf")` gives it."""
    if not _is_plain(table):
        return bytes(table.to_netcdf(engine="h5netcdf"))
    name = f"table {next(_numbers)}"
    with h5py.File(name, "w", driver="core", backing_store=False, track_order=True) as file:
        of_table, of_variables = _coordinates(table)
        _put_attributes(file, table.attrs | of_table)
        file.attrs["_NCProperties"] = np.bytes_(f"version=2,hdf5={h5py.version.hdf5_version},h5py={h5py.__version__}")
        stored = {
            dim: file.create_dataset(dim, (size,), ">f4", track_order=True)
            for dim, size in table.sizes.items()
            if dim not in table.variables
        }
        names = {dim: f"{NO_VARIABLE}{table.sizes[dim]:10d}" for dim in stored}
        stored |= {
            name: _put_variable(file, str(name), values, of_variables[name]) for name, values in table.variables.items()
        }
        ids = {dim: np.int32(place) for place, dim in enumerate(table.sizes)}
        for dim, place in ids.items():
            h5ds.set_scale(stored[dim].id, names.get(dim, str(dim)).encode("utf-8"))
            stored[dim].attrs["_Netcdf4Dimid"] = place
        for variable, values in table.variables.items():
            if variable not in ids and values.dims:
                for axis, dim in enumerate(values.dims):
                    h5ds.attach_scale(stored[variable].id, stored[dim].id, axis)
                stored[variable].attrs["_Netcdf4Coordinates"] = np.array([ids[dim] for dim in values.dims])
                stored[variable].attrs["_Netcdf4Dimid"] = ids[values.dims[0]]
        file.flush()
        return bytes(file.id.get_file_image())


def _is_plain(table: xr.Dataset) -> bool:
    """True if every variable and attribute is of a kind that is written here."""
    variables = table.variables.items()
    return (
        all(_is_plain_name(name) for name in (*table.variables, *table.dims))
        and all(values.dtype.kind in "biufU" for _, values in variables)
        and all(values.dtype != np.float16 and values.dtype != np.longdouble for _, values in variables)
        and all(values.dims == (name,) for name, values in variables if name in table.sizes)
        and not any(values.encoding for _, values in variables)
        and not any(isinstance(index, xr.indexes.PandasMultiIndex) for index in table.xindexes.values())
        and all(_has_plain_attributes(attrs) for attrs in (table.attrs, *(values.attrs for _, values in variables)))
    )


def _is_plain_name(name: Hashable) -> bool:
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _has_plain_attributes(attrs: Mapping[Any, Any]) -> bool:
    return not NOT_PLAIN & attrs.keys() and all(
        _is_plain_name(name) and _is_plain_value(value) and not (name == "units" and is_time(str(value)))
        for name, value in attrs.items()
    )


def _is_plain_value(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(text, str) and "\0" not in text for text in value)
    return type(value) in (int, float) or (
        isinstance(value, np.number | np.ndarray) and np.asarray(value).dtype.kind in "iuf"
    )


def _coordinates(table: xr.Dataset) -> tuple[dict[str, str], dict[Hashable, dict[str, str]]]:
    """The attribute `coordinates` of the table and of each variable, by the conventions of netCDF."""
    coords = {str(name): set(table.variables[name].dims) for name in table.coords if name not in table.dims}
    of_variables: dict[Hashable, dict[str, str]] = {}
    of_none = set(coords)
    for name, values in table.variables.items():
        fitting = {coord for coord, dims in coords.items() if dims <= set(values.dims) and name not in table.coords}
        of_none -= fitting
        of_variables[name] = {"coordinates": " ".join(sorted(fitting))} if fitting else {}
    return ({"coordinates": " ".join(sorted(of_none))} if of_none else {}), of_variables


def _put_variable(file: h5py.File, name: str, values: xr.Variable, coordinates: dict[str, str]) -> h5py.Dataset:
    data, attrs = np.asarray(values.values), dict(values.attrs)
    if data.dtype.kind == "U":
        stored = file.create_dataset(name, data=data.astype(object), dtype=_TEXT, track_order=True)
    elif data.dtype.kind == "b":
        stored, attrs = (
            file.create_dataset(name, data=data.astype(np.int8), track_order=True),
            attrs | {"dtype": "bool"},
        )
    elif data.dtype.kind == "f":
        stored = file.create_dataset(name, data=data, fillvalue=data.dtype.type(np.nan), track_order=True)
        attrs = {"_FillValue": np.array([np.nan], data.dtype)} | attrs
    else:
        stored = file.create_dataset(name, data=data, track_order=True)
    _put_attributes(stored, attrs | coordinates)
    return stored


def _put_attributes(place: h5py.File | h5py.Dataset, attrs: Mapping[Any, Any]) -> None:
    for name, value in attrs.items():
        if isinstance(value, str):
            place.attrs.create(name, value, dtype=_TEXT)
        elif isinstance(value, list | tuple):
            place.attrs.create(name, np.array(value, dtype=object), dtype=_TEXT)
        else:
            place.attrs.create(name, np.atleast_1d(value))
