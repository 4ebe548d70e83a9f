"""Findings of `hc.run_evidence`: tables of the tests, what they say, and the verdicts."""

import collections
import json
from collections.abc import Iterator

import xarray as xr

from headcats.results.finding import Finding, Table, by_category, item, line, number_text, paragraph, share_text, table


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
        yield paragraph("evidence.columns")
        yield _matrix(nodes["specificity"])
        yield _tested(nodes["specificity"])
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
            number_text(row["p"], 3),
            number_text(row["signature_difference"]),
            share_text(row["specificity"].item()),
            _limits(row),
            str(int(nodes["specificity"]["n_sources"].sel(category=name))),
            row["inseparable"].item(),
        ]
        for name, row in by_category(nodes["relabelling"])
    ]
    columns = ["category", "verdict", "p", "likeness", "specificity", "95 % limits", "sources", "not to be told from"]
    return table("evidence.verdicts", columns, rows, numeric=columns[2:7])


def _matrix(data: xr.Dataset) -> Table:
    targets = data["target"].values.tolist()
    rows = [[name, *map(share_text, row["damage"].values.tolist())] for name, row in by_category(data)]
    return table("evidence.specificity", ["heads of", *targets], rows, numeric=targets)


def _tested(data: xr.Dataset) -> Table:
    rows = []
    for name, row in by_category(data):
        sets = collections.Counter(row["heads"].values.tolist()).most_common()
        rows += [["" if place else name, heads or "none", str(n)] for place, (heads, n) in enumerate(sets)]
    return table("evidence.heads", ["heads of", "tested heads", "on tasks"], rows)


def _limits(row: xr.Dataset) -> str:
    low, high = (share_text(row[f"specificity_{end}"].item()) for end in ("low", "high"))
    return "-" if low == "-" else f"{low} to {high}"
