"""Tables that commands have computed from the blocks of a folder, kept beside them until what they come from changes.

They are a copy of what can be computed again: one that is damaged, stale or cannot be written is done without.
"""

import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import xarray as xr

import headcats
from headcats.errors import StatisticsWarning, StorageError
from headcats.results.checksum import checksum
from headcats.results.run_results import RunResults
from headcats.results.stored_run import StoredRun
from headcats.results.tables import WRITTEN_WITH, check_set, read_table, set_bytes
from headcats.results.whole_file import write_whole

KEPT = ".kept"
"""Folder of the tables within a results folder; hidden, as it is no part of the results."""
_COMPUTING = ("categories", "evidence/comparison", "rules", "scores", "statistics")
_SOURCE, _WARNED = "kept_of", "warned"

Tables = Mapping[str, xr.Dataset]


def kept(run: RunResults, options: str, names: tuple[str, ...], compute: Callable[[], Tables]) -> dict[str, xr.Dataset]:
    """What `compute` gives, from the folder of the run if it has been computed from the same blocks before.

    Warnings of the statistics that `compute` gave are given again. Of results in memory, on the hub, or with damaged
    files nothing is kept.

    Args:
        run: The blocks.
        options: All else that the tables depend on, as text.
        names: Of the tables that `compute` gives, in order.
        compute: Computes them.
    """
    # Version 0.1 wrote no checksums.
    if not isinstance(run, StoredRun) or run.stored_at.on_hub or run.missing or not all(run.blocks.checksums.values()):
        return dict(compute())
    folder, name = run.stored_at.folder / KEPT, checksum(options.encode("utf-8"))[:16]
    paths = {table: folder / f"{name}-{table}.nc" for table in names}
    source = _source(run, options)
    if (found := _read(paths, source)) is not None:
        for message in json.loads(found[names[0]].attrs[_WARNED]):
            warnings.warn(message, StatisticsWarning, stacklevel=3)
        return {table: _without_marks(content) for table, content in found.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        computed = compute()
    of_statistics = [str(one.message) for one in caught if issubclass(one.category, StatisticsWarning)]
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    marks = {_SOURCE: source, _WARNED: json.dumps(of_statistics)}
    with suppress(StorageError):  # results of others may be closed
        for table, data in set_bytes({table: computed[table].assign_attrs(marks) for table in names}).items():
            write_whole(paths[table], data)
    return {table: computed[table] for table in names}


def _source(run: StoredRun, options: str) -> str:
    """What the tables come from: blocks, categories, and the code that computes."""
    entries = [
        run.attrs["manifest"],
        run.attrs["categories"],
        *map(str, run.blocks.checksums.items()),
        options,
        _code(),
    ]
    return checksum("\n".join(entries).encode("utf-8"))


@functools.cache
def _code() -> str:
    home, digest = Path(headcats.__file__).parent, hashlib.blake2b(np.__version__.encode("ascii"))
    for package in _COMPUTING:
        for path in sorted((home / package).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(paths: Mapping[str, Path], source: str) -> dict[str, xr.Dataset] | None:
    if not all(path.is_file() for path in paths.values()):
        return None
    try:
        found = {table: read_table(path, again="The same command") for table, path in paths.items()}
        check_set(found.values())
    except StorageError:
        return None
    return found if all(table.attrs.get(_SOURCE) == source for table in found.values()) else None


def _without_marks(table: xr.Dataset) -> xr.Dataset:
    # netCDF gives numbers of attributes as numpy's.
    attrs = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in table.attrs.items()
        if name not in (_SOURCE, _WARNED, WRITTEN_WITH)
    }
    return table.drop_attrs(deep=False).assign_attrs(attrs)
