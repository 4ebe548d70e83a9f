"""Tables as netCDF: what is written comes back to the bit, and what would harm its reader is refused."""

import io
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DamagedFileError
from headcats.results.tables import parse_table, table_bytes
from headcats.results.untrusted import NO_VARIABLE

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
NAMES = st.sampled_from(["metric", "prompt", "layer", "é", "a b", "CLASS", "_x", "coordinates of"])
VALUES = {
    "float32": st.floats(width=32),
    "float64": st.floats(),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "int8": st.integers(-128, 127),
    "uint16": st.integers(0, 2**16 - 1),
    "bool": st.booleans(),
    "str": TEXT,
}
ATTRS = st.dictionaries(
    st.sampled_from(["method", "units", "note", "n"]),
    TEXT | st.integers(-(2**31), 2**31) | st.floats() | st.lists(TEXT, min_size=1, max_size=3),
)


@st.composite
def tables(draw: st.DrawFn) -> xr.Dataset:
    sizes = draw(st.dictionaries(NAMES, st.integers(0, 3), max_size=3))

    def variable(dims: tuple[str, ...]) -> tuple[tuple[str, ...], np.ndarray, dict[str, Any]]:
        kind, shape = draw(st.sampled_from(sorted(VALUES))), [sizes[dim] for dim in dims]
        n = int(np.prod(shape))
        values = draw(st.lists(VALUES[kind], min_size=n, max_size=n))
        return dims, np.array(values, dtype=kind).reshape(shape), draw(ATTRS)

    def along() -> tuple[str, ...]:
        return tuple(draw(st.permutations(sorted(sizes)))[: draw(st.integers(0, len(sizes)))])

    data = {f"v{place}": variable(along()) for place in range(draw(st.integers(0, 3)))}
    coords = {f"c{place}": variable(along()) for place in range(draw(st.integers(0, 2)))}
    indexes = {dim: variable((dim,)) for dim in sizes if draw(st.booleans())}
    return xr.Dataset(data, coords=coords | indexes, attrs=draw(ATTRS))


def by_xarray(data: bytes) -> xr.Dataset:
    """As anybody reads it."""
    return xr.load_dataset(io.BytesIO(data), engine="h5netcdf", decode_times=False).drop_encoding()


def parsed(data: bytes) -> xr.Dataset:
    return parse_table(data, Path("table.nc"), again="-")


def assert_alike(first: xr.Dataset, second: xr.Dataset) -> None:
    xr.testing.assert_identical(first, second)
    assert list(first.attrs) == list(second.attrs)
    assert list(first.data_vars) == list(second.data_vars)
    for name, values in first.variables.items():
        assert values.dtype == second.variables[name].dtype
        assert list(values.attrs) == list(second.variables[name].attrs)


@given(tables())
def test_what_is_written_comes_back_to_the_bit(table: xr.Dataset) -> None:
    data = table_bytes(table)
    read = parsed(data)
    assert_alike(read, by_xarray(data))
    assert list(read.variables) == list(table.variables)
    for name, values in table.variables.items():
        assert read.variables[name].values.tobytes() == values.values.tobytes()
    assert table_bytes(table) == data


def hostile(kind: str, folder: Path) -> bytes:
    """A table of two numbers and something that is elsewhere, or larger than the file lets one think."""
    image = io.BytesIO()
    with h5py.File(image, "w", track_order=True) as file:
        file.create_dataset("x", data=np.arange(2.0), track_order=True).make_scale("x")
        file["x"].attrs["_Netcdf4Dimid"] = np.int32(0)
        secret = folder / "secret"
        secret.write_bytes(b"secrets!" * 2)
        if kind == "storage elsewhere":
            file.create_dataset("v", (2,), "f8", external=[(str(secret), 0, 16)], track_order=True)
        elif kind == "virtual":
            layout = h5py.VirtualLayout((2,), "f8")
            layout[...] = h5py.VirtualSource(str(secret), "v", (2,))
            file.create_virtual_dataset("v", layout)
        elif kind == "link":
            file["v"] = h5py.SoftLink("/x")
        elif kind == "link elsewhere":
            file["v"] = h5py.ExternalLink(str(secret), "v")
        elif kind == "group":
            file.create_group("v")
        elif kind == "references":
            file.create_dataset("v", data=np.array([file["x"].ref] * 2, h5py.ref_dtype), track_order=True)
        elif kind == "other filter":
            file.create_dataset("v", data=np.zeros(2), compression="lzf", track_order=True)
        elif kind == "nothing stored":
            file.create_dataset("v", (10**6,), "f4", track_order=True)
        elif kind == "no dimension":
            stored = file.create_dataset("v", (10**6,), "f4", track_order=True)
            stored.attrs["NAME"] = np.bytes_(NO_VARIABLE[:-1])
        elif kind == "many attributes":
            for number in range(1000):
                file.attrs[f"a{number}"] = 1
        elif kind == "many variables":
            for number in range(1001):
                file.create_dataset(f"v{number}", (), "i1", track_order=True)
        elif kind == "compressed":
            file.create_dataset("v", data=np.zeros(3 * 10**6), compression="gzip", chunks=(10**5,), track_order=True)
        elif kind == "a million chunks":
            file.create_dataset("v", (10**6,), "i1", chunks=(1,), track_order=True)
        elif kind in ("one long text", "one text many times"):
            texts = ["x" * 10**5] + [""] * 2000
            first = file.create_dataset("v", data=texts, dtype=h5py.string_dtype(), track_order=True).id.get_offset()
            file.create_dataset("y", data=np.arange(2001.0), track_order=True).make_scale("y")
            file["y"].attrs["_Netcdf4Dimid"] = np.int32(1)
            file["v"].dims[0].attach_scale(file["y"])
            file["v"].attrs["_Netcdf4Dimid"] = np.int32(1)
        elif isinstance(file.get("v", getlink=True), h5py.HardLink):
            file["v"].attrs["_Netcdf4Dimid"] = np.int32(0)
    data = image.getvalue()
    if kind == "one text many times":
        data = data[:first] + data[first : first + 16] * 2001 + data[first + 16 * 2001 :]
    return data


ELSEWHERE = ["storage elsewhere", "virtual", "link", "link elsewhere", "group", "references", "other filter"]
GROWING = [
    "nothing stored", "no dimension", "many attributes", "many variables",
    "compressed", "a million chunks", "one long text", "one text many times",
]  # fmt: skip


@for_each("kind", [*ELSEWHERE, *GROWING])
def test_what_is_elsewhere_or_grows_is_refused_and_takes_no_memory(tmp_path: Path, kind: str) -> None:
    data = hostile(kind, tmp_path)
    tracemalloc.start()
    with pytest.raises(DamagedFileError, match=r"table\.nc is damaged: (?!HDF5)"):
        parsed(data)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@for_each("attr,value", [("scale_factor", 0.5), ("units", "days since 2000-01-01"), ("_FillValue", np.int8(1))])
def test_conventions_change_no_number_and_take_no_memory(attr: str, value: Any) -> None:
    image = io.BytesIO()
    with h5py.File(image, "w", track_order=True) as file:
        file.create_dataset("x", data=np.ones(10**6, "i1"), track_order=True).make_scale("x")
        file["x"].attrs["_Netcdf4Dimid"] = np.int32(0)
        file["x"].attrs[attr] = value
    assert parsed(image.getvalue())["x"].values.tolist() == [1] * 10**6


def test_what_fits_is_read() -> None:
    table = xr.Dataset({"v": ("x", np.zeros(10**6, np.float32))})
    assert parsed(table_bytes(table)).identical(table)
    long = xr.Dataset({"item": ("prompt", np.array(["x" * 6000, *map(str, range(999))]))})  # 24 MB as numpy pads it
    assert parsed(table_bytes(long)).identical(long)


def test_threads_write_at_once() -> None:
    table = xr.Dataset({"v": ("x", np.arange(9.0))})
    with ThreadPoolExecutor(4) as threads:
        written = list(threads.map(lambda _: table_bytes(table), range(40)))
    assert len(set(written)) == 1
    assert all(parsed(data).identical(table) for data in written)
