"""Small results folders, written by hand."""

import json
from pathlib import Path

import numpy as np
import xarray as xr

from headcats.results.file_format import json_content_of, json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, CategoryRecord, MethodRecord, ModelRecord, PlanRecord, TaskRecord

LABEL = "denoising_patch@last"


def block(values=None, *, fingerprint="f", items=("é", "→"), metric=("logit_diff",)):
    """A block with these patched values, or 0, 1, 2, ..."""
    patched = np.arange(len(metric) * len(items) * 6, dtype=np.float32) if values is None else values
    patched = patched.reshape(len(metric), len(items), 2, 3)
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", "layer", "head"), patched),
            "clean": (("metric", "prompt"), patched[:, :, 0, 0]),
        },
        coords={"metric": list(metric), "item": ("prompt", list(items)), "layer": [0, 2], "head": [0, 1, 2]},
        attrs={"fingerprint": fingerprint, "method": "denoising_patch"},
    )


KNOWLEDGE = CategoryRecord("Knowledge", "#ff7f0e")


def manifest(*tasks, fingerprint="f", categories=(KNOWLEDGE,), **changes):
    """The manifest of a run of these tasks, all of the first category."""
    fields = {
        "plan": PlanRecord(n_prompts=2, seed=0),
        "model": ModelRecord("toy", weights_hash="h"),
        "categories": categories,
        "methods": (LABEL,),
        "tasks": {task: TaskRecord(categories[0].name) for task in tasks},
        "blocks": {LABEL: MethodRecord({task: BlockRecord(fingerprint) for task in tasks})},
        "checks": {task: {"hooks": {}} for task in tasks},
    }
    return Manifest(**fields | changes)


def folder(path, *tasks, fingerprint="f", **changes):
    """A results folder with a block for each task."""
    target = ResultsFolder(path)
    for task in tasks:
        target.write_block(task, LABEL, block(fingerprint=fingerprint))
    target.write_manifest(manifest(*tasks, fingerprint=fingerprint, **changes))
    return path


def change_manifest(path, change):
    """Change the manifest of a results folder on disk, as a version of headcats would that wrote other things."""
    file = Path(path) / "manifest.json"
    stored = json.loads(json_content_of(file.read_bytes()))
    change(stored)
    file.write_bytes(json_with_checksum(json.dumps(stored)))


def files(path, pattern="*"):
    """Every file with its content and the time it was written."""
    return {
        str(file.relative_to(path)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(Path(path).rglob(pattern))
        if file.is_file()
    }
