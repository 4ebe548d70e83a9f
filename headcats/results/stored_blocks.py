"""Blocks of a results folder: all are checked when it is opened, and each is parsed when it is looked up."""

import os
from collections.abc import Iterator, Mapping

import xarray as xr

from headcats.errors import DamagedFileError, StorageError
from headcats.results.checksum import stated_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import MANIFEST, SUITE, Manifest
from headcats.results.origin import other_origin

Key = tuple[str, str]


class StoredBlocks(Mapping[Key, xr.Dataset]):
    """(task, method@positions) -> block, of those that a manifest records and any that a stopped run has left.

    A file whose checksum fits both its content and the manifest is what the run wrote; others are parsed and compared
    with the manifest at once.

    Args:
        folder: Where the blocks are.
        manifest: Of that folder.

    Attributes:
        checksums: Key -> checksum of its file.
        problems: File -> what is wrong with it, of every one that is missing or damaged.
    """

    def __init__(self, folder: ResultsFolder, manifest: Manifest) -> None:
        self.checksums: dict[Key, str] = {}
        self.problems: dict[str, str] = {}
        self._folder = folder
        self._manifest = manifest
        self._parsed: dict[Key, xr.Dataset] = {}
        known = {(task, label) for task in (*manifest.tasks, SUITE) for label in manifest.methods}
        left = {key for key in known if os.path.isfile(folder.block_path(*key))}  # False where nobody may look
        for key in sorted(sorted(manifest.finished() | left), key=manifest.place):
            self._open(key)

    def _open(self, key: Key) -> None:
        path = self._folder.block_path(*key)
        try:
            checksum = stated_checksum(self._folder.read_checked(path))
            record = self._manifest.blocks.get(key[0], {}).get(key[1])
            if record is None or not checksum or record.checksum != checksum:
                self._parsed[key] = self._read(key)
            self.checksums[key] = checksum
        except StorageError as error:
            self.problems[path.relative_to(self._folder.path).as_posix()] = str(error)

    def _read(self, key: Key) -> xr.Dataset:
        task, label = key
        block = self._folder.read_block(task, label)
        if problem := other_origin(block, self._manifest.blocks.get(task, {}).get(label), self._manifest):
            raise DamagedFileError(
                f"{self._folder.block_path(*key)} is of {problem} than {MANIFEST} says. Delete it and repeat the "
                "`headcats run`."
            )
        return block

    def __getitem__(self, key: Key) -> xr.Dataset:
        if key not in self.checksums:
            raise KeyError(key)
        if key not in self._parsed:
            self._parsed[key] = self._read(key)
        return self._parsed[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.checksums)

    def __len__(self) -> int:
        return len(self.checksums)
