"""Findings of `hc.run_evidence`: tables of the tests, what they say, and the verdicts."""

import collections
import itertools
import json
from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.evidence.verdicts import LEAST_CONTROLS, damaged_more, share, tasks_with_heads
from headcats.reports.text.finding import Finding, Table, item, line, paragraph, table
from headcats.reports.text.wording import first_names

# Direct and total effects below this share of the gap are not listed.
_LEAST = 0.001
_LINES = ["damage", "95 %", "random 95 %", "p (sets)", "exact p (n)"]
_SIDES = ("own", "other")


def evidence_findings(evidence: xr.DataTree) -> Iterator[Finding]:
    """How heads were tested, the tables of each test, what they say, and the verdicts.

    Args:
        evidence: What `hc.run_evidence` returns, or reads from its folder.
    """
    options = json.loads(evidence.attrs["options"])
    nodes = {name: node.to_dataset() for name, node in evidence.children.items()}
    matchings = {
        kind
        for name in ("specificity", "exclusive")
        for text in nodes[name]["matched"].values.tolist()
        for kind in text.split("+")
    }
    yield paragraph(
        "evidence.tested",
        effect=line("evidence.task_specific") if options["effect"] == "task_specific" else None,
        thirds=line("evidence.thirds") if "thirds" in matchings else None,
        **{name: options[name] for name in ("method", "metric", "rule", "positions", "n_prompts")},
    )
    if (nodes["specificity"]["heads"] != "").any():
        yield from _tables(nodes)
    else:
        yield paragraph("evidence.no_heads")
    yield paragraph("evidence.reading")
    for text in evidence.attrs["reading"].splitlines():
        yield item("evidence.statement", text=text)
    rows = [
        [
            name,
            *(nodes[node]["verdict"].sel(category=name).item() for node in ("specificity", "exclusive")),
            ", ".join(damaged_more(nodes["specificity"], name)),
        ]
        for name in nodes["specificity"]["category"].values.tolist()
    ]
    columns = ["category", "by its heads", "by those in no other category", "its heads damage more"]
    yield table("evidence.verdicts", columns, rows)


def _tables(nodes: dict[str, xr.Dataset]) -> Iterator[Finding]:
    yield paragraph("evidence.columns", least=LEAST_CONTROLS)
    for name in ("specificity", "exclusive"):
        if not (nodes[name]["heads"] != "").any():
            yield paragraph("evidence.exclusive_none")
            continue
        if name == "exclusive" and nodes[name]["heads"].equals(nodes["specificity"]["heads"]):
            yield paragraph("evidence.exclusive_same")
            continue
        yield _matrix(f"evidence.{name}", nodes[name])
        yield _tested(nodes[name])
        if (nodes[name]["rival"] != "").any():
            yield _rivals(nodes[name])
    yield _contrasts(nodes["contrasts"])
    yield from _curves(nodes["curves"])
    yield from _self_repair(nodes["self_repair"])


def _matrix(id: str, data: xr.Dataset) -> Table:
    targets = data["target"].values.tolist()
    rows = []
    for name in data["category"].values.tolist():
        row = data.sel(category=name)
        if not (row["heads"] != "").any():
            rows.append([name, "no heads", *[""] * (len(targets) + 1), row["verdict"].item()])
            continue
        cells = [_cell(row.sel(target=target), "", tasks_with_heads(row, target)) for target in targets]
        parts = [[name], _LINES, *cells, _cell(row, "specificity_"), [row["verdict"].item()]]
        # One row of the table per line, so that a line that has to be folded does not shift the others.
        rows += [list(texts) for texts in itertools.zip_longest(*parts, fillvalue="")]
    return table(id, ["heads of", "", *targets, "specificity", "verdict"], rows)


def _tested(data: xr.Dataset) -> Table:
    rows = []
    for name in data["category"].values.tolist():
        sets = collections.Counter(data["heads"].sel(category=name).values.tolist())
        rows += [
            ["" if place else name, heads or "none", str(n)] for place, (heads, n) in enumerate(sets.most_common())
        ]
    return table("evidence.heads", ["heads of", "tested heads", "on tasks"], rows)


def _rivals(data: xr.Dataset) -> Table:
    rows = []
    for name in data["category"].values.tolist():
        row = data.sel(category=name)
        if rival := row["rival"].item():
            damage, more = row["rival_damage"].item(), row["advantage"].item()
            bounds = _between(row["advantage_low"].item(), row["advantage_high"].item())
            n = str(int(row["rival_n_tasks"]))
            rows.append([name, n, _number(damage + more), rival, _number(damage), _number(more), bounds])
    columns = ["tasks of", "n", "by own heads", "rival", "by the rival's", "difference", "95 %"]
    return table("evidence.rivals", columns, rows, numeric=("n", "by own heads", "by the rival's", "difference"))


def _cell(cell: xr.Dataset, prefix: str, tasks: str = "") -> list[str]:
    """One text for each of `_LINES`."""
    value = cell[prefix.rstrip("_") or "damage"].item()
    if not np.isfinite(value):
        return ["-"]
    low, high, random_low, random_high = (
        cell[f"{prefix}{name}"].item() for name in ("low", "high", "control_low", "control_high")
    )
    p = f"{_number(cell[f'{prefix}p'].item(), 3)} ({int(cell[f'{prefix}n_controls'])})"
    damage = f"{_number(value)}{f' (on {tasks})' if tasks else ''}"
    lines = [damage, _between(low, high), _between(random_low, random_high), p]
    if prefix:
        lines.append(f"{_number(cell['specificity_exact_p'].item(), 3)} ({int(cell['n_relabelled'])})")
    return lines


def _contrasts(data: xr.Dataset) -> Table:
    names = data["category"].values.tolist()
    pairs = [(first, second) for first in names for second in data["other"].values.tolist() if first != second]
    rows = []
    for first, second in pairs:
        cell = data.sel(category=first, other=second)
        tasks = " against ".join(first_names(cell[f"{side}_tasks"].item().split(","), 3) for side in _SIDES)
        shared_prompts = any(cell[f"{side}_prompts"].item() for side in _SIDES)
        rows.append(
            [
                first,
                second,
                f"{_number(cell['own'].item())} ({cell['own_prompts'].item()})",
                f"{_number(cell['elsewhere'].item())} ({cell['other_prompts'].item()})",
                _number(cell["difference"].item()),
                _between(*(cell[f"control_{end}"].item() for end in ("low", "high"))),
                _number(cell["p"].item(), 3),
                _number(cell["interaction"].item()),
                cell["note"].item() or tasks if shared_prompts else "no prompt of the one shows the other",
            ]
        )
    columns = ["heads of", "other", "own (prompts)", "other's (prompts)", "difference", "random", "p*", "both", "tasks"]
    return table("evidence.contrasts", columns, rows, numeric=columns[2:8])


def _curves(data: xr.Dataset) -> Iterator[Finding]:
    rows, fewer = [], False
    for name in data["category"].values.tolist():
        first_counts = data["n_tasks"].sel(category=name).isel(k=0).values.ravel().tolist()
        for k in data["k"].values.tolist():
            sides = [data.sel(category=name, k=k, side=side) for side in ("own", "others")]
            counts = [int(side["n_tasks"]) for side in sides]
            if not sum(counts):
                continue
            mark = "*" if counts != first_counts else ""
            fewer = fewer or bool(mark)
            cells = [
                [_number(side["damage"].item()), _range(side["random"].values), str(n)]
                for side, n in zip(sides, counts, strict=True)
            ]
            rows.append([name, f"{k}{mark}", *cells[0], *cells[1]])
    columns = ["heads of", "heads", "own tasks", "random", "n", "other categories", "random ", "n "]
    yield table("evidence.curves", columns, rows, numeric=columns[1:])
    if fewer:
        yield line("evidence.fewer_tasks")


def _range(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    return f"{_number(finite.mean())} ({_between(finite.min(), finite.max())})" if len(finite) else "-"


def _self_repair(data: xr.Dataset) -> Iterator[Finding]:
    names = data["category"].values.tolist()
    sums = [
        [name, *(_number(data[part].sel(category=name).item()) for part in ("sum_of_single", "joint", "redundancy"))]
        for name in names
    ]
    columns = ["heads of", "sum of single damages", "joint damage", "joint minus sum"]
    yield table("evidence.self_repair", columns, sums, numeric=columns[1:])
    rows, small = [], 0
    for name, place in itertools.product(names, data["place"].values.tolist()):
        cell = data.sel(category=name, place=place)
        effects = [cell[part].item() for part in ("direct", "total", "repaired")]
        if not cell["head"].item():
            continue
        if abs(effects[1]) < _LEAST and abs(effects[0]) < _LEAST:  # so never where one of them is not known
            small += 1
        else:
            rows.append([name, cell["head"].item(), *(_number(value, 3) for value in effects)])
    if rows:
        columns = ["heads of", "head", "direct effect", "total effect", "repaired"]
        yield table("evidence.repaired", columns, rows, numeric=columns[2:])
    if any(row[-1] != "-" for row in rows):
        yield line("evidence.repaired_sign")
    if small:
        yield line("evidence.small", n=small, least=_LEAST)


def _number(value: float, digits: int | None = None) -> str:
    """A share of the gap as the reading prints it, or with so many digits."""
    if not np.isfinite(value):
        return "-"
    return share(value) if digits is None else f"{value:z.{digits}f}"


def _between(low: float, high: float) -> str:
    return f"{_number(low)} to {_number(high)}" if np.isfinite(low) else "-"
