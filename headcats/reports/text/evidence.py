"""What the result of `evidence` says."""

import collections
import itertools
import json
from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.errors import pluralize
from headcats.evidence.verdicts import LEAST_CONTROLS, damaged_more, share, tasks_with_heads
from headcats.reports.text.table import Finding, Paragraph, Table, table

# Direct and total effects below this share of the gap are not listed.
_LEAST = 0.001


def evidence_findings(found: xr.DataTree) -> Iterator[Finding]:
    """Every table, and the reading.

    Args:
        found: What `hc.run_evidence` returns, or reads from its folder.
    """
    options = json.loads(found.attrs["options"])
    effect = "task-specific effects, " if options["effect"] == "task_specific" else ""
    yield Paragraph(
        f"Heads chosen by {options['method']}, {effect}{options['metric']}, rule {options['rule']}, on half of the "
        f"query items and without the tested task; ablated jointly at positions '{options['positions']}' on up to "
        f"{options['n_prompts']} held-out prompts per task. Damage is the drop of the answer's log-probability as a "
        f"share of the gap; {_matched(found)}"
    )
    nodes = {name: node.to_dataset() for name, node in found.children.items()}
    if (nodes["specificity"]["heads"] != "").any():
        yield from _tables(nodes)
    else:
        yield Paragraph("No category has heads to test; there are no numbers to show.")
    yield Paragraph("Reading")
    for sentence in found.attrs["reading"].splitlines():
        yield f"- {sentence}"
    rows = [
        [
            name,
            *(nodes[node]["verdict"].sel(category=name).item() for node in ("specificity", "exclusive")),
            ", ".join(damaged_more(nodes["specificity"], name)),
        ]
        for name in nodes["specificity"]["category"].values.tolist()
    ]
    columns = ["category", "by its heads", "by those in no other category", "its heads damage more"]
    yield table("Verdicts", columns, rows)


def _tables(nodes: dict[str, xr.Dataset]) -> Iterator[Finding]:
    yield Paragraph(
        "In the next tables, `specificity` is the damage to a category's own tasks minus the mean of the other "
        "columns, `random 95 %` the middle 95 % of random sets, `p (sets)` the share of sets (how many) that do as "
        "much, the tested one counted in, and `exact p (n)` that among n relabellings of the heads within their "
        "layers. The verdict rests on the exact p, the interval of the specificity and, where at least "
        f"{LEAST_CONTROLS} sets exist, its p (sets)."
    )
    for name, title in (
        ("specificity", "Damage by heads of (rows) to tasks of (columns), with 95 % interval"),
        ("exclusive", "The same by heads that are in no other category"),
    ):
        if not (nodes[name]["heads"] != "").any():
            yield Paragraph(f"{title}: no category has any.")
            continue
        if name == "exclusive" and nodes[name]["heads"].equals(nodes["specificity"]["heads"]):
            yield Paragraph(f"{title}: these are all of the tested heads.")
            continue
        yield _matrix(title, nodes[name])
        yield _tested(nodes[name])
        if (nodes[name]["rival"] != "").any():
            yield _rivals(nodes[name])
    yield _contrasts(nodes["contrasts"])
    yield from _curves(nodes["curves"])
    yield from _self_repair(nodes["self_repair"])


def _matched(found: xr.DataTree) -> str:
    kinds = {
        kind
        for name in ("specificity", "exclusive")
        for text in found[name].to_dataset()["matched"].values.tolist()
        for kind in text.split("+")
    }
    told = "random sets have as many heads of every layer as the tested ones and none of them"
    if "thirds" in kinds:
        told += ", or of every third of the layers where no such set exists"
    return f"{told}."


_LINES = ["damage", "95 %", "random 95 %", "p (sets)", "exact p (n)"]


def _matrix(title: str, data: xr.Dataset) -> Table:
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
        rows += [list(line) for line in itertools.zip_longest(*parts, fillvalue="")]
    return table(title, ["heads of", "", *targets, "specificity", "verdict"], rows)


def _tested(data: xr.Dataset) -> Table:
    rows = []
    for name in data["category"].values.tolist():
        sets = collections.Counter(data["heads"].sel(category=name).values.tolist())
        first = [name]
        for heads, n in sets.most_common():
            rows.append([*(first or [""]), heads or "none", str(n)])
            first = []
    return table("Tested heads (chosen without the task)", ["heads of", "tested heads", "on tasks"], rows)


def _rivals(data: xr.Dataset) -> Table:
    rows = []
    for name in data["category"].values.tolist():
        row = data.sel(category=name)
        if rival := row["rival"].item():
            theirs, more = row["rival_damage"].item(), row["advantage"].item()
            bounds = _between(row["advantage_low"].item(), row["advantage_high"].item())
            n = str(int(row["rival_n_tasks"]))
            rows.append([name, n, _number(theirs + more), rival, _number(theirs), _number(more), bounds])
    columns = ["tasks of", "n", "by own heads", "rival", "by the rival's", "difference", "95 %"]
    title = "Beside the rival: the other category whose heads do most here (no part of the verdict)"
    numeric = ("n", "by own heads", "by the rival's", "difference")
    return table(title, columns, rows, numeric=numeric)


def _cell(cell: xr.Dataset, prefix: str, on: str = "") -> list[str]:
    """One text for each of `_LINES`."""
    value = cell[prefix.rstrip("_") or "damage"].item()
    if not np.isfinite(value):
        return ["-"]
    low, high, random_low, random_high = (
        cell[f"{prefix}{name}"].item() for name in ("low", "high", "control_low", "control_high")
    )
    p = f"{_number(cell[f'{prefix}p'].item(), 3)} ({int(cell[f'{prefix}n_controls'])})"
    shown = f"{_number(value)}{f' (on {on})' if on else ''}"
    lines = [shown, _between(low, high), _between(random_low, random_high), p]
    if prefix:
        lines.append(f"{_number(cell['specificity_exact_p'].item(), 3)} ({int(cell['n_relabelled'])})")
    return lines


SIDES = ("own", "other")


def _contrasts(data: xr.Dataset) -> Table:
    rows = []
    for name in data["category"].values.tolist():
        for other in data["other"].values.tolist():
            cell = data.sel(category=name, other=other)
            if name == other:
                continue
            strangers = not cell["own_prompts"].item() and not cell["other_prompts"].item()
            low, high = (cell[f"control_{end}"].item() for end in ("low", "high"))
            rows.append(
                [
                    name,
                    other,
                    f"{_number(cell['own'].item())} ({cell['own_prompts'].item()})",
                    f"{_number(cell['elsewhere'].item())} ({cell['other_prompts'].item()})",
                    _number(cell["difference"].item()),
                    _between(low, high),
                    _number(cell["p"].item(), 3),
                    _number(cell["interaction"].item()),
                    "no prompt of the one shows the other"
                    if strangers
                    else cell["note"].item() or " against ".join(_some(cell[f"{side}_tasks"].item()) for side in SIDES),
                ]
            )
    columns = ["heads of", "other", "own (prompts)", "other's (prompts)", "difference", "random", "p*", "both", "tasks"]
    title = "Damage on words that two categories share (* describes, decides nothing)"
    return table(title, columns, rows, numeric=columns[2:8])


def _some(names: str) -> str:
    listed = names.split(",")
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _curves(data: xr.Dataset) -> Iterator[Finding]:
    rows, fewer = [], False
    for name in data["category"].values.tolist():
        first = data["n_tasks"].sel(category=name).isel(k=slice(1))
        for k in data["k"].values.tolist():
            own, others = (data.sel(category=name, k=k, side=side) for side in ("own", "others"))
            counts = [int(side["n_tasks"]) for side in (own, others)]
            if not sum(counts):
                continue
            mark = "*" if counts != first.values.ravel().tolist() else ""
            fewer = fewer or bool(mark)
            numbers = [(_number(side["damage"].item()), _range(side["random"].values)) for side in (own, others)]
            rows.append([name, f"{k}{mark}", *numbers[0], str(counts[0]), *numbers[1], str(counts[1])])
    columns = ["heads of", "heads", "own tasks", "random", "n", "other categories", "random ", "n "]
    title = "Heads ablated one after the other, the most specific first (n: how many tasks)"
    yield table(title, columns, rows, numeric=columns[1:])
    if fewer:
        yield "* on fewer tasks than the rows above, as fewer heads were found without some: not to be compared."


def _range(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{_number(known.mean())} ({_between(known.min(), known.max())})" if len(known) else "-"


def _self_repair(data: xr.Dataset) -> Iterator[Finding]:
    names = data["category"].values.tolist()
    sums = [
        [name, *(_number(data[part].sel(category=name).item()) for part in ("sum_of_single", "joint", "redundancy"))]
        for name in names
    ]
    columns = ["heads of", "sum of single damages", "joint damage", "joint minus sum"]
    title = "Self-repair: do the heads, chosen over all tasks, stand in for each other?"
    yield table(title, columns, sums, numeric=columns[1:])
    rows, small = [], 0
    for name in names:
        for place in data["place"].values.tolist():
            cell = data.sel(category=name, place=place)
            direct, total, repaired = (cell[part].item() for part in ("direct", "total", "repaired"))
            if not cell["head"].item():
                continue
            if abs(total) < _LEAST and abs(direct) < _LEAST:  # so never where one of them is not known
                small += 1
                continue
            rows.append([name, cell["head"].item(), *(_number(value, 3) for value in (direct, total, repaired))])
    if rows:
        columns = ["heads of", "head", "direct effect", "total effect", "repaired"]
        title = "and do later layers make up for a head?"
        yield table(title, columns, rows, numeric=columns[2:])
    if any(row[-1] != "-" for row in rows):
        yield (
            "repaired = direct - total effect: above 0, later layers make up for the head; below 0, they carry what it "
            "does."
        )
    if small:
        yield f"{pluralize(small, 'head')} with both effects below {_LEAST} of the gap not listed."


def _number(value: float, digits: int | None = None) -> str:
    """A share of the gap as the reading prints it, or with so many digits."""
    if not np.isfinite(value):
        return "-"
    # Adding 0 takes the sign off a -0.000.
    return share(value) if digits is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _between(low: float, high: float) -> str:
    return f"{_number(low)} to {_number(high)}" if np.isfinite(low) else "-"
