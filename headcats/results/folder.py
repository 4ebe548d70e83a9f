"""The results folder: a manifest and one netCDF file per task and method, read as one labelled tree."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headcats.errors import DataError, StorageError, pluralize
from headcats.results.descriptors import DESCRIPTORS_FILE, DESCRIPTORS_NODE
from headcats.results.drop_table import DROPS, drop_table
from headcats.results.manifest import MANIFEST, SUITE, Manifest
from headcats.results.no_results import no_results
from headcats.results.place import Place, address_of, find_place
from headcats.results.suite_text import SUITE_FILE, damaged_suite
from headcats.results.whole_file import TEMPORARY, below_a_file, write_whole

BLOCKS = "blocks"
"""Results folders that a message names."""


def slug(name: str) -> str:
    """A file name for any task or method name; where characters had to be replaced, a hash keeps names apart."""
    # Windows does not tell upper from lower case, so names that differ in case alone must differ in the hash too.
    safe = re.sub(r"[^a-z0-9._=@-]", "_", name)
    if safe == name and not name.startswith("."):
        return name
    return f"{safe.lstrip('.')}-{hashlib.blake2b(name.encode('utf-8'), digest_size=4).hexdigest()}"


class ResultsFolder:
    """Files of one study under one folder; a killed run leaves complete files only.

    Attributes:
        path: The folder; it is made at the first write.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def manifest_path(self) -> Path:
        """File of the manifest."""
        return self.path / MANIFEST

    def read_manifest(self) -> Manifest | None:
        """The manifest, or None where there is not a results folder yet.

        Raises:
            StorageError: The path is a file or on the hub, the folder holds other things, or the manifest is damaged.
        """
        if self.manifest_path.is_file():
            return Manifest.read(self.manifest_path)
        if address := address_of(self.path):
            raise StorageError(f"{address} is on the hub: name a folder, and share it with `headcats push` afterwards.")
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
        return None

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        write_whole(self.manifest_path, manifest.to_json(indent=1).encode("utf-8"))

    @property
    def suite_path(self) -> Path:
        """File of the suite."""
        return self.path / SUITE_FILE

    def read_suite(self) -> str:
        """The suite as text (see `headcats.tasks.stored`); "" for a folder of a version that did not keep it."""
        try:
            return self.suite_path.read_text(encoding="utf-8") if self.suite_path.is_file() else ""
        except (OSError, ValueError) as error:
            raise damaged_suite(str(self.suite_path), str(error)) from None

    def write_suite(self, text: str) -> None:
        """Replace the suite."""
        write_whole(self.suite_path, text.encode("utf-8"))

    def block_path(self, task: str, label: str) -> Path:
        """File of the block of a task and a method@positions."""
        return self.path / BLOCKS / slug(task) / f"{slug(label)}.nc"

    def read_block(self, task: str, label: str) -> xr.Dataset | None:
        """A block, or None where there is none (or a damaged one, which is then made again)."""
        return read_undamaged(self.block_path(task, label))

    def write_block(self, task: str, label: str, block: xr.Dataset) -> None:
        """Write one block, with its task and label in the attributes."""
        write_whole(self.block_path(task, label), table_bytes(block.assign_attrs(task=task, label=label)))

    def part_path(self, label: str, part: str) -> Path:
        """File of one finished part (a seed, a relation) of a joint method."""
        return self.path / BLOCKS / SUITE / slug(label) / f"{slug(part.replace('/', '='))}.nc"

    def read_parts(self, label: str) -> dict[str, xr.Dataset]:
        """Name -> content of every finished part of a joint method; damaged ones are left out, to be made again."""
        paths = sorted((self.path / BLOCKS / SUITE / slug(label)).glob("*.nc"))
        parts = [part for path in paths if (part := read_undamaged(path)) is not None]
        return {str(part.attrs["part"]): part for part in parts if "part" in part.attrs}

    def write_part(self, label: str, part: str, block: xr.Dataset) -> None:
        """Write one finished part of a joint method."""
        write_whole(self.part_path(label, part), table_bytes(block.assign_attrs(part=part, label=label)))

    @property
    def descriptors_path(self) -> Path:
        """File of what is known of the model's heads besides their effects."""
        return self.path / DESCRIPTORS_FILE

    def read_descriptors(self) -> xr.Dataset | None:
        """The descriptors of heads; None where there is no file, or a damaged one, which is then made again."""
        return read_undamaged(self.descriptors_path)

    def write_descriptors(self, descriptors: xr.Dataset) -> None:
        """Replace the descriptors of heads."""
        write_whole(self.descriptors_path, table_bytes(descriptors))

    def read_blocks(self) -> dict[tuple[str, str], xr.Dataset]:
        """(task, method@positions) -> block, for every block of the folder; a damaged file is a StorageError."""
        blocks = {}
        for path in sorted((self.path / BLOCKS).glob("*/*.nc")):
            try:
                block = _read(path)
                blocks[block.attrs["task"], block.attrs["label"]] = block
            except (OSError, ValueError, KeyError) as error:
                raise StorageError(f"{path} cannot be read: {error}. Run again: it will be made anew.") from None
        return blocks

    def remove_leftovers(self) -> None:
        """Delete temporary files that a killed run left behind."""
        for path in self.path.rglob(TEMPORARY):
            path.unlink(missing_ok=True)


def table_bytes(table: xr.Dataset) -> bytes:
    """A table as the content of a netCDF file, for `write_whole`."""
    # Made in memory first: HDF5 reports a full disk late and in many ways, an ordinary write at once and in one.
    return bytes(table.to_netcdf(engine="h5netcdf"))


def read_table(path: Path, *, again: str) -> xr.Dataset:
    """A table that a command has saved; `again` names the command that makes it again, if it cannot be read."""
    try:
        return _read(path)
    except (OSError, ValueError, KeyError) as error:
        raise StorageError(f"{path} cannot be read: {error}. {again} makes it again.") from None


def read_undamaged(path: Path) -> xr.Dataset | None:
    """The table in a file; None where there is no file, or a damaged one, which is to be made again."""
    try:
        return _read(path) if path.is_file() else None
    except (OSError, ValueError, KeyError):
        return None


def _read(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        # Without the encoding, by which xarray would cut longer texts that are joined to those of the file.
        return stored.load().drop_encoding()


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of a run, from its folder or from the Hugging Face hub.

    Args:
        path: The folder that `hc.run(out=...)` or `headcats run` wrote; or "hf://owner/name", where `hc.push` put it,
            with "@" and a branch, tag or commit for another one than the newest. What was fetched once is also read
            without network.

    Returns:
        A tree with one node `/<task>/<method@positions>` per block: `patched (metric, prompt, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)` in each metric's own unit. Task nodes carry the attribute
        `category`; the root carries `categories` (names, order, colours; JSON), `manifest` (JSON) and `suite` (its
        tasks with their pairs; JSON). A joint method (`ov_relation`, `head_gating`, ...) has the node
        `/_suite/<method>`, whose content its docstring describes (see `hc.suite_blocks`). The node `/_drops` is a table
        of what was kept and dropped of every task, and why: `results["_drops"].to_dataset().to_dataframe()`. The node
        `/_descriptors` holds what `hc.describe_heads` says of the model and of the scored prompts, which folders of
        earlier versions lack until the run is repeated.

    Raises:
        StorageError: No such folder, no manifest in it, or a damaged file.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> sorted(results["plural"])
        ['denoising_patch@last', 'mean_ablation@all', 'second_corruption_patch@last']
        >>> block = results["plural"]["denoising_patch@last"]
        >>> block.patched.dims, block.clean.dims
        (('metric', 'prompt', 'layer', 'head'), ('metric', 'prompt'))
        >>> results["plural"].attrs["category"]
        'Linguistic'
    """
    return read_results(find_place(path))


def read_results(place: Place) -> xr.DataTree:
    """`load` of a place that is found already."""
    folder = ResultsFolder(place.folder)
    if not folder.manifest_path.is_file():
        raise StorageError(no_results(folder.path))
    described = None
    if folder.descriptors_path.is_file():
        described = read_table(folder.descriptors_path, again="The same `headcats run`")
    manifest, blocks = Manifest.read(folder.manifest_path), folder.read_blocks()
    if place.on_hub and (absent := manifest.finished() - blocks.keys()):
        task, label = min(absent)
        raise StorageError(
            f"The copy of {place} in the cache is not whole: it lacks {pluralize(len(absent), 'block')}, {label} of "
            f"{task} first; read it again with network."
        )
    results = tree(blocks, manifest, suite=folder.read_suite(), descriptors=described)
    # As xarray says it of a file; copies keep it, and netCDF does not store it.
    results.encoding |= {"source": place.address, "folder": os.fspath(place.folder)}
    return results


def place_of(results: xr.DataTree) -> Place | None:
    """Where results were read from; None for results in memory."""
    source = results.encoding.get("source")
    return None if source is None else Place(source, Path(results.encoding.get("folder", source)))


def tree(
    blocks: Mapping[tuple[str, str], xr.Dataset],
    manifest: Manifest,
    *,
    suite: str = "",
    descriptors: xr.Dataset | None = None,
) -> xr.DataTree:
    """What a folder holds as the tree that `load` describes; the manifest must name the task of every block."""
    attrs = {
        "categories": json.dumps(manifest.category_entries(), ensure_ascii=False),
        "manifest": manifest.to_json(),
        **({"suite": suite} if suite else {}),
    }
    nodes = {"/": xr.Dataset(attrs=attrs)}
    tasks, methods = list(manifest.tasks), manifest.methods

    def place(key: tuple[str, str]) -> tuple[int, int]:
        task, label = key
        if task != SUITE:
            return tasks.index(task), 0
        return len(tasks), methods.index(label) if label in methods else len(methods)

    for task, label in blocks:
        if task not in manifest.tasks and task != SUITE:
            raise DataError(f"Block {label!r} is of task {task!r}, which the manifest does not name.")
    for task, label in sorted(blocks, key=place):
        attrs = {} if task == SUITE else {"category": manifest.tasks[task].category}
        nodes.setdefault(f"/{task}", xr.Dataset(attrs=attrs))
        nodes[f"/{task}/{label}"] = blocks[task, label]
    if manifest.tasks:
        nodes[f"/{DROPS}"] = drop_table(manifest)
    if descriptors is not None:
        nodes[f"/{DESCRIPTORS_NODE}"] = descriptors
    return xr.DataTree.from_dict(nodes)
