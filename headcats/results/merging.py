"""Several results folders of one plan as one."""

import json
import os
import shutil
from collections.abc import Sequence
from typing import Any

import xarray as xr

from headcats.errors import PlanError, StorageError
from headcats.results.folder import BLOCKS, ResultsFolder, remove_empty
from headcats.results.tree import load


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
        remove_empty(absent)
        raise
    return load(out)


def _comparable(part: str, value: Any) -> Any:
    """Without what may differ between machines."""
    return {k: v for k, v in value.items() if k not in ("device", "name", "revision")} if part == "model" else value
