"""The results folder: a manifest, one netCDF file per task and method, written whole or not at all.

Needs no torch, so that figures and tables of a finished run can be made anywhere.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.errors import DataError, PlanError, StorageError

MANIFEST = "manifest.json"
BLOCKS = "blocks"
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
        path = self.block_path(task, label)
        try:
            return _read(path) if path.is_file() else None
        except (OSError, ValueError, KeyError):
            return None

    def write_block(self, task: str, label: str, block: xr.Dataset) -> None:
        """Write one block; its attributes `task` and `label` say whose it is."""
        marked = block.assign_attrs(task=task, label=label)
        # Made in memory first: HDF5 reports a full disk late and in many ways, an ordinary write at once and in one.
        data = bytes(marked.to_netcdf(engine="h5netcdf"))
        self.write_bytes(self.block_path(task, label).relative_to(self.path), data)

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
            _remove_empty(absent)
            raise StorageError(
                f"Cannot write {target}: {error.strerror or error}. Free space or choose another "
                "folder with --out; what is "
                "there is whole, and the same command goes on from it."
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


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of a run, from its folder.

    Args:
        path: The folder that `hc.run(out=...)` or `headcats run` wrote.

    Returns:
        A tree with one node `/<task>/<method@positions>` per block: `patched (metric, prompt, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)` in each metric's own unit. Task nodes carry the attribute
        `category`; the root carries `categories` (names, order, colours; JSON) and `manifest` (JSON).

    Raises:
        StorageError: No such folder, no manifest in it, or a damaged file.
    """
    folder = ResultsFolder(path)
    manifest = folder.read_manifest() if folder.path.exists() else None
    if manifest is None:
        raise StorageError(
            f"{folder.path} is no results folder (it has no {MANIFEST}); run `headcats run --out {path}` first."
        )
    return tree(folder.read_blocks(), manifest)


def unfinished_tasks(results: xr.DataTree) -> list[str]:
    """Tasks that a run was asked for and has not come to: it was stopped. Refused tasks are finished."""
    manifest = json.loads(results.attrs.get("manifest", "{}"))
    return [task for task in manifest.get("asked", []) if task not in manifest["tasks"]]


def tree(blocks: Mapping[tuple[str, str], xr.Dataset], manifest: Mapping[str, Any]) -> xr.DataTree:
    """Blocks and manifest as the tree that `load` describes.

    Raises:
        DataError: A block of a task that the manifest does not know.
    """
    nodes: dict[str, xr.Dataset] = {
        "/": xr.Dataset(
            attrs={
                "categories": json.dumps(manifest["categories"], ensure_ascii=False),
                "manifest": json.dumps(manifest, ensure_ascii=False),
            }
        )
    }
    order = {name: place for place, name in enumerate(manifest["tasks"])}
    for (task, label), block in sorted(blocks.items(), key=lambda entry: order.get(entry[0][0], len(order))):
        if task not in manifest["tasks"]:
            raise DataError(f"Block {label!r} is of task {task!r}, which the manifest does not name.")
        nodes.setdefault(f"/{task}", xr.Dataset(attrs={"category": manifest["tasks"][task]["category"]}))
        nodes[f"/{task}/{label}"] = block
    return xr.DataTree.from_dict(nodes)


def merge(folders: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str]) -> xr.DataTree:
    """Join results of one plan and one model into a new folder: the union of their tasks and methods.

    Args:
        folders: Results folders; where two hold the same block it must have the same fingerprint.
        out: A folder that does not exist yet, or is empty.

    Returns:
        The merged results, as `load`.

    Raises:
        PlanError: Plans or models differ, or two blocks of one name were made with different prompts.
        StorageError: A folder cannot be read, or `out` is taken.
    """
    target = ResultsFolder(out)
    if target.read_manifest() is not None:
        raise StorageError(f"{target.path} holds results already; merge into a new folder.")
    if not folders:
        raise StorageError("Nothing to merge: name at least one results folder.")
    merged: dict[str, Any] = {}
    blocks: dict[tuple[str, str], xr.Dataset] = {}
    for path in folders:
        manifest = json.loads(load(path).attrs["manifest"])
        if not merged:
            merged = manifest
        for part in ("plan", "model", "categories"):
            if _comparable(part, manifest[part]) != _comparable(part, merged[part]):
                raise PlanError(
                    f"{path} has another {part} than {folders[0]}: {manifest[part]} against {merged[part]}."
                )
        merged["tasks"] |= {name: entry for name, entry in manifest["tasks"].items() if name not in merged["tasks"]}
        merged["checks"] |= manifest["checks"]
        asked = [*merged.get("asked", []), *manifest.get("asked", [])]
        merged["asked"] = list(dict.fromkeys(asked))
        merged["methods"] = list(dict.fromkeys([*merged["methods"], *manifest["methods"]]))
        for task, entries in manifest["blocks"].items():
            merged["blocks"].setdefault(task, {}).update(entries)
        for key, block in ResultsFolder(path).read_blocks().items():
            if key in blocks and blocks[key].attrs.get("fingerprint") != block.attrs.get("fingerprint"):
                raise PlanError(
                    f"Block {key[1]!r} of task {key[0]!r} in {path} was made with other prompts than "
                    "in a folder before."
                )
            blocks[key] = block
    absent = [folder for folder in (target.path, *target.path.parents) if not folder.exists()]
    try:
        for (task, label), block in blocks.items():
            target.write_block(task, label, block)
        target.write_manifest(merged)
    except BaseException:
        # Blocks without a manifest would look like somebody else's folder; there were none before.
        shutil.rmtree(target.path / BLOCKS, ignore_errors=True)
        _remove_empty(absent)
        raise
    return load(out)


def _comparable(part: str, value: Any) -> Any:
    """Without what may differ between machines."""
    return {k: v for k, v in value.items() if k not in ("device", "name", "revision")} if part == "model" else value


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, up to the first that holds something."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _read(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        return stored.load()
