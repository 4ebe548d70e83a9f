"""A series of results: one folder for each revision of a model, in order, and the file that lists them."""

import glob
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xarray as xr

from headcats.errors import DamagedFileError, StorageError, StorageWarning
from headcats.results.checksum import json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load
from headcats.results.manifest import FORMAT, MANIFEST, read_object
from headcats.results.no_results import SERIES
from headcats.results.records import Record
from headcats.results.typed import MisfitError
from headcats.results.whole_file import check_links, check_path, write_whole


@dataclass(frozen=True)
class RevisionRecord(Record):
    """A revision of a series."""

    name: str = ""
    """Revision on the hub, or name of the folder that the model was loaded from."""
    folder: str = ""
    """Folder of its results, within that of the series."""
    source: str = ""
    """What the model was loaded from: a hub name, or a folder by its path from that of the series."""
    revision: str | None = None
    """Revision of a hub name."""
    step: int | None = None
    """Training step, where the name holds one."""
    weights_hash: str = ""


@dataclass(frozen=True)
class SeriesRecord(Record):
    """What a series says of itself."""

    ALWAYS = ("model", "revisions")

    model: str = ""
    """Name of the model whose revisions these are."""
    revisions: tuple[RevisionRecord, ...] = ()
    """In order."""

    def to_json(self, *, indent: int | None = None) -> str:
        """The text of the file, and of the attribute `series`."""
        return json.dumps({"format": FORMAT, **self.complete()}, indent=indent, ensure_ascii=False)

    def with_revisions(self, revisions: Sequence[RevisionRecord]) -> "SeriesRecord":
        """The same with these revisions too, or in place of those of their names.

        Ordered by training step where every revision has one of its own; else in the order of `revisions` if they are
        all, or with the new ones at the end.
        """
        given = {revision.name: revision for revision in revisions}
        known = {revision.name: revision for revision in self.revisions}
        merged = list((given if known.keys() <= given.keys() else known | given).values())
        steps = [revision.step for revision in merged]
        if None not in steps and len(set(steps)) == len(steps):
            merged.sort(key=lambda revision: revision.step or 0)
        return replace(self, revisions=tuple(merged))


class SeriesFolder:
    """Files of a series.

    Attributes:
        path: The folder; it is made at the first write.

    Raises:
        StorageError: No folder can have that path, or it may not be looked into.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_path(self.path)

    @property
    def file(self) -> Path:
        """The file that lists the revisions."""
        return self.path / SERIES

    def read(self) -> SeriesRecord:
        """What the series says of itself; without revisions where there is none yet.

        Raises:
            StorageError: The path is a file, the folder holds other things, the file is damaged, or a link leads out.
        """
        if self.file.is_file():
            series = _parsed(self.file)
            check_links(self.path, [SERIES, *(glob.escape(revision.folder) for revision in series.revisions)])
            return series
        manifest = ResultsFolder(self.path).read_manifest()
        if manifest is not None:
            raise StorageError(
                f"{self.path} holds the results of one model, {manifest.model.name}: for a series of revisions name a "
                "new folder, or that of a series."
            )
        return SeriesRecord()

    def write(self, series: SeriesRecord) -> None:
        """Replace the list of revisions."""
        write_whole(self.file, json_with_checksum(series.to_json(indent=1)))

    def remove_if_empty(self) -> None:
        """Remove the list where no revision of it has results; `held_for_writing` then removes the empty folder."""
        if not any(self.results(revision).manifest_path.is_file() for revision in self.read().revisions):
            self.file.unlink(missing_ok=True)

    def results(self, revision: RevisionRecord) -> ResultsFolder:
        """The results of a revision."""
        return ResultsFolder(self.path / revision.folder)


def is_series(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a series of revisions."""
    return SeriesFolder(path).file.is_file()


def first_results(path: str | os.PathLike[str]) -> ResultsFolder:
    """The results in a folder: those of the first revision of a series, which all have one suite, or its own."""
    folder = SeriesFolder(path)
    revisions = folder.read().revisions if is_series(path) else ()
    return folder.results(revisions[0]) if revisions else ResultsFolder(path)


def load_series(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of the revisions of a model, from the folder of the series.

    Args:
        path: The folder that `hc.run_series` or `headcats run --revisions` wrote.

    Returns:
        A tree with one node `/<revision>` per revision, in order, each what `hc.load` returns for its folder. The root
        carries `series` (JSON: `model`, and of every revision `name`, `folder`, `source`, `revision`, `step` and
        `weights_hash`); a revision that a stopped run has not come to is listed there and has no node.

    Raises:
        DamagedFileError: The list of the series is damaged.
        StorageError: No such folder, or no series in it.

    Warns:
        StorageWarning: A revision is left out whose manifest is damaged, or a block of one.

    Example:
        >>> import headcats as hc
        >>> series = hc.load_series("results/mini-checkpoints")
        >>> list(series)
        ['step63', 'step125', 'step250', 'step500', 'step1000', 'step2000', 'step4000', 'step8000']
        >>> scores = hc.score(series["step8000"], method="denoising_patch")
    """
    folder = SeriesFolder(path)
    if not folder.file.is_file():
        single = " It holds the results of one model: hc.load reads them." if (folder.path / MANIFEST).is_file() else ""
        raise StorageError(f"{folder.path} is not a series of revisions (it has no {SERIES}).{single}")
    record = folder.read()
    results = {}
    for revision in record.revisions:
        if folder.results(revision).manifest_path.is_file():
            try:
                results[revision.name] = load(folder.results(revision).path)
            except DamagedFileError as error:
                warnings.warn(f"Revision {revision.name} is left out: {error}", StorageWarning, stacklevel=2)
    series = xr.DataTree(xr.Dataset(attrs={"series": record.to_json()}), children=results)
    series.encoding["source"] = os.fspath(path)
    return series


def series_record(series: xr.DataTree) -> SeriesRecord:
    """What a series that was read says of itself."""
    return SeriesRecord.from_dict(json.loads(series.attrs["series"]))


def _parsed(path: Path) -> SeriesRecord:
    try:
        return _checked(SeriesRecord.from_dict(read_object(path)))
    except (DamagedFileError, MisfitError) as error:
        raise DamagedFileError(f"{path} is damaged: {error}. Repeat the run that made it.") from None
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from None


def _checked(record: SeriesRecord) -> SeriesRecord:
    for revision in record.revisions:
        if Path(revision.folder).name != revision.folder or revision.folder in ("", "..", "."):
            raise DamagedFileError(f"{revision.folder!r} is no folder within that of the series")
    return record
