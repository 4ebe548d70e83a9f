"""What a comparison of different methods on the same heads says."""

import json
from collections.abc import Iterator

import xarray as xr

from headcats.evidence.comparison.method_agreement import disagreements
from headcats.reports.text.table import Finding, Paragraph, Table, table

NAMED_HEADS = 3
NO_NUMBER = "-"


def method_findings(agreement: xr.Dataset) -> Iterator[Finding]:
    """Rank correlation and overlap of the strongest heads, one matrix per group, and what it says in words.

    Args:
        agreement: What `hc.evidence.method_agreement` returns.
    """
    names = [str(name) for name in agreement["method"].values]
    rows = [
        [str(place), name, str(reduction)]
        for place, (name, reduction) in enumerate(zip(names, agreement["reduction"].values, strict=True), start=1)
    ]
    yield table("Methods on one grid of heads", ["", "method", "strength of a head"], rows)
    for label, why in json.loads(agreement.attrs["left_out"]).items():
        yield f"Left out: {label}: {why}"
    yield Paragraph(
        f"Rank correlation over all heads (* q <= .05 within layers), and / overlap of the {agreement.attrs['top']} "
        "strongest heads (by chance)"
    )
    for group in agreement["group"].values:
        yield _matrix(agreement.sel(group=group), str(group))
    listed = disagreements(agreement, n=NAMED_HEADS)
    if len(listed):
        rows = [
            [one.group, one.head, f"{one.high} ({one.high_rank:g})", f"{one.low} ({one.low_rank:g})"]
            for one in listed.itertuples()
        ]
        yield table("Ranked most differently", ["group", "head", "highest by (rank)", "lowest by (rank)"], rows)
    for place, line in enumerate(str(agreement.attrs["reading"]).splitlines()):
        yield line if place else Paragraph(line)


def _matrix(one: xr.Dataset, group: str) -> Table:
    n = one.sizes["method"]
    rows = [
        [str(row + 1), *(_cell(one, row, column) if column < row else "" for column in range(n - 1))]
        for row in range(1, n)
    ]
    columns = ["", *(str(column + 1) for column in range(n - 1))]
    return table(group, columns, rows, numeric=columns[1:])


def _cell(one: xr.Dataset, row: int, column: int) -> str:
    pair = one.isel(method=row, other=column)
    if not pair["rank_correlation"].notnull():
        return NO_NUMBER
    sure = "*" if float(pair["q_value"]) <= 0.05 else ""
    overlap, chance = (float(pair[name]) for name in ("top_overlap", "top_chance"))
    return f"{float(pair['rank_correlation']):.2f}{sure} / {overlap:.2f} ({chance:.2f})"
