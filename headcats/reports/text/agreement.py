"""Findings of a comparison of protocols, halves and replicates of one model."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Shaped

from headcats.evidence.comparison.agreement import pairs
from headcats.reports.text.finding import Finding, Table, line, paragraph, table
from headcats.reports.text.replicates import replicates
from headcats.reports.text.wording import first_names, number_text

WIDEST_MATRIX = 18  # more columns do not fit beside each other
NAMED_HEADS = 12  # more heads are counted, not named
NOT_JUDGED = "-"
_COLUMNS = {"always": "in all", "half": "in at least half", "any": "in any"}


def agreement_findings(agreement: xr.Dataset, left_out: Mapping[str, str]) -> Iterator[Finding]:
    """The protocols, how far each two agree, what the disagreement is about, and a verdict for each category.

    Args:
        agreement: What `hc.evidence.agreement` returns.
        left_out: Protocol -> why it is not compared.
    """
    protocols = [str(name) for name in agreement["protocol"].values]
    categories = agreement["category"].values.tolist()
    sizes = agreement["size"].transpose("protocol", "category").values
    has_numbers = scored(agreement)
    size_texts = np.where(has_numbers, sizes.astype(str), NOT_JUDGED)
    rows = [
        [str(number), protocol, *texts]
        for number, (protocol, texts) in enumerate(zip(protocols, size_texts.tolist(), strict=True), start=1)
    ]
    rule = str(agreement["rule"].values[0]) if "rule" in agreement.coords else None
    yield table(
        "agreement.protocols", ["", "protocol", *categories], rows, numeric=categories,
        sign=agreement.attrs["sign"], rule=rule and line("agreement.rule", rule=rule),
    )  # fmt: skip
    if not has_numbers.all():
        yield line("map.category_not_judged")
    for protocol, reason in left_out.items():
        yield line("agreement.left_out", name=protocol, reason=reason)
    yield from approximation_findings(agreement["approximation"].values.tolist())
    if len(protocols) < 2:
        yield paragraph("agreement.single")
        return
    compared = pairs(agreement)
    with_numbers = [name for name, column in zip(categories, has_numbers.T, strict=True) if column.any()]
    if len(protocols) == 2:
        yield _pair(compared, size_texts)
    elif len(protocols) <= WIDEST_MATRIX:
        for category in with_numbers:
            yield _matrix(agreement.sel(category=category), category)
    else:
        yield paragraph("agreement.too_many", n=len(protocols))
    if len(protocols) > 2:
        yield _differences(compared[compared["category"].isin(with_numbers)])
    for place, category in enumerate(categories):
        judged_sizes = {
            name: size
            for name, size, with_number in zip(protocols, sizes[:, place].tolist(), has_numbers[:, place], strict=True)
            if with_number
        }
        finding = _verdict(category, compared[compared["category"] == category], judged_sizes, n=len(protocols))
        yield finding if place else paragraph(finding.id, **finding.fields)


def replicate_findings(members: Mapping[str, xr.Dataset], *, sign: str) -> Iterator[Finding]:
    """Which heads are in a category under all protocols, at least half of them, or any; where they share categories.

    Of two protocols, half is any: that column is left out. Protocols without numbers in a category do not count there.

    Args:
        members: Protocol -> what `hc.categorize` returns.
        sign: "helping" or "suppressing" heads.
    """
    by_category = replicates(members, sign=sign)
    if not by_category:
        return
    columns = [name for name in _COLUMNS if name in by_category[0].heads]
    rows = []
    for replicate in by_category:
        partly = 0 < replicate.judged < len(members)
        count = f" (judged by {replicate.judged} of {len(members)})" if partly else ""
        cells = [_head_list(replicate.heads[name]) if replicate.judged else NOT_JUDGED for name in columns]
        rows.append([f"{replicate.category}{count}", *cells])
    headings = ["category", *(_COLUMNS[name] for name in columns)]
    yield table("agreement.replicates", headings, rows, n=len(members), sign=sign)
    if any(table_of.attrs.get("effect") == "task_specific" for table_of in members.values()):
        yield line("agreement.same_patches")


def half_findings(halves: xr.Dataset, *, title: str) -> Iterator[Finding]:
    """Agreement between halves of the prompts, mean and range over splits.

    Args:
        halves: What `hc.evidence.half_agreement` returns.
        title: Method, positions and metric.
    """
    splits, reasons = halves.sizes["split"], halves["reason"].values.tolist()
    rows = []
    for category in halves["category"].values.tolist():
        cell = halves.sel(category=category)
        sizes = [
            NOT_JUDGED if reason else "|".join(map(str, split))
            for split, reason in zip(cell["size"].values, reasons, strict=True)
        ]
        ranges = [
            f"{number_text(cell[name])} ({number_text(cell[f'{name}_min'])} to {number_text(cell[f'{name}_max'])})"
            if np.isfinite(cell[name])
            else "-"
            for name in ("jaccard", "spearman")
        ]
        size_text = " ".join(sizes) if cell["n_heads"] else NOT_JUDGED
        rows.append([category, size_text, str(int(cell["n_splits"])), *ranges, number_text(cell["expected"])])
    columns = [
        "category", "heads per half", "compared", "Jaccard (range)", "Spearman of effects (range)", "Jaccard by chance",
    ]  # fmt: skip
    yield table("agreement.halves", columns, rows, title=title, sign=halves.attrs["sign"], splits=splits)
    if (halves["n_splits"] < splits).any():
        yield line("agreement.compared")
    failures = [reason for reason in reasons if reason]
    if failures:
        yield line("agreement.splits_not_judged", n=len(failures), splits=splits, reason=failures[0])


def approximation_findings(labels: Sequence[str]) -> list[Finding]:
    """A warning where effects are first-order approximations; nothing where all are exact.

    Args:
        labels: Of each protocol or model, what its effects are; "" for exact ones.
    """
    if not any(labels):
        return []
    if len(set(labels)) == 1:
        id = "agreement.both_approximate" if len(labels) == 2 else "agreement.all_approximate"
        return [paragraph(id, kind=labels[0])]
    names = ("the first", "the second") if len(labels) == 2 else [str(place + 1) for place in range(len(labels))]
    article = "a " if len(labels) == 2 else ""
    kinds = [f"{name} {label and article}{label or 'exact'}" for name, label in zip(names, labels, strict=True)]
    return [paragraph("agreement.mixed", kinds=kinds)]


def scored(agreement: xr.Dataset) -> Bool[np.ndarray, "protocol category"]:
    """Where a protocol has the number of any head in a category."""
    heads = agreement["n_heads"].transpose("category", "protocol", "other").values
    return np.diagonal(heads, axis1=1, axis2=2).T > 0


def _pair(compared: pd.DataFrame, size_texts: Shaped[np.ndarray, "protocol category"]) -> Table:
    columns = ["heads in first", "heads in second", "in both", "Jaccard", "Spearman of effects", "by chance"]
    rows = [
        [
            row.category,
            *sizes,
            NOT_JUDGED if NOT_JUDGED in sizes else str(row.both),
            *map(number_text, (row.jaccard, row.spearman, row.expected)),
        ]
        for row, sizes in zip(compared.itertuples(), size_texts.T.tolist(), strict=True)
    ]
    return table("agreement.pair", ["category", *columns], rows, numeric=columns)


def _matrix(agreement: xr.Dataset, category: str) -> Table:
    n = agreement.sizes["protocol"]
    above, below = (agreement[name].transpose("protocol", "other").values for name in ("jaccard", "spearman"))
    rows = [
        [str(i + 1), *("" if i == j else number_text(above[i, j] if j > i else below[i, j]) for j in range(n))]
        for i in range(n)
    ]
    columns = ["", *(str(place + 1) for place in range(n))]
    return table("agreement.matrix", columns, rows, numeric=columns[1:], category=category)


def _differences(compared: pd.DataFrame) -> Table:
    differing = compared["differ_in"].replace("", "nothing known")
    rows = []
    for parts in sorted(set(differing), key=lambda parts: (parts.count(","), parts)):
        group = compared[differing == parts]
        numbers = group[["jaccard", "expected", "spearman"]].astype(float)
        jaccard = numbers["jaccard"].dropna()
        spread = f" ({number_text(jaccard.min())} to {number_text(jaccard.max())})" if len(jaccard) else ""
        n_pairs = len(group[["first", "second"]].drop_duplicates())
        mean = f"{number_text(numbers['jaccard'].mean())}{spread}"
        rows.append(
            [parts, str(n_pairs), mean, *(number_text(numbers[name].mean()) for name in ("expected", "spearman"))]
        )
    columns = ["protocols that differ in", "pairs", "mean Jaccard (range)", "by chance", "mean Spearman"]
    return table("agreement.differences", columns, rows, numeric=columns[1:])


def _verdict(category: str, compared: pd.DataFrame, sizes: Mapping[str, int], *, n: int) -> Finding:
    """The lowest agreement; protocols that find no head are counted apart, since they agree with nothing.

    `sizes` lacks protocols without numbers in the category: they looked for no head. `n` counts all protocols.
    """
    if not sizes:
        return line("agreement.not_judged", category=category)
    finders = [name for name, size in sizes.items() if size]
    empty = [name for name in sizes if name not in finders]
    unjudged = n - len(sizes)
    fields = {
        "category": category,
        "unjudged": line("agreement.unjudged_by", n=unjudged, of=n) if unjudged else None,
        "empty": line(
            f"agreement.empty{'_named' if len(empty) <= 2 else ''}", n=len(empty), of=len(sizes), names=empty
        )
        if empty
        else None,
    }  # fmt: skip
    if not finders:
        return line("agreement.no_finder", **fields | {"empty": None})
    if len(finders) == 1:
        return line("agreement.one_finder", **fields, name=finders[0], n=sizes[finders[0]])
    among_finders = compared[compared["first"].isin(finders) & compared["second"].isin(finders)]
    lowest = among_finders.sort_values(["jaccard", "spearman"], kind="stable").iloc[0]
    several = len(among_finders) > 1
    median = line("agreement.median", n=len(among_finders), jaccard=among_finders["jaccard"].median())
    return line(
        f"agreement.lowest{'_of_finders' if empty or unjudged else ''}",
        **fields,
        jaccard=lowest["jaccard"],
        median=median if several else None,
        first=lowest["first"],
        n_first=sizes[lowest["first"]],
        second=lowest["second"],
        n_second=sizes[lowest["second"]],
        spearman=lowest["spearman"],
    )


def _head_list(heads: Sequence[str]) -> str:
    return f"{len(heads)}: {first_names(heads, NAMED_HEADS, ' ')}" if heads else "0"
