"""A series of results: one folder for each revision of a model, in order, and the file that lists them."""

import glob
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xarray as xr

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.file_format import FORMAT, json_with_checksum, read_object
from headcats.results.folder import ResultsFolder
from headcats.results.place import SERIES
from headcats.results.typed import MisfitError, Record
from headcats.results.whole_file import check_links, check_path, write_whole


@dataclass(frozen=True)
class RevisionRecord(Record):
    """A revision of a series."""

    name: str = ""  # revision on the hub, or name of the folder that the model was loaded from
    folder: str = ""  # folder of its results, within that of the series
    source: str = ""
    """Place the model was loaded from: a hub name, or a folder by its path from that of the series."""
    revision: str | None = None  # revision of a hub name
    step: int | None = None  # training step, where the name holds one
    weights_hash: str = ""


@dataclass(frozen=True)
class SeriesRecord(Record):
    """The revisions of a model, in order."""

    ALWAYS = ("model", "revisions")

    model: str = ""  # name of the model whose revisions these are
    revisions: tuple[RevisionRecord, ...] = ()  # revisions in order

    def to_json(self, *, indent: int | None = None) -> str:
        """The text of the file, and of the attribute `series`."""
        return json.dumps({"format": FORMAT, **self.complete()}, indent=indent, ensure_ascii=False)

    def with_revisions(self, revisions: Sequence[RevisionRecord]) -> "SeriesRecord":
        """Add revisions, or replace those of their names.

        By training step where all have one of their own; else in the order of `revisions` if they are all, or new ones
        last.
        """
        given = {revision.name: revision for revision in revisions}
        known = {revision.name: revision for revision in self.revisions}
        merged = list((given if known.keys() <= given.keys() else known | given).values())
        steps = [revision.step for revision in merged]
        if None not in steps and len(set(steps)) == len(steps):
            merged.sort(key=lambda revision: revision.step or 0)
        return replace(self, revisions=tuple(merged))


class SeriesFolder:
    """Files of a series in a folder, made at the first write; a StorageError for a path that no folder can have."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_path(self.path)

    @property
    def file(self) -> Path:
        """The file that lists the revisions."""
        return self.path / SERIES

    @property
    def first(self) -> ResultsFolder:
        """Results of the first revision, as all have one suite; of a folder that is no series, its own."""
        revisions = self.read().revisions if self.file.is_file() else ()
        return self.results(revisions[0]) if revisions else ResultsFolder(self.path)

    def read(self) -> SeriesRecord:
        """List of revisions; an empty one where there is none yet.

        A StorageError for a file, a folder of other things, a damaged list or a link that leads out.
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


def series_record(series: xr.DataTree) -> SeriesRecord:
    """The list of revisions in the attribute `series` of a tree."""
    return SeriesRecord.from_dict(json.loads(series.attrs["series"]))


def _parsed(path: Path) -> SeriesRecord:
    try:
        series = SeriesRecord.from_dict(read_object(path))
        for folder in (revision.folder for revision in series.revisions):
            if Path(folder).name != folder or folder in ("", "..", "."):
                raise DamagedFileError(f"{folder!r} is no folder within that of the series")
    except (DamagedFileError, MisfitError) as error:
        raise DamagedFileError(f"{path} is damaged: {error}. Repeat the run that made it.") from None
    return series
