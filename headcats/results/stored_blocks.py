"""Blocks of a results folder: files are checked when it is opened, and parsed when a block of theirs is looked up.

Of a large file, opening reads only the end, where its checksum stands, and which blocks are in it. Whether its content
fits the checksum is seen when it is read. Large files of one block are not kept, so that results larger than the memory
can be gone through.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import xarray as xr

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.block_files import AGAIN
from headcats.results.block_schema import other_model
from headcats.results.file_format import stated_checksum, stated_in
from headcats.results.folder import ResultsFolder
from headcats.results.label import Label
from headcats.results.manifest import SUITE, Manifest
from headcats.results.place import MANIFEST
from headcats.results.tables import read_checked

Key = tuple[str, str]

LARGE = 8_000_000
"""Bytes of a file that is checked when it is read; ten times what a method of a small model takes."""


class StoredBlocks(Mapping[Key, xr.Dataset]):
    """(task, method@positions) -> block, of those that a manifest records and any that a stopped run has left.

    A block whose checksum fits both its content and the manifest is what the run wrote; others are parsed and compared
    with the manifest at once. Of a file of `checked_later` bytes or more only the end is read when it is opened, and
    damage within is a DamagedFileError when a block of it is looked up. `checksums` are those of blocks in files of
    their own, by key; `problems` has of every file that is missing or damaged what is wrong with it.
    """

    def __init__(self, folder: ResultsFolder, manifest: Manifest, *, checked_later: float = LARGE) -> None:
        self.checksums: dict[Key, str] = {}
        self.problems: dict[str, str] = {}
        self._folder = folder
        self._manifest = manifest
        self._parsed: dict[Key, xr.Dataset] = {}
        self._checked_later = checked_later
        self._large: set[Key] = set()
        self._joined: set[Key] = set()
        finished = manifest.finished()
        for label in dict.fromkeys([*manifest.methods, *sorted(label for _, label in finished)]):
            if (SUITE, label) in finished or self._is_joint(label):
                self._open_block((SUITE, label))
            else:
                self._open_tasks(label)
        for key in sorted(finished - self.checksums.keys(), key=manifest.place):
            self._name_missing(key)
        self.checksums = {key: self.checksums[key] for key in sorted(sorted(self.checksums), key=manifest.place)}

    def _is_joint(self, label: str) -> bool:
        record = self._manifest.blocks.get(label)
        return not Label.parse(label).positions if record is None else record.is_joint

    def _open_tasks(self, label: str) -> None:
        """Look at the blocks of a method; a part that lies beside the joined file is newer."""
        # A run that joins parts writes the joined file before it removes them: in the other order they may be missed.
        parts = {task for task in self._manifest.tasks if self._open_block((task, label))}
        try:
            joined = self._folder.joined_checksums(label, checked_later=self._checked_later) or {}
        except StorageError as error:
            self._add_problem((SUITE, label), error)
            return
        for task, checksum in joined.items():
            if task in self._manifest.tasks and task not in parts:
                key = task, label
                self._joined.add(key)
                self._open(key, checksum)

    def _open_block(self, key: Key) -> bool:
        """Look at the file of one block; False where there is none, or not any more."""
        path = self._path(key)
        if _is_absent(path):
            return False
        with suppress(OSError):  # which is worded below
            if path.is_file() and (stated := stated_in(path, least=self._checked_later)) == self._recorded(key) != "":
                self._large.add(key)
                self.checksums[key] = stated
                return True
        try:
            checksum = stated_checksum(read_checked(path, again=AGAIN))
        except StorageError as error:
            if _is_absent(path):
                return False
            self._add_problem(key, error)
            return True
        self._open(key, checksum)
        return True

    def _open(self, key: Key, checksum: str) -> None:
        """List a block; one of another checksum than the manifest's is compared with it now."""
        self.checksums[key] = checksum
        if self._recorded(key) != checksum:
            try:
                self._parsed[key] = self[key]
            except StorageError as error:
                del self.checksums[key]
                self._add_problem(key, error)

    def _recorded(self, key: Key) -> str:
        record = self._manifest.record(*key)
        return record.checksum if record is not None else ""

    def _path(self, key: Key) -> Path:
        task, label = key
        joined = task == SUITE or key in self._joined
        return self._folder.joined_path(label) if joined else self._folder.part_path(label, task)

    def _add_problem(self, key: Key, error: StorageError) -> None:
        name = self._path(key).relative_to(self._folder.path).as_posix()
        self.problems.setdefault(name, str(error))

    def _name_missing(self, key: Key) -> None:
        """Name a file that should hold a block; a damaged one is named already."""
        path = self._folder.block_path(*key)
        name = path.relative_to(self._folder.path).as_posix()
        if name not in self.problems:
            try:
                self._folder.read_block(*key)
            except StorageError as error:
                self.problems[name] = str(error)
            else:  # a writer has moved it meanwhile
                self._open_block(key)

    def _read(self, key: Key) -> xr.Dataset:
        task, label = key
        if key in self._joined:
            found = {(name, label): block for name, block in self._folder.read_joined(label).items()}
            mine = {other: block for other, block in found.items() if other in self._joined}
            self._parsed |= {other: block for other, block in mine.items() if not self._other_origin(other, block)}
            if key in self._parsed:
                return self._parsed[key]
        block = self._folder.read_block(task, label)
        if problem := self._other_origin(key, block):
            raise DamagedFileError(
                f"{self._path(key)} is of {problem} than {MANIFEST} says. Delete it and repeat the `headcats run`."
            )
        return block

    def _other_origin(self, key: Key, block: xr.Dataset) -> str:
        """Difference of what a block was made from and the manifest; "" for none."""
        record = self._manifest.record(*key)
        if record is not None and block.attrs.get("fingerprint", "") != record.fingerprint:
            return "other prompts"
        return other_model(block, self._manifest.model)

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


def _is_absent(path: Path) -> bool:
    """True if there is no such file; False also where nobody may look."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
