"""What `headcats compare` ends in: what agrees, what moves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.evidence.comparison.agreement import pairs
from headcats.reports.text.agreement import approximation_findings, judged_sizes, replicates
from headcats.reports.text.answer import NAMED
from headcats.reports.text.short import Short
from headcats.results.declaration import registered
from headcats.results.finding import Finding, Table, by_category, first_names, line, number_text, table
from headcats.results.label import Label

_COLUMNS = {"always": "in all", "half": "in at least half", "any": "in any"}


def short_protocols(
    agreement: xr.Dataset,
    members: Mapping[str, xr.Dataset],
    left_out: Mapping[str, str],
    *,
    halves: xr.Dataset | None,
    differing: Sequence[str],
    next_command: str,
    colours: Mapping[str, str],
) -> Short:
    """Make the answer on the protocols of one model."""
    entries = replicates(members, sign=agreement.attrs["sign"])
    verdict = [*_agreeing(entries, len(members)), *_moving(pairs(agreement)), *_halves(halves)]

    def listed(most: int) -> Table:
        return replace(_category_table(entries, halves, most=most), colours=colours)

    warnings = list(_warnings(agreement, members, left_out, halves, differing))
    rows = entries or halves is not None
    return Short(tuple(verdict), listed if rows else None, (), tuple(warnings), next_command, colours)


def _agreeing(entries: Sequence[Mapping[str, Any]], n: int) -> Iterator[Finding]:
    if n < 2:
        yield line("agreement.single")
        return
    always = [(entry["category"], entry["always"]) for entry in entries if entry["always"]]
    if not always:
        any_head = any(entry["any"] for entry in entries)
        yield line("short.none_agreed" if any_head else "short.none_found", n=n)
        return
    named = [
        line("answer.of_one", category=name, heads=first_names(heads, NAMED, " ")) for name, heads in always[:NAMED]
    ]
    more = line("answer.more_categories", n=len(always) - NAMED) if len(always) > NAMED else None
    yield line("short.agreed", n=n, categories=named, more=more)


def _moving(compared: pd.DataFrame) -> Iterator[Finding]:
    """In what the protocols differ that agree least, over all categories in which both have heads or one has."""
    judged = compared[compared["jaccard"].notna()]
    if judged.empty:
        return
    means = judged.assign(differ_in=judged["differ_in"].replace("", "nothing known")).groupby("differ_in")
    means = means[["jaccard", "expected"]].mean().sort_values("jaccard", kind="stable")
    if means["jaccard"].iloc[0] == 1:
        return
    yield line("short.moved", parts=str(means.index[0]), jaccard=means["jaccard"].iloc[0],
               expected=means["expected"].iloc[0])  # fmt: skip


def _halves(halves: xr.Dataset | None) -> Iterator[Finding]:
    if halves is not None and halves["jaccard"].notnull().any():
        least, most = float(halves["jaccard"].min()), float(halves["jaccard"].max())
        yield line("short.halves", least=least, most=most, expected=float(halves["expected"].max()))


def _category_table(entries: Sequence[Mapping[str, Any]], halves: xr.Dataset | None, *, most: int) -> Table:
    by_half = {} if halves is None else {name: number_text(row["jaccard"]) for name, row in by_category(halves)}
    columns = [name for name in _COLUMNS if entries and name in entries[0]]
    listed = entries or [{"category": name, "judged_by": 0} for name in by_half]
    rows = [
        [
            entry["category"],
            *((first_names(entry[name], most, " ") or "none") if entry["judged_by"] else "-" for name in columns),
            *([by_half.get(entry["category"], "-")] if by_half else []),
        ]
        for entry in listed
    ]
    halved = [str(line("short.jaccard_of_halves"))] * bool(by_half)
    headings = ["category", *(_COLUMNS[name] for name in columns), *halved]
    return table("text.untitled", headings, rows, numeric=halved, optional=[*halved, _COLUMNS["any"]])


def _warnings(
    agreement: xr.Dataset,
    members: Mapping[str, xr.Dataset],
    left_out: Mapping[str, str],
    halves: xr.Dataset | None,
    differing: Sequence[str],
) -> Iterator[Finding]:
    if differing:
        yield line("short.differing", parts=list(differing))
    yield from approximation_findings(agreement["approximation"].values.tolist())
    if any(table_of.attrs.get("effect") == "task_specific" for table_of in members.values()):
        yield line("agreement.same_patches")
    sizes = judged_sizes(agreement)
    for category, of_category in sizes.items():
        if len(of_category) < len(members):
            yield line("short.unjudged", category=category, n=len(members) - len(of_category), of=len(members))
    for category, of_category in sizes.items():
        if len(members) > 1 and of_category and sum(map(bool, of_category.values())) <= 1:
            yield line("short.no_second", category=category)
    if halves is not None and (failures := [reason for reason in halves["reason"].values.tolist() if reason]):
        n = halves.sizes["split"]
        yield line("agreement.splits_not_judged", n=len(failures), splits=n, reason=failures[0])
    for protocol, reason in left_out.items():
        if not registered(Label.parse(protocol.partition(",")[0]).name).control_of:  # those are no protocols
            yield line("agreement.left_out", name=protocol, reason=reason)


def short_methods(agreement: xr.Dataset, *, next_command: str) -> Short:
    """The answer on methods on one grid, as `hc.evidence.method_agreement` returns them."""
    *statements, caution = str(agreement.attrs["reading"]).splitlines()
    left_out = json.loads(agreement.attrs["left_out"]).items()
    warnings = [
        line("methods.statement", text=caution),
        *(line("agreement.left_out", name=label, reason=reason) for label, reason in left_out),
    ]
    rows = list(zip(agreement["method"].values.tolist(), agreement["reduction"].values.tolist(), strict=True))
    verdict = [line("methods.statement", text=text) for text in statements]
    listed = table("text.untitled", ["method", "strength of a head"], [list(map(str, row)) for row in rows])
    return Short(tuple(verdict), lambda most: listed, (), tuple(warnings), next_command)


def short_models(
    structure: xr.Dataset, *, differing: Sequence[str], next_command: str, colours: Mapping[str, str]
) -> Short:
    """The answer on different models, whose heads do not correspond, as `hc.evidence.category_structure` gives it."""
    models = structure["model"].values.tolist()
    verdict = [line("short.models", n=len(models))]
    for place, first in enumerate(models):
        for second in models[place + 1 :]:
            cell = structure.sel(model=first, other_model=second)
            correlation = cell["correlation"].item()
            if np.isfinite(correlation):
                n = int(cell["n_pairs"])
                names = {"first": first, "second": second}
                verdict.append(line("structure.correlation", correlation=correlation, n=n, **names))
    rows = []
    for category in structure["category"].values.tolist():
        cells = [structure.sel(category=category, model=model) for model in models]
        shown = [
            str(line("short.in_model", n=int(cell["size"]), share=cell["share"].item(), depth=cell["depth"].item()))
            if np.isfinite(cell["share"].item())
            else "-"
            for cell in cells
        ]
        rows.append([category, *shown])
    listed = replace(table("text.untitled", ["category", *models], rows), colours=colours)
    warnings = approximation_findings(structure["approximation"].values.tolist())
    if differing:
        warnings.append(line("short.differing", parts=list(differing)))
    return Short(tuple(verdict), lambda most: listed, (), tuple(warnings), next_command, colours)
