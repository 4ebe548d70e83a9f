"""The results folder: a manifest, one netCDF file per task and method, written whole or not at all."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.errors import StorageError

MANIFEST = "manifest.json"
BLOCKS = "blocks"
SUITE = "_suite"
"""In place of a task: blocks of methods that judge heads over all tasks at once. No task can have this name."""
FORMAT = 1
_PARTS = ("plan", "model", "categories", "methods", "tasks", "blocks", "checks")


def slug(name: str) -> str:
    """A file name for any task or method name; where characters had to be replaced, a hash keeps names apart."""
    # Windows does not tell upper from lower case, so names that differ in case alone must differ in the hash too.
    safe = re.sub(r"[^a-z0-9._=@-]", "_", name)
    if safe == name and not name.startswith("."):
        return name
    return f"{safe.lstrip('.')}-{hashlib.blake2b(name.encode('utf-8'), digest_size=4).hexdigest()}"


class ResultsFolder:
    """Files of one study under one folder.

    Every file is written under a temporary name and renamed, so a killed run leaves whole files only.

    Attributes:
        path: The folder; it is made at the first write.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def manifest_path(self) -> Path:
        """Where the manifest lies."""
        return self.path / MANIFEST

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest, or None where there is no results folder yet.

        Raises:
            StorageError: The path is a file, the folder holds other things, or the manifest is damaged.
        """
        if self.manifest_path.is_file():
            try:
                manifest = json.loads(self.manifest_path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise StorageError(
                    f"{self.manifest_path} cannot be read: {error}. Move the folder away and run again."
                ) from None
            stored = manifest.get("format") if isinstance(manifest, dict) else None
            if stored != FORMAT:
                raise StorageError(
                    f"{self.manifest_path} has format {stored!r}; this version of headcats reads format {FORMAT}."
                )
            lacking = [part for part in _PARTS if part not in manifest]
            if lacking:
                raise StorageError(
                    f"{self.manifest_path} is damaged: it lacks {', '.join(lacking)}. Move the folder away and run "
                    "again."
                )
            return manifest
        if self.path.exists() and not self.path.is_dir():
            raise StorageError(f"{self.path} is a file; a results folder is a folder.")
        if said := _below_a_file(self.path):
            raise StorageError(said)
        try:
            taken = self.path.is_dir() and any(not entry.name.startswith(".") for entry in self.path.iterdir())
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        if taken:
            raise StorageError(f"{self.path} is not empty and holds no {MANIFEST}; name a new or a results folder.")
        return None

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False)
        self.write_bytes(MANIFEST, text.encode("utf-8"))

    def block_path(self, task: str, label: str) -> Path:
        """Where the block of a task and a method@positions lies."""
        return self.path / BLOCKS / slug(task) / f"{slug(label)}.nc"

    def read_block(self, task: str, label: str) -> xr.Dataset | None:
        """A block, or None where there is none (or a damaged one, which is then made again)."""
        return _read_whole(self.block_path(task, label))

    def write_block(self, task: str, label: str, block: xr.Dataset) -> None:
        """Write one block; its attributes `task` and `label` say whose it is."""
        self._write(self.block_path(task, label), block.assign_attrs(task=task, label=label))

    def part_path(self, label: str, part: str) -> Path:
        """Where one finished part (a seed, a relation) of a suite method lies, beside the block that joins them."""
        return self.path / BLOCKS / SUITE / slug(label) / f"{slug(part.replace('/', '='))}.nc"

    def read_parts(self, label: str) -> dict[str, xr.Dataset]:
        """Name -> content of every finished part of a suite method; damaged ones are left out, to be made again."""
        found = (_read_whole(path) for path in sorted((self.path / BLOCKS / SUITE / slug(label)).glob("*.nc")))
        return {str(part.attrs["part"]): part for part in found if part is not None and "part" in part.attrs}

    def write_part(self, label: str, part: str, block: xr.Dataset) -> None:
        """Write one finished part of a suite method."""
        self._write(self.part_path(label, part), block.assign_attrs(part=part, label=label))

    def _write(self, path: Path, block: xr.Dataset) -> None:
        self.write_bytes(path.relative_to(self.path), table_bytes(block))

    def write_bytes(self, name: str | os.PathLike[str], data: bytes) -> None:
        """Write a file of the folder whole or not at all.

        Raises:
            StorageError: The folder cannot be made or written, or the disk is full.
        """
        target = self.path / name
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        absent = [folder for folder in target.parents if not folder.exists()]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(temporary, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            remove_empty(absent)
            if said := _below_a_file(target.parent):
                raise StorageError(f"Cannot write {target}: {said}") from None
            mend = "Free space" if error.errno == errno.ENOSPC else "Make it writable"
            raise StorageError(
                f"Cannot write {target}: {error.strerror or error}. {mend} or choose another folder. What is there is "
                "whole, and the same run goes on from it."
            ) from None

    def read_blocks(self) -> dict[tuple[str, str], xr.Dataset]:
        """(task, method@positions) -> block, for every block of the folder.

        Raises:
            StorageError: A damaged file.
        """
        found = {}
        for path in sorted((self.path / BLOCKS).glob("*/*.nc")):
            try:
                block = _read(path)
                found[block.attrs["task"], block.attrs["label"]] = block
            except (OSError, ValueError, KeyError) as error:
                raise StorageError(f"{path} cannot be read: {error}. Run again: it will be made anew.") from None
        return found

    def remove_leftovers(self) -> None:
        """Delete temporary files that a killed run left behind."""
        for path in self.path.rglob(".*.tmp"):
            path.unlink(missing_ok=True)


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, up to the first that holds something."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _below_a_file(folder: Path) -> str:
    """What to say of a folder that cannot be made, because a part of its path is a file; "" for any other."""
    above = next((one for one in (folder, *folder.parents) if one.is_file()), None)
    return "" if above is None else f"{above} is a file, and no folder can be below it. Name another folder."


def table_bytes(table: xr.Dataset) -> bytes:
    """A table as the content of a netCDF file, for `ResultsFolder.write_bytes`."""
    # Made in memory first: HDF5 reports a full disk late and in many ways, an ordinary write at once and in one.
    # Without the encoding of a file it was read from, by which xarray would cut longer texts joined to it.
    return bytes(table.drop_encoding().to_netcdf(engine="h5netcdf"))


def read_table(path: Path, *, again: str) -> xr.Dataset:
    """A table that a command has saved.

    Args:
        path: The file.
        again: What makes it again, for the message, such as "`headcats evidence DIR`".

    Raises:
        StorageError: It cannot be read.
    """
    try:
        return _read(path)
    except (OSError, ValueError, KeyError) as error:
        raise StorageError(f"{path} cannot be read: {error}. {again} makes it again.") from None


def _read_whole(path: Path) -> xr.Dataset | None:
    try:
        return _read(path) if path.is_file() else None
    except (OSError, ValueError, KeyError):
        return None


def _read(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        return stored.load()
