"""Findings of `hc.run_evidence`: tables of the tests, what they say, and the verdicts."""

import collections
import json
from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.evidence.verdicts import damaged_more
from headcats.results.finding import (
    Finding,
    Table,
    by_category,
    item,
    line,
    number_text,
    paragraph,
    share_text,
    table,
)


def evidence_findings(evidence: xr.DataTree) -> Iterator[Finding]:
    """Findings on evidence: how heads were tested, the tables of each test, what they say, the verdicts."""
    options = json.loads(evidence.attrs["options"])
    nodes = {name: node.to_dataset() for name, node in evidence.children.items()}
    yield paragraph(
        "evidence.tested",
        effect=line("evidence.task_specific") if options["effect"] == "task_specific" else None,
        **{name: options[name] for name in ("method", "metric", "positions", "n_prompts")},
    )
    if (nodes["specificity"]["heads"] != "").any():
        yield from _tables(nodes)
    else:
        yield paragraph("evidence.no_heads")
    yield paragraph("evidence.reading")
    for text in evidence.attrs["reading"].splitlines():
        yield item("text.plain", text=text)
    yield _verdicts(nodes)
    yield line("evidence.units")


def _verdicts(nodes: dict[str, xr.Dataset]) -> Table:
    rows = [
        [
            name,
            row["verdict"].item(),
            number_text(row["signature_difference"]),
            number_text(row["signature_p"], 3),
            share_text(nodes["specificity"]["specificity"].sel(category=name).item()),
            number_text(row["causal_p"], 3),
            str(int(nodes["specificity"]["n_units"].sel(category=name, target=name))),
            ", ".join(damaged_more(nodes["specificity"], name)),
        ]
        for name, row in by_category(nodes["relabelling"])
    ]
    columns = [
        "category",
        "verdict",
        "likeness",
        "p of it",
        "specificity",
        "p of that",
        "units",
        "damages more than its own",
    ]
    return table("evidence.verdicts", columns, rows, numeric=columns[2:7])


def _tables(nodes: dict[str, xr.Dataset]) -> Iterator[Finding]:
    yield paragraph("evidence.columns")
    yield _matrix(nodes["specificity"])
    yield _tested(nodes["specificity"])
    yield from _curves(nodes["curves"])


def _matrix(data: xr.Dataset) -> Table:
    targets = data["target"].values.tolist()
    rows = []
    for name, row in by_category(data):
        cells = [_cell(row.sel(target=target), "damage") for target in targets]
        cells.append(_cell(row, "specificity", "specificity_"))
        rows += [[name, *(cell[0] for cell in cells)], ["", *(cell[1] for cell in cells)]]
    return table("evidence.specificity", ["heads of", *targets, "specificity"], rows)


def _tested(data: xr.Dataset) -> Table:
    rows = []
    for name, row in by_category(data):
        sets = collections.Counter(row["heads"].values.tolist()).most_common()
        rows += [["" if place else name, heads or "none", str(n)] for place, (heads, n) in enumerate(sets)]
    return table("evidence.heads", ["heads of", "tested heads", "on tasks"], rows)


def _cell(cell: xr.Dataset, name: str, ends: str = "") -> tuple[str, str]:
    """A value and its interval."""
    return (share_text(cell[name].item()), _ends(cell, ends)) if np.isfinite(cell[name].item()) else ("-", "")


def _curves(data: xr.Dataset) -> Iterator[Finding]:
    rows = []
    for name, row in by_category(data):
        sides = [row.sel(side=side) for side in ("own", "others")]
        all_tasks = [int(side["n_tasks"][0]) for side in sides]
        for place, k in enumerate(data["k"].values.tolist()):
            steps = [side.isel(k=place) for side in sides]
            counts = [int(step["n_tasks"]) for step in steps]
            if sum(counts):
                own, others = (share_text(step["damage"].item()) for step in steps)
                mark = "*" if counts != all_tasks else ""
                random = _range(steps[0]["random"].values)
                rows.append([name, f"{k}{mark}", own, random, str(counts[0]), others, str(counts[1])])
    columns = ["heads of", "heads", "own tasks", "random", "n", "other categories", "n "]
    yield table("evidence.curves", columns, rows, numeric=columns[1:])
    if any(row[1].endswith("*") for row in rows):
        yield line("evidence.fewer_tasks")


def _ends(cell: xr.Dataset, prefix: str) -> str:
    low, high = (cell[f"{prefix}{end}"].item() for end in ("low", "high"))
    return f"{share_text(low)} to {share_text(high)}" if np.isfinite(low) else "-"


def _range(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "-"
    mean, low, high = (share_text(value) for value in (finite.mean(), finite.min(), finite.max()))
    return f"{mean} ({low} to {high})"
