"""Files of the blocks of a results folder: one per method, and one per part of what is unfinished.

While a run works, each finished part is a file of its own, `blocks/<method>/<part>.nc`: of a method that scores one
task at a time its block of a task, of a joint method a relation or a seed. A run that has all parts of a method of the
first kind joins them into `blocks/<method>.nc` and removes them; a part that lies beside that file is newer. Blocks
that do not fit into one table (see `headcats.results.joined`) stay parts. Of a joint method, `blocks/<method>.nc` is
what the method makes of its parts, which cannot be taken apart again: its parts stay.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import xarray as xr

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.block_schema import block_problem, joint_problem
from headcats.results.file_format import stated_checksum, stated_in
from headcats.results.joined import checksums_in, checksums_of, join_blocks, split_blocks
from headcats.results.manifest import SUITE
from headcats.results.tables import as_written, of_hdf5, parse_table, read_checked, read_table, table_bytes
from headcats.results.whole_file import check_path, remove_empty, sync_folder, write_whole

BLOCKS = "blocks"
AGAIN = "The same `headcats run`"
MOST_JOINED = 2**27
"""Bytes of the parts that are joined, at most: whoever looks up one block has all of the file in memory."""
_LONGEST = 150  # characters of a file name; file systems take 255 bytes


def slug(name: str) -> str:
    """A file name for any task or method name; where characters had to be replaced, a hash keeps names apart."""
    # Windows does not tell upper from lower case, so names that differ in case alone must differ in the hash too.
    safe = re.sub(r"[^a-z0-9._=@-]", "_", name)
    if safe == name and not name.startswith(".") and len(name) <= _LONGEST:
        return name
    return f"{safe.lstrip('.')[:_LONGEST]}-{hashlib.blake2b(name.encode('utf-8'), digest_size=4).hexdigest()}"


class BlockFiles:
    """Blocks and their parts under one folder, made at the first write; a StorageError for a path it cannot have."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_path(self.path)

    def joined_path(self, label: str) -> Path:
        """File of all parts of a method@positions."""
        return self.path / BLOCKS / f"{slug(label)}.nc"

    def part_path(self, label: str, part: str) -> Path:
        """File of one part of a method: a task, or of a joint method a seed or a relation."""
        return self.path / BLOCKS / slug(label) / f"{slug(part.replace('/', '='))}.nc"

    def block_path(self, task: str, label: str) -> Path:
        """File that holds the block of a task and a method@positions, or would if it were there."""
        joined, part = self.joined_path(label), self.part_path(label, task)
        # False where nobody may look, of which the attributes of a path would raise.
        is_joined = not os.path.exists(part) and (os.path.exists(joined) or not os.path.exists(part.parent))
        return joined if task == SUITE or is_joined else part

    def table_files(self) -> Iterator[Path]:
        """Files of blocks and parts, whatever the manifest says."""
        return self.path.glob(f"{BLOCKS}/**/*.nc")

    def read_block(self, task: str, label: str) -> xr.Dataset:
        """A block; a DamagedFileError if its file is damaged or of another one, a StorageError if there is none."""
        part = self.part_path(label, task)
        if task == SUITE:
            path = self.joined_path(label)
            return self._checked(read_table(path, again=AGAIN), (task, label), path)
        if self.block_path(task, label) == part:
            try:
                return self._checked(read_table(part, again=AGAIN), (task, label), part)
            except StorageError:
                if part.exists() or not self.joined_path(label).exists():
                    raise  # and else it has been joined since
        blocks = self.read_joined(label)
        if task not in blocks:
            raise DamagedFileError(f"{self.joined_path(label)} is damaged: it lacks {task!r}. {AGAIN} makes it again.")
        return blocks[task]

    def read_joined(self, label: str) -> dict[str, xr.Dataset]:
        """Task -> block, of the file of all tasks of a method; errors of `read_block`."""
        path = self.joined_path(label)
        with _as_joined(path):
            blocks = split_blocks(read_table(path, again=AGAIN))
            return {task: self._checked(block, (task, label), path) for task, block in blocks.items()}

    def joined_checksums(self, label: str, *, checked_later: float = math.inf) -> dict[str, str] | None:
        """Task -> checksum of its block as a file of its own, of the file of all tasks of a method.

        None where there is no such file, or one of a joint method. Of a file of `checked_later` bytes or more, only
        the end and these are read.
        """
        path = self.joined_path(label)
        check_path(path)
        if not path.exists():
            return None
        with _as_joined(path):
            if path.is_file() and path.stat().st_size >= checked_later and stated_in(path, least=0):
                return checksums_of(path)
            return checksums_in(read_checked(path, again=AGAIN))

    @staticmethod
    def _checked(block: xr.Dataset, key: tuple[str, str], path: Path) -> xr.Dataset:
        if (stored := (block.attrs.get("task"), block.attrs.get("label"))) != key:
            raise DamagedFileError(f"{path} is damaged: it is of {stored}, not {key}. {AGAIN} makes it again.")
        if problem := (joint_problem if key[0] == SUITE else block_problem)(block):
            raise DamagedFileError(f"{path} is damaged: {problem}. {AGAIN} makes it again.")
        return block

    def write_block(self, task: str, label: str, block: xr.Dataset) -> str:
        """Write one block, with its task and label in the attributes; returns the checksum of the file."""
        attrs = sorted((block.attrs | {"task": task, "label": label}).items())  # whatever their order
        data = table_bytes(block.drop_attrs(deep=False).assign_attrs(dict(attrs)))
        write_whole(self.joined_path(label) if task == SUITE else self.part_path(label, task), data)
        return stated_checksum(data)

    def write_joined(
        self,
        label: str,
        blocks: Mapping[str, xr.Dataset],
        *,
        checksums: Mapping[str, str],
        categories: Mapping[str, str],
    ) -> list[str]:
        """Write blocks as they are stored into one file, and then remove those that have files of their own.

        Of each task its block, with task and label in the attributes, and what `write_block` returned, or would.
        Returns the tasks in the file; blocks of others do not fit into one with them, and have files of their own.
        """
        tasks, table = join_blocks(blocks, checksums=checksums, categories=categories)
        path = self.joined_path(label)
        data = table_bytes(table) if tasks else b""
        if tasks and not self._gives_back(data, path, {task: blocks[task] for task in tasks}):
            tasks = []
        if tasks or not path.exists():
            for task in blocks.keys() - set(tasks):
                if not self.part_path(label, task).exists():  # it may be in the file that is now replaced
                    self.write_block(task, label, blocks[task])
        if not tasks:
            return []
        write_whole(path, data)
        sync_folder(path.parent)  # or the removal may reach the disk before the file
        parts = [self.part_path(label, task) for task in tasks]
        for part in parts:
            with suppress(OSError):  # one that stays is of the same block
                part.unlink(missing_ok=True)
        remove_empty([parts[0].parent])
        return tasks

    def _gives_back(self, data: bytes, path: Path, blocks: Mapping[str, xr.Dataset]) -> bool:
        """True if these blocks will be read from a file of this content: what it replaces is removed."""
        try:
            with _as_joined(path):
                read = split_blocks(parse_table(data, path, again=AGAIN))
                return all(read[task].identical(block) for task, block in blocks.items())
        except DamagedFileError:
            return False

    def read_parts(self, label: str) -> tuple[dict[str, xr.Dataset], list[str]]:
        """Name -> content of every finished part of a joint method; and what is wrong with damaged ones."""
        parts, problems = {}, []
        for path in sorted((self.path / BLOCKS / slug(label)).glob("*.nc")):
            try:
                part = read_table(path, again=AGAIN)
                parts[str(part.attrs["part"])] = part
            except StorageError as error:
                problems.append(str(error))
            except KeyError:
                problems.append(f"{path} is damaged: it does not say which part it is. {AGAIN} makes it again.")
        return parts, problems

    def write_part(self, label: str, part: str, block: xr.Dataset) -> None:
        """Write one finished part of a joint method."""
        write_whole(self.part_path(label, part), table_bytes(block.assign_attrs(part=part, label=label)))


@contextmanager
def _as_joined(path: Path) -> Iterator[None]:
    with of_hdf5(path, again=AGAIN), as_written(f"{path}", again=AGAIN):
        yield
