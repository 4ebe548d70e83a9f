"""What became of the words and prompts of every task, as a table: kept, and dropped for which reason."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.results.manifest import Manifest
from headcats.results.records import DropCounts

DROPS = "_drops"
"""Name of the table in a results tree. No task can have this name."""
KEPT = "kept"
COLUMNS = ("task", "what", "reason", "n", "example")
_COUNTED = ("rows", "word_pairs", "prompts", "reference_prompts")

Row = tuple[str, str, str, int, str]


def drop_table(manifest: Manifest) -> xr.Dataset:
    """One row per task, `what` (of a method that leaves prompts out its label) and `reason`, "kept" among them."""
    rows = [row for task in manifest.tasks for row in _rows(manifest, task)]
    columns = {
        name: np.array([row[place] for row in rows], dtype=np.int64 if name == "n" else object)
        for place, name in enumerate(COLUMNS)
    }
    return xr.Dataset({name: ("drop", values) for name, values in columns.items()})


def _rows(manifest: Manifest, task: str) -> Iterator[Row]:
    record = manifest.tasks[task]
    for name in _COUNTED:
        counts: DropCounts = getattr(record, name)
        if counts.kept is not None:
            yield task, name.replace("_", " "), KEPT, counts.kept, ""
        for reason, number in counts.dropped.items():
            yield task, name.replace("_", " "), reason, number, counts.examples.get(reason, "")
    for label in manifest.blocks:
        if (block := manifest.record(task, label)) is not None and block.dropped:
            yield task, label, "left out by the method", block.dropped, ""
