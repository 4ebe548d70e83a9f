"""Findings of a comparison of protocols and replicates of one model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.evidence.comparison.agreement import SIGNS, pairs
from headcats.reports.text.answer import NAMED
from headcats.results.declaration import registered
from headcats.results.finding import Finding, Short, Table, first_names, line, number_text, paragraph, table
from headcats.results.head_axes import cell_name, unit_of
from headcats.results.label import Label

NAMED_HEADS = 12  # more heads are counted, not named
_COLUMNS = {"always": "in all", "any": "in any"}


def agreement_findings(agreement: xr.Dataset, left_out: Mapping[str, str]) -> Iterator[Finding]:
    """The protocols, how many heads each finds, how two of them agree, and of more what the disagreement is about."""
    protocols, judged = agreement["protocol"].values.tolist(), judged_sizes(agreement)
    rows = [
        [str(number), protocol, *(str(sizes.get(protocol, "-")) for sizes in judged.values())]
        for number, protocol in enumerate(protocols, start=1)
    ]
    rule = str(agreement["rule"].values[0]) if "rule" in agreement.coords else None
    yield table(
        "agreement.protocols", ["", "protocol", *judged], rows, numeric=judged,
        sign=agreement.attrs["sign"], rule=rule and line("agreement.rule", rule=rule),
    )  # fmt: skip
    if any(len(sizes) < len(protocols) for sizes in judged.values()):
        yield line("map.category_not_judged")
    for protocol, reason in left_out.items():
        yield line("agreement.left_out", name=protocol, reason=reason)
    yield from approximation_findings(agreement["approximation"].values.tolist())
    if len(protocols) < 2:
        yield paragraph("agreement.single")
    elif len(protocols) == 2:
        yield _pair(pairs(agreement), judged, protocols)
    else:
        compared = pairs(agreement)
        yield _differences(compared[compared["category"].isin([name for name, sizes in judged.items() if sizes])])


def judged_sizes(agreement: xr.Dataset) -> dict[str, dict[str, int]]:
    """Category -> protocol with the number of any head in it -> how many heads it has in the category."""
    protocols = agreement["protocol"].values.tolist()
    sizes = agreement["size"].transpose("category", "protocol").values.tolist()
    n_heads = np.diagonal(agreement["n_heads"].transpose("category", "protocol", "other").values, axis1=1, axis2=2)
    return {
        category: {name: size for name, size, n in zip(protocols, of_category, numbers, strict=True) if n}
        for category, of_category, numbers in zip(agreement["category"].values.tolist(), sizes, n_heads, strict=True)
    }


def replicates(members: Mapping[str, xr.Dataset], *, sign: str) -> list[dict[str, Any]]:
    """Name heads that `always` or by `any` of the protocols that judge a category are in it."""
    categories = [table["category"].values.tolist() for table in members.values()]
    if len(members) < 2 or any(names != categories[0] for names in categories):
        return []
    outcome, _ = SIGNS[sign]
    by_category: list[dict[str, Any]] = []
    for category in categories[0]:
        rows = [table.sel(category=category) for table in members.values()]
        rows = [row for row in rows if row["effect"].notnull().any()]
        least = {"always": len(rows), "any": 1}
        names = {by: _head_names(rows, outcome, least=n) if rows else [] for by, n in least.items()}
        by_category.append({"category": category, "judged_by": len(rows)} | names)
    return by_category


def replicate_findings(members: Mapping[str, xr.Dataset], *, sign: str) -> Iterator[Finding]:
    """`replicates`, which has the same arguments, as a table."""
    if entries := replicates(members, sign=sign):
        yield _replicate_table("agreement.replicates", entries, NAMED_HEADS, n=len(members), sign=sign)
        yield from _same_patches(members)


def _same_patches(members: Mapping[str, xr.Dataset]) -> list[Finding]:
    """Say that total and task-specific effects are of the same patches, so that they agree by themselves."""
    specific = any(table_of.attrs.get("effect") == "task_specific" for table_of in members.values())
    return [line("agreement.same_patches")] if specific else []


def _replicate_table(id: str, entries: Sequence[Mapping[str, Any]], most: int, *, n: int, **fields: Any) -> Table:
    """Heads by the share of `n` protocols that have them, at most so many named."""
    rows = []
    for entry in entries:
        judged = entry["judged_by"]
        count = f" (judged by {judged} of {n})" if 0 < judged < n else ""
        lists = [_head_list(entry[name], most) if judged else "-" for name in _COLUMNS]
        rows.append([f"{entry['category']}{count}", *lists])
    return table(id, ["category", *_COLUMNS.values()], rows, n=n, **fields)


def short_protocols(
    agreement: xr.Dataset,
    members: Mapping[str, xr.Dataset],
    left_out: Mapping[str, str],
    *,
    differing: Sequence[str],
    next_command: str,
    colours: Mapping[str, str],
) -> Short:
    """Make the answer on the protocols of one model: what they agree on."""
    entries, n = replicates(members, sign=agreement.attrs["sign"]), len(members)

    def listed(most: int) -> Table:
        return replace(_replicate_table("text.untitled", entries, most, n=n), colours=colours)

    warnings = [line("short.differing", parts=list(differing))] if differing else []
    warnings += [*approximation_findings(agreement["approximation"].values.tolist()), *_same_patches(members)]
    for protocol, reason in left_out.items():
        if not registered(Label.parse(protocol.partition(",")[0]).name).control_of:  # those are no protocols
            warnings.append(line("agreement.left_out", name=protocol, reason=reason))
    return Short(tuple(_agreeing(entries, n)), listed if entries else None, (), tuple(warnings), next_command, colours)


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


def approximation_findings(labels: Sequence[str]) -> list[Finding]:
    """A warning where effects are approximations; `labels` say of each protocol which, "" for exact ones."""
    if not any(labels):
        return []
    if len(set(labels)) == 1:
        return [paragraph("agreement.all_approximate", kind=labels[0])]
    kinds = [f"{number} {label or 'exact'}" for number, label in enumerate(labels, start=1)]
    return [paragraph("agreement.mixed", kinds=kinds)]


def _pair(compared: pd.DataFrame, judged: Mapping[str, Mapping[str, int]], protocols: Sequence[str]) -> Table:
    columns = ["heads in first", "heads in second", "in both", "Jaccard", "Spearman of effects", "by chance"]
    rows = []
    for row in compared.itertuples():
        sizes = [str(judged[row.category].get(name, "-")) for name in protocols]
        both = "-" if "-" in sizes else str(row.both)
        rows.append([row.category, *sizes, both, *map(number_text, (row.jaccard, row.spearman, row.expected))])
    return table("agreement.pair", ["category", *columns], rows, numeric=columns)


def _differences(compared: pd.DataFrame) -> Table:
    differing = compared["differ_in"].replace("", "nothing known")
    rows = []
    for parts in sorted(set(differing), key=lambda parts: (parts.count(","), parts)):
        group = compared[differing == parts]
        means = map(number_text, group[["jaccard", "expected", "spearman"]].astype(float).mean())
        rows.append([parts, str(len(group[["first", "second"]].drop_duplicates())), *means])
    columns = ["protocols that differ in", "pairs", "mean Jaccard", "by chance", "mean Spearman"]
    return table("agreement.differences", columns, rows, numeric=columns[1:])


def _head_names(members: Sequence[xr.Dataset], outcome: str, *, least: int) -> list[str]:
    """Name the heads that at least so many memberships of a category have."""
    n = np.sum([(table[outcome] == 1).transpose("layer", "head").values for table in members], axis=0)
    layers, heads, unit = members[0]["layer"].values, members[0]["head"].values, unit_of(members[0])
    return [cell_name(layers[i], heads[j], unit) for i, j in np.argwhere(n >= least)]


def _head_list(heads: Sequence[str], most: int) -> str:
    return f"{len(heads)}: {first_names(heads, most, ' ')}" if heads else "0"
