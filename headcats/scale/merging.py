"""Several results folders of one plan as one."""

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import xarray as xr

from headcats.base.errors import DamagedFileError, PlanError, StorageError, pluralize
from headcats.base.registry import lookup
from headcats.results.block_files import BLOCKS, MOST_JOINED
from headcats.results.declaration import join_parts
from headcats.results.descriptors import join_descriptors
from headcats.results.folder import ResultsFolder
from headcats.results.label import Label
from headcats.results.loading import load, read_whole_results
from headcats.results.manifest import SUITE, Manifest
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.results.sources import moved_source
from headcats.results.suite_text import parse_suite, suite_tasks

_NAMED = 5
"""Tasks that a message names."""


def merge(folders: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str]) -> xr.DataTree:
    """Join results of one plan and one model into a new or empty folder, and load it: all their tasks and methods.

    A joint method is joined from its finished parts (relations, seeds): the union of those too. The suite, which the
    prompts of every task depend on, is the same in all folders, and so is the fingerprint of a block that several hold;
    else it is a PlanError. Tests, attention and pages are of one folder each, and are not taken along. Other errors: a
    DamagedFileError, which the run that made a file repairs; a StorageError for a folder that cannot be read or is
    named twice, and where `out` is taken.
    """
    with ResultsFolder(out).writing("headcats merge"):
        _merge(folders, ResultsFolder(out))
    return load(out)


def _merge(folders: Sequence[str | os.PathLike[str]], target: ResultsFolder) -> None:
    if target.read_manifest() is not None or target.holds_results:
        left = "" if target.manifest_path.is_file() else ", or those of a merge that was stopped: remove them"
        raise StorageError(f"{target.path} holds results already{left}; merge into a new folder.")
    if not folders:
        raise StorageError("Nothing to merge: name at least one results folder.")
    places = [find_place(path) for path in folders]
    named = [place.folder.resolve() for place in places]
    if twice := [place for number, place in enumerate(places) if named[number] in named[:number]]:
        raise StorageError(
            f"{twice[0]} is named twice, and merging results with themselves adds nothing: name it once."
        )
    runs = [read_whole_results(place) for place in places]
    manifests = [run.manifest for run in runs]
    merged, suite = manifests[0], _same_suite(runs)
    first, after = places[0].folder, target.path
    merged.model = merged.model.with_sources(lambda source: moved_source(source, first, after))
    merged.suite_source = moved_source(merged.suite_source, first, after)
    blocks: dict[tuple[str, str], xr.Dataset] = {}
    checksums: dict[tuple[str, str], str] = {}
    joint_blocks: dict[str, list[xr.Dataset]] = {}
    parts: dict[str, dict[str, xr.Dataset]] = {}
    descriptors: xr.Dataset | None = None
    for place, run in zip(places, runs, strict=True):
        _check_same_plan(merged, run.manifest, paths=(places[0], place))
        if changed := merged.changed_code(run.manifest.own_code):
            raise PlanError(
                f"The code of {changed} was another one for {place} than for a folder before: both would be in one "
                "map. Run one of them again, into a new folder."
            )
        merged.join(run.manifest)
        if run.descriptors is not None:
            descriptors = run.descriptors if descriptors is None else join_descriptors(descriptors, run.descriptors)
        for task, labels in run.tasks.items():
            for label in labels:
                key, block = (task, label), run.block(task, label)
                if _add(blocks, key, block, f"Block {label!r} of task {task!r} in {place}"):
                    checksums[key] = run.blocks.checksums[key]
        for label, block in run.joint_blocks.items():
            joint_blocks.setdefault(label, []).append(block)
            of_method, problems = ResultsFolder(place.folder).read_parts(label)
            if problems:
                raise DamagedFileError(problems[0])
            for name, part in of_method.items():
                _add(parts.setdefault(label, {}), name, part, f"Part {name!r} of {label!r} in {place}")
    # As one run would have them, whichever folder comes first.
    places_of = {task: number for number, task in enumerate(suite_tasks(suite, source="") if suite else ())}
    merged.tasks = dict(sorted(merged.tasks.items(), key=lambda entry: places_of.get(entry[0], len(places_of))))
    blocks |= {(SUITE, label): _joined(label, same, parts.get(label, {})) for label, same in joint_blocks.items()}
    _write(target, merged, blocks, checksums, parts, suite, descriptors)


def _write(
    target: ResultsFolder,
    manifest: Manifest,
    blocks: Mapping[tuple[str, str], xr.Dataset],
    checksums: Mapping[tuple[str, str], str],
    parts: Mapping[str, Mapping[str, xr.Dataset]],
    suite: str,
    descriptors: xr.Dataset | None,
) -> None:
    try:
        for label in dict.fromkeys(label for _, label in blocks):
            of_method = {task: block for (task, other), block in blocks.items() if other == label}
            _write_method(
                target, manifest, label, of_method, {task: checksums.get((task, label), "") for task in of_method}
            )
        for label, parts_of_method in parts.items():
            for name, part in parts_of_method.items():
                target.write_part(label, name, part)
        manifest.beside = ()
        if suite:
            target.write_suite(suite)
            manifest.add_beside(target.suite_path.name)
        if descriptors is not None:
            target.write_descriptors(descriptors)
            manifest.add_beside(target.descriptors_path.name)
        target.write_manifest(manifest)
    except BaseException:
        # Blocks without a manifest would look like somebody else's folder; there were none before.
        shutil.rmtree(target.path / BLOCKS, ignore_errors=True)
        target.suite_path.unlink(missing_ok=True)
        target.descriptors_path.unlink(missing_ok=True)
        raise


def _write_method(
    target: ResultsFolder,
    manifest: Manifest,
    label: str,
    blocks: Mapping[str, xr.Dataset],
    checksums: Mapping[str, str],
) -> None:
    if joined := SUITE not in blocks and sum(block.nbytes for block in blocks.values()) <= MOST_JOINED:
        categories = {task: manifest.tasks[task].category for task in blocks}
        target.write_joined(label, blocks, checksums=checksums, categories=categories)
    for task, block in blocks.items():
        checksum = checksums[task] if joined else target.write_block(task, label, block)
        # None of a block whose run was stopped before the manifest was written.
        if (record := manifest.record(task, label)) is not None:
            manifest.add(label, task, replace(record, checksum=checksum))


def _add(blocks: dict[Any, xr.Dataset], key: Any, block: xr.Dataset, description: str) -> bool:
    """Add a block or part, unless one of the same prompts is there; True if it is added."""
    if key in blocks and blocks[key].attrs.get("fingerprint") != block.attrs.get("fingerprint"):
        raise PlanError(f"{description} was made with other prompts than in a folder before.")
    return blocks.setdefault(key, block) is block


def _joined(label: str, blocks: Sequence[xr.Dataset], parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """The block of all parts, in the order of the blocks; one that has them all is taken as it is."""
    first = blocks[0]
    fingerprints = [str(block.attrs.get("fingerprint", "")).split() for block in blocks]
    order = list(dict.fromkeys(itertools.chain(*fingerprints)))
    if set(order) == set(fingerprints[0]):
        return first
    places = {fingerprint: place for place, fingerprint in enumerate(order)}
    ordered = sorted(parts.items(), key=lambda entry: places.get(str(entry[1].attrs["fingerprint"]), len(places)))
    about = {name: str(first.attrs[name]) for name in ("categories", "model")}
    return join_parts(lookup("method", Label.parse(label).name), dict(ordered), **about)


def _same_suite(runs: Sequence[RunResults]) -> str:
    """The suite as text, of the first folder that holds it.

    A PlanError if another one holds other tasks or pairs, or a template of the same name with another text: chat
    templates may name the day.
    """
    kept = [run for run in runs if run.suite_text]
    for run in kept[1:]:
        templates = [parse_suite(each.suite_text, source=each.suite_place).get("template") for each in (kept[0], run)]
        if templates[0] != templates[1]:
            raise PlanError(
                f"The prompts of {run.suite_place} have another template than those of {kept[0].suite_place} "
                f"({templates[1]}, not {templates[0]}). Run the second again, with --out (out=...) of the first."
            )
        first, second = (_prompted(suite_tasks(each.suite_text, source=each.suite_place)) for each in (kept[0], run))
        if differing := [name for name in first | second if first.get(name) != second.get(name)]:
            raise PlanError(
                f"{run.suite_place} is another suite than {kept[0].suite_place}: {', '.join(differing[:_NAMED])} "
                f"({pluralize(len(differing), 'task')}) differ or are missing, and every task of a suite has a part in "
                "the prompts of all. Run both with one suite, and choose the tasks of each with --tasks (tasks=...)."
            )
    return kept[0].suite_text if kept else ""


def _prompted(tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Without how many rows a file has, which changes no prompt."""
    return {task: {key: value for key, value in entry.items() if key != "rows"} for task, entry in tasks.items()}


def _check_same_plan(first: Manifest, second: Manifest, *, paths: tuple[Any, Any]) -> None:
    """Refuse to join results of different plans, models or categories."""
    differences = {"plan": first.plan.differences(second.plan), "model": first.model.identity_differences(second.model)}
    for part, values in differences.items():
        if values:
            described = ", ".join(f"{name} {after!r} against {before!r}" for name, (before, after) in values.items())
            raise PlanError(f"{paths[1]} has another {part} than {paths[0]}: {described}.")
    if first.categories != second.categories:
        names = [[category.name for category in manifest.categories] for manifest in (second, first)]
        raise PlanError(f"{paths[1]} has other categories than {paths[0]}: {names[0]} against {names[1]}.")
