"""Results folders written by hand: a run of a joint method, and short runs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from example_joint import gates_of

from headcats.results.file_format import json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.manifest import SUITE, Manifest
from headcats.results.place import find_place
from headcats.results.records import BlockRecord, CategoryRecord, MethodRecord, ModelRecord, PlanRecord, TaskRecord
from headcats.results.run_results import STATE

KINDS = {"Knowledge": "#ff7f0e", "Translation": "#d62728"}
TASKS = {"k_one": "Knowledge", "k_two": "Knowledge", "t_one": "Translation", "t_two": "Translation"}


def manifest_of(
    per_layer: Mapping[int, int], *, tasks: Mapping[str, str], methods: Sequence[str], kinds: Mapping[str, str] = KINDS
) -> Manifest:
    """What a run leaves, with as little in it as can be."""
    return Manifest(
        plan=PlanRecord(suite="made_up", metrics=("logit_diff",), n_prompts=14, n_demos=2, template="arrow"),
        model=ModelRecord("made-up", layers=tuple(per_layer), heads=tuple(per_layer.values())),
        categories=tuple(CategoryRecord(name, colour) for name, colour in kinds.items()),
        methods=tuple(methods),
        tasks={task: TaskRecord(category) for task, category in tasks.items()},
        blocks={label: MethodRecord({task: BlockRecord() for task in tasks}) for label in methods},
    )


def list_attention(folder: Path, categories: Mapping[str, Any], *, method: str = "none") -> None:
    """Write where heads look into finished results, as chosen by a method of their present state."""
    entries = [{"category": name, "thumbnails": small} for name, small in categories.items()]
    content = {"method": method, STATE: open_results(find_place(folder)).state([method]), "categories": entries}
    (folder / "attention.json").write_bytes(json_with_checksum(json.dumps(content)))


def scored_run(
    folder: Path,
    *,
    per_layer: Mapping[int, int],
    tasks: Mapping[str, str] = TASKS,
    kinds: Mapping[str, str] = KINDS,
    n_items: int = 14,
    kv_head: Sequence[Sequence[int]] | None = None,
) -> Path:
    """Noise but for head 1 of every layer, which has an effect on every task; cells without a head are NaN."""
    draw = np.random.default_rng(0)
    target, label = ResultsFolder(folder), "denoising_patch@last"
    for task in tasks:
        patched = draw.normal(0, 0.01, (1, n_items, len(per_layer), max(per_layer.values())))
        patched[..., 1] += 0.3
        for place, n in enumerate(per_layer.values()):
            patched[:, :, place, n:] = np.nan
        block = block_of(patched, list(per_layer), label)
        if kv_head is not None:
            block = block.assign_coords(kv_head=(("layer", "head"), np.asarray(kv_head)))
        target.write_block(task, label, block)
    target.write_manifest(manifest_of(per_layer, tasks=tasks, methods=[label], kinds=kinds))
    return folder


def block_of(patched: np.ndarray, layers: Sequence[int], label: str) -> xr.Dataset:
    """A block with that `patched (metric, prompt, layer, head)` in shares of the gap."""
    n_items, (method, positions) = patched.shape[1], label.split("@")
    coords = {
        "metric": ["logit_diff"],
        "item": ("prompt", [f"item {place}" for place in range(n_items)]),
        "layer": list(layers),
        "head": np.arange(patched.shape[-1]),
    }
    variables = {
        "patched": (("metric", "prompt", "layer", "head"), patched),
        "clean": (("metric", "prompt"), np.ones((1, n_items))),
        "corrupted": (("metric", "prompt"), np.zeros((1, n_items))),
    }
    return xr.Dataset(variables, coords, {"base": "corrupted", "method": method, "positions": positions})


def gated_run(folder: Path, scores: np.ndarray, *, kv_head: Sequence[Sequence[int]] | None = None) -> Path:
    """A run of `made_gates` alone, with that facilitation `(dataset, seed, layer, head)`."""
    per_layer = dict.fromkeys(range(scores.shape[2]), scores.shape[3])
    block = gates_block(scores)
    if kv_head is not None:
        block = block.assign_coords(kv_head=(("layer", "head"), np.asarray(kv_head)))
    return suite_run(folder, "made_gates", block, per_layer=per_layer)


def gates_block(scores: np.ndarray) -> xr.Dataset:
    """What `made_gates` finds, with that facilitation `(dataset, seed, layer, head)`."""
    return gates_of(scores, datasets=list(KINDS)[: len(scores)])


def run_without_heads(folder: Path) -> Path:
    """A run of a joint method that says nothing about single heads."""
    says = {"method": "made_up", "model": "made-up"}
    block = xr.Dataset({"something": ("layer", np.zeros(2))}, coords={"layer": [0, 1]}, attrs=says)
    return suite_run(folder, "made_up", block, per_layer={0: 3, 1: 3})


def suite_run(folder: Path, label: str, block: xr.Dataset, *, per_layer: Mapping[int, int]) -> Path:
    """A run of one joint method, with what it found."""
    ResultsFolder(folder).write_manifest(manifest_of(per_layer, tasks={}, methods=[label]))
    return with_joint_block(folder, label, block)


def with_joint_block(folder: Path, label: str, block: xr.Dataset) -> Path:
    """A run to which that method was added."""
    target = ResultsFolder(folder)
    manifest = target.read_manifest()
    target.write_block(SUITE, label, block.assign_attrs(categories=json.dumps(manifest.category_entries())))
    manifest.methods = tuple(dict.fromkeys((*manifest.methods, label)))
    tasks = {task: record.category for task, record in manifest.tasks.items()}
    manifest.blocks[label] = MethodRecord(tasks=tasks or {"untested": manifest.categories[0].name})
    target.write_manifest(manifest)
    return folder
