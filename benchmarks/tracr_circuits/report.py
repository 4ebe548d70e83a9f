"""The work "circuits" of the recovery benchmark: what headcats finds in the compiled transformer, beside the truth."""

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr
from recovery_parts.tables import Part
from sections import Table

import headcats as hc
from headcats.models.adapter import adapt
from headcats.models.head import Head
from headcats.papers.planted.compiled import circuits, compiled_model, heads, prompts, true_effects
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, TaskRecord
from headcats.results.stored_run import tree

METHODS, POSITIONS = ("denoising_patch", "noising_patch"), ("all", "last")
RULE = hc.rules.fdr(alpha=0.05, min_effect=0.05)


def report(*, tasks: Sequence[str] | None = None, note: Callable[[str], None] = lambda text: None) -> Part:
    """Sweep tasks, and let the default rule call the heads of each: one row per task, method and positions.

    `true`: heads that serve the task at these positions, by tracr's RASP interpreter; `found`: those that were called.
    """
    model, rows, tasks = adapt(compiled_model()), [], tasks or list(circuits()["tasks"])
    manifest = Manifest(
        tasks=dict.fromkeys(tasks, TaskRecord("Circuits")), categories=(CategoryRecord("Circuits", "#1f77b4"),)
    )
    for method in METHODS:
        for positions in POSITIONS:
            label = f"{method}@{positions}"
            note(f"circuits: {label}")
            sweeps = {task: hc.sweep(model, prompts(task), method, positions=positions) for task in tasks}
            results = tree({(task, label): sweep for task, sweep in sweeps.items()}, manifest)
            called = RULE(hc.score(results, method=method)) == 1
            for task, sweep in sweeps.items():
                truth = true_effects(task, method=method, positions=positions)
                rows.append(
                    {
                        "task": task, "method": method, "positions": positions,
                        "true": _names((truth != 0).any("prompt")), "found": _names(called.sel(task=task)),
                        "largest_error": float(abs(shares(sweep) - truth).max()),
                    }
                )  # fmt: skip
    return Part([_table(rows)], rows)


def shares(sweep: xr.Dataset) -> xr.DataArray:
    """(prompt, layer, head): effects in shares of the mean gap."""
    sweep = sweep.isel(metric=0).astype("float64")
    difference = sweep.patched - sweep.corrupted if sweep.attrs["base"] == "corrupted" else sweep.clean - sweep.patched
    effect = difference / (sweep.clean - sweep.corrupted).mean("prompt")
    return effect.transpose("prompt", "layer", "head").drop_vars(effect.coords)


def _names(chosen: xr.DataArray) -> list[str]:
    return [str(Head(*map(int, place))) for place in zip(*chosen.values.nonzero(), strict=True)]


def _table(rows: list[dict[str, Any]]) -> Table:
    names = {str(head): f"{head} {name}" for head, name in heads().items()}
    cells = []
    for task in dict.fromkeys(row["task"] for row in rows):
        of_task = circuits()["tasks"][task]
        found = {(row["positions"], row["method"]): set(row["found"]) for row in rows if row["task"] == task}
        true = next(row["true"] for row in rows if row["task"] == task and row["positions"] == "all")
        counts = (
            " / ".join(f"{len(found[positions, method].intersection(true))} of {len(true)}" for method in METHODS)
            for positions in POSITIONS
        )
        missed = [names[head] for head in true if not any(head in found["last", method] for method in METHODS)]
        wrong = str(len(set.union(*found.values()).difference(true)))
        cells.append(
            (task, of_task["computes"], ", ".join(map(names.get, true)), *counts, ", ".join(missed) or "–", wrong)
        )
    found_at = (f"found at {positions}" for positions in POSITIONS)
    columns = ("task", "answer", "heads that serve it", *found_at, "missed at last", "called wrongly")
    config, error = circuits()["config"], max(row["largest_error"] for row in rows)
    text = (
        f"A transformer of {config['n_layers']} layers x {config['n_heads']} heads that tracr compiled from one RASP "
        f"program; {len(names)} heads compute something, the others are filled up with zeros. `third` answers a task "
        "that nobody asks for, and `task` says the same in both prompts of a pair, so no patch can see it. The prompt "
        "is a task, four letters x0 to x3 and q, which is x0 or x1; pairs on which a patch would leave the program "
        "without any answer are not used. Heads that serve a task: their values change its "
        "answer in tracr's RASP interpreter. Found: by denoising / noising patch and "
        "`fdr(alpha=0.05, min_effect=0.05)`. Called wrongly: other heads, in any of the four sweeps. "
        f"Largest difference between an effect and what the interpreter says, over {len(rows)} sweeps, all heads and "
        f"prompts: {error:.1g} of the gap."
    )
    return Table("Circuits compiled by tracr", columns, cells, text)
