"""The results folder: a manifest and one netCDF file per method; one writes, any number read."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import xarray as xr

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.block_files import AGAIN, BLOCKS, BlockFiles
from headcats.results.descriptors import DESCRIPTORS_FILE
from headcats.results.file_format import checksum, json_content_of, json_with_checksum, read_file
from headcats.results.manifest import Manifest
from headcats.results.place import MANIFEST, address_of, no_results
from headcats.results.suite_text import SUITE_FILE
from headcats.results.tables import read_table, table_bytes
from headcats.results.whole_file import below_a_file, check_links, write_whole
from headcats.results.writer import held_for_writing

ATTENTION = "attention.json"
KEPT = ".kept"
"""Folder of tables that can be computed again; hidden, as it is no part of the results."""
_PARTS = (MANIFEST, SUITE_FILE, DESCRIPTORS_FILE, BLOCKS, ATTENTION, KEPT, "evidence*")


class ResultsFolder(BlockFiles):
    """Files of one study under one folder; a killed run leaves complete files only."""

    @property
    def manifest_path(self) -> Path:
        """File of the manifest."""
        return self.path / MANIFEST

    @contextmanager
    def writing(self, by: str) -> Iterator[None]:
        """Be the only writer of the folder within; readers are not held up.

        An OccupiedError names what else is writing it (`by`, such as "headcats run") and since when; a StorageError
        for a path that is a file or on the hub, or a folder that holds other things or cannot be written.
        """
        self.check_place()
        with held_for_writing(self.path, by=by):
            yield

    @contextmanager
    def adding(self, by: str) -> Iterator[None]:
        """`writing` to finished results; a StorageError where there are none."""
        if not self.manifest_path.is_file():
            raise StorageError(no_results(self.path))
        with held_for_writing(self.path, by=by):
            yield

    def check_place(self) -> None:
        """A StorageError for a file, a place on the hub, or a folder that holds other things or a link out of it."""
        if self.manifest_path.is_file() or self.holds_results:
            check_links(self.path, _PARTS)
            return
        if address := address_of(self.path):
            raise StorageError(f"{address} is on the hub: name a folder, and share it with `headcats push` afterwards.")
        if self.path.is_symlink() and not self.path.exists():
            raise StorageError(f"{self.path} is a link to a folder that is not there. Remove it, or name another.")
        if self.path.exists() and not self.path.is_dir():
            raise StorageError(f"{self.path} is a file; a results folder is a folder.")
        if problem := below_a_file(self.path):
            raise StorageError(problem)
        try:
            taken = self.path.is_dir() and any(not entry.name.startswith(".") for entry in self.path.iterdir())
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        if taken:
            raise StorageError(f"{self.path} is not empty and holds no {MANIFEST}; name a new or a results folder.")

    def read_manifest(self) -> Manifest | None:
        """The manifest, None where there is not a results folder yet; errors of `Manifest.read` and `check_place`."""
        self.check_place()
        if not self.manifest_path.is_file():
            return None
        return Manifest.read(self.manifest_path)

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest; a StorageError where the folder cannot be written."""
        write_whole(self.manifest_path, manifest.file_bytes())

    def copy_manifest(self) -> Path:
        """Copy a damaged manifest before a run replaces it; returns the copy, which is named after its content."""
        data = read_file(self.manifest_path)
        copy = self.manifest_path.with_name(f"{MANIFEST}.damaged-{checksum(data)[:8]}")
        write_whole(copy, data)
        return copy

    @property
    def holds_results(self) -> bool:
        """True if there are files of headcats beside the manifest, or without it."""
        return self.suite_path.is_file() or any(self.table_files())

    def whole_tables(self) -> Iterator[tuple[Path, xr.Dataset]]:
        """Blocks, parts and descriptors that are there and can be read, whatever the manifest says."""
        for path in sorted([*self.table_files(), self.descriptors_path]):
            with suppress(StorageError):
                yield path, read_table(path, again=AGAIN)

    @property
    def suite_path(self) -> Path:
        """File of the suite."""
        return self.path / SUITE_FILE

    def read_suite(self) -> str:
        """The suite as text (see `headcats.tasks.stored`), "" without one; a DamagedFileError if it cannot be read."""
        try:
            return json_content_of(read_file(self.suite_path)).decode("utf-8")
        except FileNotFoundError:
            return ""
        except DamagedFileError as error:
            raise DamagedFileError(f"{self.suite_path} is damaged: {error}. {AGAIN} writes it again.") from None
        except OSError as error:
            problem = error.strerror or error
            raise DamagedFileError(f"{self.suite_path} cannot be read: {problem}. {AGAIN} writes it again.") from None

    def write_suite(self, text: str) -> None:
        """Replace the suite."""
        write_whole(self.suite_path, json_with_checksum(text))

    @property
    def descriptors_path(self) -> Path:
        """File of what is known of the model's heads besides their effects."""
        return self.path / DESCRIPTORS_FILE

    def read_descriptors(self) -> xr.Dataset | None:
        """The descriptors of heads; None where there is no file, a DamagedFileError for one that is damaged."""
        return read_table(self.descriptors_path, again=AGAIN) if self.descriptors_path.exists() else None

    def write_descriptors(self, descriptors: xr.Dataset) -> None:
        """Replace the descriptors of heads."""
        write_whole(self.descriptors_path, table_bytes(descriptors))
