"""Several results folders of one plan as one."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from headcats.errors import PlanError, StorageError
from headcats.registry import lookup
from headcats.results.folder import BLOCKS, SUITE, ResultsFolder, remove_empty
from headcats.results.label import Label
from headcats.results.tree import load


def merge(folders: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str]) -> xr.DataTree:
    """Join results of one plan and one model into a new folder: the union of their tasks and methods.

    A method over the whole suite is joined from its finished parts (relations, seeds): the union of those too.

    Args:
        folders: Results folders; where two hold the same block it must have the same fingerprint.
        out: A folder that does not exist yet, or is empty.

    Returns:
        The merged results, as `load`.

    Raises:
        PlanError: Plans or models differ, or two blocks or parts of one name were made with different prompts.
        StorageError: A folder cannot be read, or `out` is taken.
    """
    target = ResultsFolder(out)
    if target.read_manifest() is not None:
        raise StorageError(f"{target.path} holds results already; merge into a new folder.")
    if not folders:
        raise StorageError("Nothing to merge: name at least one results folder.")
    merged: dict[str, Any] = {}
    blocks: dict[tuple[str, str], xr.Dataset] = {}
    of_suite: dict[str, list[xr.Dataset]] = {}
    parts: dict[str, dict[str, xr.Dataset]] = {}
    for path in folders:
        manifest = json.loads(load(path).attrs["manifest"])
        if not merged:
            merged = manifest
        for part in ("plan", "model", "categories"):
            if _comparable(part, manifest[part]) != _comparable(part, merged[part]):
                told = _differences(_comparable(part, merged[part]), _comparable(part, manifest[part]))
                raise PlanError(f"{path} has another {part} than {folders[0]}: {told}.")
        merged["tasks"] |= {name: entry for name, entry in manifest["tasks"].items() if name not in merged["tasks"]}
        merged["checks"] |= manifest["checks"]
        asked = [*merged.get("asked", []), *manifest.get("asked", [])]
        merged["asked"] = list(dict.fromkeys(asked))
        merged["methods"] = list(dict.fromkeys([*merged["methods"], *manifest["methods"]]))
        for task, entries in manifest["blocks"].items():
            together = merged["blocks"].setdefault(task, {})
            for label, entry in entries.items():
                before = together.get(label, {})
                both = {name: before.get(name, {}) | entry.get(name, {}) for name in ("parts", "tasks")}
                together[label] = entry | {name: found for name, found in both.items() if found}
        for key, block in ResultsFolder(path).read_blocks().items():
            if key[0] == SUITE:
                of_suite.setdefault(key[1], []).append(block)
                for part, one in ResultsFolder(path).read_parts(key[1]).items():
                    _add(parts.setdefault(key[1], {}), part, one, f"Part {part!r} of {key[1]!r} in {path}")
            else:
                _add(blocks, key, block, f"Block {key[1]!r} of task {key[0]!r} in {path}")
    blocks |= {(SUITE, label): _whole(label, found, parts.get(label, {})) for label, found in of_suite.items()}
    absent = [folder for folder in (target.path, *target.path.parents) if not folder.exists()]
    try:
        for (task, label), block in blocks.items():
            target.write_block(task, label, block)
        for label, found in parts.items():
            for part, one in found.items():
                target.write_part(label, part, one)
        target.write_manifest(merged)
    except BaseException:
        # Blocks without a manifest would look like somebody else's folder; there were none before.
        shutil.rmtree(target.path / BLOCKS, ignore_errors=True)
        remove_empty(absent)
        raise
    return load(out)


def join_parts(method: Any, parts: Mapping[str, xr.Dataset], *, categories: str, model: str) -> xr.Dataset:
    """Finished parts of a method over a whole suite as the block of a results folder.

    Args:
        method: The method (see `headcats.methods.suite_inputs.SuiteMethod`).
        parts: Name -> part, each with the attribute `fingerprint`.
        categories: Names and colours of the suite's categories (JSON).
        model: Name of the model.
    """
    fingerprints = " ".join(str(part.attrs["fingerprint"]) for part in parts.values())
    joined = method.join(parts).assign_attrs(categories=categories, model=model, fingerprint=fingerprints)
    joined.attrs = {name: value for name, value in joined.attrs.items() if name != "part"}
    return joined


def _add(found: dict[Any, xr.Dataset], key: Any, block: xr.Dataset, named: str) -> None:
    if key in found and found[key].attrs.get("fingerprint") != block.attrs.get("fingerprint"):
        raise PlanError(f"{named} was made with other prompts than in a folder before.")
    found[key] = block


def _whole(label: str, blocks: list[xr.Dataset], parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """The block of all parts, in the order of the blocks; one that has them all is taken as it is."""
    first = blocks[0]
    order = dict.fromkeys(one for block in blocks for one in str(block.attrs["fingerprint"]).split())
    if set(order) == set(str(first.attrs["fingerprint"]).split()):
        return first
    places = {fingerprint: place for place, fingerprint in enumerate(order)}
    found = sorted(parts.items(), key=lambda entry: places.get(str(entry[1].attrs["fingerprint"]), len(places)))
    about = {name: str(first.attrs[name]) for name in ("categories", "model")}
    return join_parts(lookup("method", Label.parse(label).name), dict(found), **about)


def _differences(first: Any, other: Any) -> str:
    """What differs between two parts of manifests: by name where they have names."""
    if not isinstance(first, dict) or not isinstance(other, dict):
        return f"{other} against {first}"
    names = [name for name in {**first, **other} if first.get(name) != other.get(name)]
    return ", ".join(f"{name} {other.get(name)!r} against {first.get(name)!r}" for name in names)


def _comparable(part: str, value: Any) -> Any:
    """Without what may differ between machines."""
    return {k: v for k, v in value.items() if k not in ("device", "name", "revision")} if part == "model" else value
