"""Findings of a comparison of different methods on the same heads."""

import json
from collections.abc import Iterator

import xarray as xr

from headcats.evidence.comparison.method_agreement import disagreements
from headcats.reports.text.finding import Finding, Table, line, paragraph, table

NAMED_HEADS = 3


def method_findings(agreement: xr.Dataset) -> Iterator[Finding]:
    """Rank correlation and overlap of the strongest heads, one matrix per group, and what they say.

    Args:
        agreement: What `hc.evidence.method_agreement` returns.
    """
    methods = zip(agreement["method"].values, agreement["reduction"].values, strict=True)
    rows = [[str(number), str(name), str(strength)] for number, (name, strength) in enumerate(methods, start=1)]
    yield table("methods.grid", ["", "method", "strength of a head"], rows)
    for label, reason in json.loads(agreement.attrs["left_out"]).items():
        yield line("agreement.left_out", name=label, reason=reason)
    yield paragraph("methods.matrices", top=agreement.attrs["top"])
    for group in agreement["group"].values:
        yield _matrix(agreement.sel(group=group), str(group))
    heads = disagreements(agreement, n=NAMED_HEADS)
    if len(heads):
        rows = [
            [head.group, head.head, f"{head.high} ({head.high_rank:g})", f"{head.low} ({head.low_rank:g})"]
            for head in heads.itertuples()
        ]
        yield table("methods.disagreements", ["group", "head", "highest by (rank)", "lowest by (rank)"], rows)
    for place, text in enumerate(str(agreement.attrs["reading"]).splitlines()):
        yield line("methods.statement", text=text) if place else paragraph("methods.statement", text=text)


def _matrix(agreement: xr.Dataset, group: str) -> Table:
    n = agreement.sizes["method"]
    rows = [
        [
            str(row + 1),
            *(_cell(agreement.isel(method=row, other=column)) if column < row else "" for column in range(n - 1)),
        ]
        for row in range(1, n)
    ]
    columns = ["", *(str(column + 1) for column in range(n - 1))]
    return table("methods.matrix", columns, rows, numeric=columns[1:], group=group)


def _cell(pair: xr.Dataset) -> str:
    if not pair["rank_correlation"].notnull():
        return "-"
    significant = "*" if float(pair["q_value"]) <= 0.05 else ""
    overlap, chance = (float(pair[name]) for name in ("top_overlap", "top_chance"))
    return f"{float(pair['rank_correlation']):.2f}{significant} / {overlap:.2f} ({chance:.2f})"
