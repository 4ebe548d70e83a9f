"""Blocks of a results folder: small ones are checked when it is opened, and each is parsed when it is looked up.

Of a large file, opening reads only the end, where its checksum stands: the file is there, whole, and the one that the
manifest names. Whether its content fits the checksum is seen whenever the block is read: large ones are not kept, so
that results larger than the memory can be gone through.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import xarray as xr

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.checksum import stated_checksum, stated_in
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import MANIFEST, SUITE, Manifest
from headcats.results.origin import other_origin

Key = tuple[str, str]

LARGE = 500_000
"""Bytes of a file that is checked when it is read; ten times what a block of a small model takes."""


class StoredBlocks(Mapping[Key, xr.Dataset]):
    """(task, method@positions) -> block, of those that a manifest records and any that a stopped run has left.

    A file whose checksum fits both its content and the manifest is what the run wrote; others are parsed and compared
    with the manifest at once. Damage within a large file is a DamagedFileError when its block is looked up.

    Args:
        folder: Where the blocks are.
        manifest: Of that folder.
        checked_later: Bytes of a file from which on only its end is read when it is opened.

    Attributes:
        checksums: Key -> checksum of its file.
        problems: File -> what is wrong with it, of every one that is missing or damaged.
    """

    def __init__(self, folder: ResultsFolder, manifest: Manifest, *, checked_later: float = LARGE) -> None:
        self.checksums: dict[Key, str] = {}
        self.problems: dict[str, str] = {}
        self._folder = folder
        self._manifest = manifest
        self._parsed: dict[Key, xr.Dataset] = {}
        self._checked_later = checked_later
        self._large: set[Key] = set()
        known = {(task, label) for task in (*manifest.tasks, SUITE) for label in manifest.methods}
        paths = {key: folder.block_path(*key) for key in known | manifest.finished()}
        there = {key for key in known if os.path.isfile(paths[key])}  # False where nobody may look
        for key in sorted(sorted(manifest.finished() | there), key=manifest.place):
            self._open(key, paths[key], is_file=key in there)

    def _open(self, key: Key, path: Path, *, is_file: bool) -> None:
        record = self._manifest.blocks.get(key[0], {}).get(key[1])
        recorded = record.checksum if record is not None else ""
        if is_file and recorded:
            with suppress(OSError):  # which is worded below
                if stated_in(path, least=self._checked_later) == recorded:
                    self._large.add(key)
                    self.checksums[key] = recorded
                    return
        try:
            checksum = stated_checksum(self._folder.read_checked(path))
            if recorded != checksum:
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
        if key in self._large:
            return self._read(key)
        if key not in self._parsed:
            self._parsed[key] = self._read(key)
        return self._parsed[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.checksums)

    def __len__(self) -> int:
        return len(self.checksums)
