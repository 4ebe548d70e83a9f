"""Findings of `hc.run_evidence`: tables of the tests, what they say, and the verdicts."""

import collections
import itertools
import json
from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.evidence.verdicts import LEAST_CONTROLS, damaged_more, tasks_with_heads
from headcats.results.finding import (
    Finding,
    Table,
    by_category,
    first_names,
    item,
    line,
    number_text,
    paragraph,
    share_text,
    table,
)

# Direct and total effects below this share of the gap are not listed.
_LEAST = 0.001
_LINES = ["damage", "95 %", "random 95 %", "p (sets)", "exact p (n)"]
_SIDES = ("own", "other")


def evidence_findings(evidence: xr.DataTree) -> Iterator[Finding]:
    """What `hc.run_evidence` returns: how heads were tested, the tables of each test, what they say, the verdicts."""
    options = json.loads(evidence.attrs["options"])
    nodes = {name: node.to_dataset() for name, node in evidence.children.items()}
    tested = {name: nodes[name] for name in ("specificity", "exclusive")}
    matchings = "+".join(text for data in tested.values() for text in data["matched"].values.tolist())
    yield paragraph(
        "evidence.tested",
        effect=line("evidence.task_specific") if options["effect"] == "task_specific" else None,
        thirds=line("evidence.thirds") if "thirds" in matchings.split("+") else None,
        **{name: options[name] for name in ("method", "metric", "rule", "positions", "n_prompts")},
    )
    if _any_heads(nodes["specificity"]):
        yield from _tables(nodes, tested)
    else:
        yield paragraph("evidence.no_heads")
    yield paragraph("evidence.reading")
    for text in evidence.attrs["reading"].splitlines():
        yield item("evidence.statement", text=text)
    rows = [
        [
            name,
            *(data["verdict"].sel(category=name).item() for data in tested.values()),
            ", ".join(damaged_more(nodes["specificity"], name)),
        ]
        for name in nodes["specificity"]["category"].values.tolist()
    ]
    columns = ["category", "by its heads", "by those in no other category", "its heads damage more"]
    yield table("evidence.verdicts", columns, rows)


def _any_heads(data: xr.Dataset) -> bool:
    return bool((data["heads"] != "").any())


def _tables(nodes: dict[str, xr.Dataset], tested: dict[str, xr.Dataset]) -> Iterator[Finding]:
    yield paragraph("evidence.columns", least=LEAST_CONTROLS)
    for name, data in tested.items():
        if not _any_heads(data):
            yield paragraph("evidence.exclusive_none")
        elif name == "exclusive" and data["heads"].equals(nodes["specificity"]["heads"]):
            yield paragraph("evidence.exclusive_same")
        else:
            yield _matrix(f"evidence.{name}", data)
            yield _tested(data)
            if (data["rival"] != "").any():
                yield _rivals(data)
    yield _contrasts(nodes["contrasts"])
    yield from _curves(nodes["curves"])
    yield from _self_repair(nodes["self_repair"])


def _matrix(id: str, data: xr.Dataset) -> Table:
    targets = data["target"].values.tolist()
    rows = []
    for name, row in by_category(data):
        if not _any_heads(row):
            rows.append([name, "no heads", *[""] * (len(targets) + 1), row["verdict"].item()])
            continue
        cells = [_cell(row.sel(target=target), "", tasks_with_heads(row, target)) for target in targets]
        parts = [[name], _LINES, *cells, _cell(row, "specificity_"), [row["verdict"].item()]]
        # One row of the table per line, so that a line that has to be folded does not shift the others.
        rows += [list(texts) for texts in itertools.zip_longest(*parts, fillvalue="")]
    return table(id, ["heads of", "", *targets, "specificity", "verdict"], rows)


def _tested(data: xr.Dataset) -> Table:
    rows = []
    for name, row in by_category(data):
        sets = collections.Counter(row["heads"].values.tolist()).most_common()
        rows += [["" if place else name, heads or "none", str(n)] for place, (heads, n) in enumerate(sets)]
    return table("evidence.heads", ["heads of", "tested heads", "on tasks"], rows)


def _rivals(data: xr.Dataset) -> Table:
    rows = []
    for name, row in by_category(data):
        if rival := row["rival"].item():
            damage, more = row["rival_damage"].item(), row["advantage"].item()
            n, bounds = str(int(row["rival_n_tasks"])), _ends(row, "advantage_")
            rows.append([name, n, share_text(damage + more), rival, share_text(damage), share_text(more), bounds])
    columns = ["tasks of", "n", "by own heads", "rival", "by the rival's", "difference", "95 %"]
    return table("evidence.rivals", columns, rows, numeric=("n", "by own heads", "by the rival's", "difference"))


def _cell(cell: xr.Dataset, prefix: str, tasks: str = "") -> list[str]:
    """One text for each of `_LINES`."""
    value = cell[prefix.rstrip("_") or "damage"].item()
    if not np.isfinite(value):
        return ["-"]
    lines = [
        f"{share_text(value)}{f' (on {tasks})' if tasks else ''}",
        _ends(cell, prefix),
        _ends(cell, f"{prefix}control_"),
        f"{number_text(cell[f'{prefix}p'], 3)} ({int(cell[f'{prefix}n_controls'])})",
    ]
    if prefix:
        lines.append(f"{number_text(cell['specificity_exact_p'], 3)} ({int(cell['n_relabelled'])})")
    return lines


def _contrasts(data: xr.Dataset) -> Table:
    rows = []
    for (first, row), second in itertools.product(by_category(data), data["other"].values.tolist()):
        if first == second:
            continue
        cell = row.sel(other=second)
        tasks = " against ".join(first_names(cell[f"{side}_tasks"].item().split(","), 3) for side in _SIDES)
        shared_prompts = any(cell[f"{side}_prompts"].item() for side in _SIDES)
        rows.append(
            [
                first,
                second,
                f"{share_text(cell['own'].item())} ({cell['own_prompts'].item()})",
                f"{share_text(cell['elsewhere'].item())} ({cell['other_prompts'].item()})",
                share_text(cell["difference"].item()),
                _ends(cell, "control_"),
                number_text(cell["p"], 3),
                share_text(cell["interaction"].item()),
                cell["note"].item() or tasks if shared_prompts else str(line("evidence.no_shared_prompt")),
            ]
        )
    columns = ["heads of", "other", "own (prompts)", "other's (prompts)", "difference", "random", "p*", "both", "tasks"]
    return table("evidence.contrasts", columns, rows, numeric=columns[2:8])


def _curves(data: xr.Dataset) -> Iterator[Finding]:
    rows = []
    for name, row in by_category(data):
        sides = [row.sel(side=side) for side in ("own", "others")]
        all_tasks = [int(side["n_tasks"][0]) for side in sides]
        for place, k in enumerate(data["k"].values.tolist()):
            steps = [side.isel(k=place) for side in sides]
            counts = [int(step["n_tasks"]) for step in steps]
            if sum(counts):
                cells = [(share_text(step["damage"].item()), _range(step["random"].values)) for step in steps]
                mark = "*" if counts != all_tasks else ""
                rows.append([name, f"{k}{mark}", *cells[0], str(counts[0]), *cells[1], str(counts[1])])
    columns = ["heads of", "heads", "own tasks", "random", "n", "other categories", "random ", "n "]
    yield table("evidence.curves", columns, rows, numeric=columns[1:])
    if any(row[1].endswith("*") for row in rows):
        yield line("evidence.fewer_tasks")


def _self_repair(data: xr.Dataset) -> Iterator[Finding]:
    parts = ("sum_of_single", "joint", "redundancy")
    sums = [[name, *(share_text(row[part].item()) for part in parts)] for name, row in by_category(data)]
    columns = ["heads of", "sum of single damages", "joint damage", "joint minus sum"]
    yield table("evidence.self_repair", columns, sums, numeric=columns[1:])
    rows, small = [], 0
    for (name, row), place in itertools.product(by_category(data), range(data.sizes["place"])):
        cell = row.isel(place=place)
        direct, total, repaired = (cell[part].item() for part in ("direct", "total", "repaired"))
        if not cell["head"].item():
            continue
        if abs(total) < _LEAST and abs(direct) < _LEAST:  # so never where one of them is not known
            small += 1
        else:
            rows.append([name, cell["head"].item(), *(number_text(value, 3) for value in (direct, total, repaired))])
    if rows:
        columns = ["heads of", "head", "direct effect", "total effect", "repaired"]
        yield table("evidence.repaired", columns, rows, numeric=columns[2:])
    if any(row[-1] != "-" for row in rows):
        yield line("evidence.repaired_sign")
    if small:
        yield line("evidence.small", n=small, least=_LEAST)


def _ends(cell: xr.Dataset, prefix: str) -> str:
    low, high = (cell[f"{prefix}{end}"].item() for end in ("low", "high"))
    return f"{share_text(low)} to {share_text(high)}" if np.isfinite(low) else "-"


def _range(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "-"
    mean, low, high = (share_text(value) for value in (finite.mean(), finite.min(), finite.max()))
    return f"{mean} ({low} to {high})"
