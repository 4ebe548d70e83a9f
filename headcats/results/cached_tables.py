"""Tables that commands have computed from the blocks of a folder, kept beside them until what they come from changes.

They are a copy of what can be computed again: one that is damaged, stale or cannot be written is ignored.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
import xarray as xr

import headcats
from headcats.base.errors import StatisticsWarning, StorageError
from headcats.results.file_format import checksum
from headcats.results.folder import KEPT
from headcats.results.run_results import RunResults
from headcats.results.stored_run import StoredRun
from headcats.results.tables import WRITTEN_WITH, check_set, read_table, set_bytes
from headcats.results.whole_file import write_whole

_NOT_COMPUTING = ("cli", "demo", "figures", "models")
_OF_MODEL = "model-"
_SOURCE, _WARNED = "kept_of", "warned"

Tables = Mapping[str, xr.Dataset]


class TableCache:
    """Tables in the folder of a run, beside its blocks; of results in memory, on the hub, or with damaged files none.

    With `of_model`, other tables, which come from the model and not from the blocks: all that they depend on besides,
    such as versions. Those of blocks and those of models do not replace each other.
    """

    def __init__(self, run: RunResults, *, of_model: str | None = None) -> None:
        self._folder: Path | None = None
        self._state, self._kind = "", "" if of_model is None else _OF_MODEL
        if isinstance(run, StoredRun) and not run.stored_at.on_hub and not run.missing:
            self._folder = run.stored_at.folder / KEPT
            of_run = _state(run) if of_model is None else f"{run.manifest.model.identity} {of_model} {_CODE_OF_MODELS}"
            self._state = _checksum_of(of_run)

    def read(self, options: str, names: tuple[str, ...]) -> tuple[dict[str, xr.Dataset], list[str]] | None:
        """Tables and the warnings they came with; None where one is missing, damaged or of other blocks or options."""
        if self._folder is None:
            return None
        found = _read(self._paths(options, names), self._source(options))
        return found and ({table: _without_marks(content) for table, content in found[0].items()}, found[1])

    def write(self, options: str, tables: Tables, warned: Sequence[str] = ()) -> None:
        """Keep tables, if they can be stored; what is kept of other blocks, or by another version, is removed."""
        if self._folder is None:
            return
        marks = {_SOURCE: self._source(options), _WARNED: json.dumps(list(warned))}
        paths = self._paths(options, tuple(tables))
        # Results of others may be closed, and what cannot be stored is still computed.
        with suppress(StorageError, OSError, ValueError):
            for name, data in set_bytes({name: table.assign_attrs(marks) for name, table in tables.items()}).items():
                write_whole(paths[name], data)
            for path in self._folder.glob("*.nc"):
                of_kind = path.name.startswith(_OF_MODEL) == bool(self._kind)
                if of_kind and not path.name.startswith(f"{self._kind}{self._state[:12]}"):
                    path.unlink(missing_ok=True)

    def _source(self, options: str) -> str:
        return f"{self._state} {_checksum_of(options)}"

    def _paths(self, options: str, names: tuple[str, ...]) -> dict[str, Path]:
        assert self._folder is not None
        stem = f"{self._kind}{self._state[:12]}-{_checksum_of(options)[:12]}"
        return {name: self._folder / f"{stem}-{name}.nc" for name in names}


def cached_tables(
    run: RunResults, options: str, names: tuple[str, ...], compute: Callable[[], Tables]
) -> dict[str, xr.Dataset]:
    """Read from the cache in the folder of the run, or compute: what it holds is of the same blocks.

    `options` is all else that the tables depend on, `names` are those that `compute` gives, in order. Its warnings of
    the statistics are given again; its errors are passed on, and nothing is kept then.
    """
    cache = TableCache(run)
    if (found := cache.read(options, names)) is not None:
        tables, warned = found
        for message in warned:
            warnings.warn(message, StatisticsWarning, stacklevel=3)
        return tables
    given: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            computed = compute()
    finally:
        for warning in given:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    of_statistics = [str(warning.message) for warning in given if issubclass(warning.category, StatisticsWarning)]
    tables = {table: computed[table] for table in names}
    cache.write(options, tables, of_statistics)
    return tables


def _checksum_of(options: str) -> str:
    return checksum(options.encode("utf-8", "replace"))


def _state(run: StoredRun) -> str:
    """Text of what all tables come from: blocks, categories, and the code that computes."""
    entries = [run.attrs["manifest"], run.attrs["categories"], *map(str, run.blocks.checksums.items()), _CODE]
    return "\n".join(entries)


def _code_here(skipped: Collection[str]) -> str:
    home, digest = Path(headcats.__file__).parent, hashlib.blake2b()
    digest.update(" ".join(package.__version__ for package in (np, pd, scipy, xr)).encode("ascii"))
    for path in sorted((*home.rglob("*.py"), *home.rglob("*.toml"))):
        if path.relative_to(home).parts[0] not in skipped:
            digest.update(path.read_bytes())
    return digest.hexdigest()


# When the process begins, for the files may be replaced while it works.
_CODE, _CODE_OF_MODELS = _code_here(_NOT_COMPUTING), _code_here(("cli", "demo", "figures", "reports"))


def _read(paths: Mapping[str, Path], source: str) -> tuple[dict[str, xr.Dataset], list[str]] | None:
    """The tables and the warnings of the statistics; None where a table is missing, damaged or of something else."""
    if not all(os.path.isfile(path) for path in paths.values()):  # False where nobody may look
        return None
    try:
        tables = {table: read_table(path, again="The same command") for table, path in paths.items()}
        check_set(tables.values())
        warned = json.loads(next(iter(tables.values())).attrs[_WARNED])
    except (StorageError, LookupError, TypeError, ValueError, RecursionError):
        return None
    fits = isinstance(warned, list) and all(isinstance(message, str) for message in warned)
    return (tables, warned) if fits and all(table.attrs.get(_SOURCE) == source for table in tables.values()) else None


def _without_marks(table: xr.Dataset) -> xr.Dataset:
    # netCDF gives numbers of attributes as numpy's.
    attrs = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in table.attrs.items()
        if name not in (_SOURCE, _WARNED, WRITTEN_WITH)
    }
    return table.drop_attrs(deep=False).assign_attrs(attrs)
