"""What a comparison of protocols, halves and replicates of one model says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Shaped

from headcats.errors import pluralize
from headcats.evidence.comparison.agreement import pairs
from headcats.reports.text.replicates import replicates
from headcats.reports.text.table import Finding, Paragraph, Table, table

# More columns do not fit beside each other.
WIDEST_MATRIX = 18
# More heads than these are counted, not named.
NAMED_HEADS = 12
_COLUMNS = {"always": "in all", "half": "in at least half", "any": "in any"}
NOT_JUDGED = "-"
WHY_NOT_JUDGED = (
    f"{NOT_JUDGED} not judged: no task of the category has numbers, or fewer of them than --min-tasks asks for."
)


def agreement_findings(agreement: xr.Dataset, left_out: Mapping[str, str]) -> Iterator[Finding]:
    """The protocols, how far each two agree, what the disagreement is about, and a verdict in words.

    Args:
        agreement: What `hc.evidence.agreement` returns.
        left_out: Protocol -> why it is not compared.
    """
    names = [str(name) for name in agreement["protocol"].values]
    sign = agreement.attrs["sign"]
    categories = agreement["category"].values.tolist()
    numbered = [[str(place), name] for place, name in enumerate(names, start=1)]
    sizes = agreement["size"].transpose("protocol", "category").values
    there = scored(agreement)
    told = np.where(there, sizes.astype(str), NOT_JUDGED)
    rows = [[*row, *held] for row, held in zip(numbered, told.tolist(), strict=True)]
    columns = ["", "protocol", *categories]
    rule = f", rule {agreement['rule'].values[0]}" if "rule" in agreement.coords else ""
    yield table(f"Heads by protocol ({sign}){rule}", columns, rows, numeric=categories)
    if not there.all():
        yield WHY_NOT_JUDGED
    for name, reason in left_out.items():
        yield f"Left out: {name}: {reason}"
    if sentence := approximation_sentence(agreement["approximation"].values.tolist()):
        yield Paragraph(sentence)
    if len(names) < 2:
        yield Paragraph("There is no second protocol to compare it with.")
        return
    listed = pairs(agreement)
    compared = [name for name, where in zip(categories, there.T, strict=True) if where.any()]
    if len(names) == 2:
        yield _pair(listed, told)
    elif len(names) <= WIDEST_MATRIX:
        for category in compared:
            yield _matrix(agreement.sel(category=category), category)
    else:
        yield Paragraph(
            f"{len(names)} protocols are too many for a matrix: choose with `--method`, `--positions` or `--metric`, "
            "or write all pairs with `headcats compare DIR --csv FILE`."
        )
    if len(names) > 2:
        yield _differences(listed[listed["category"].isin(compared)])
    for place, category in enumerate(categories):
        held = zip(names, sizes[:, place].tolist(), there[:, place], strict=True)
        known = {name: size for name, size, judged in held if judged}
        verdict = _verdict(category, listed[listed["category"] == category], known, asked=names)
        yield verdict if place else Paragraph(verdict)


def replicate_findings(members: Mapping[str, xr.Dataset], *, sign: str) -> Iterator[Finding]:
    """Which heads are in a category under all protocols, at least half of them, or any; where they share categories.

    Of two protocols, half is any: that column is left out. Protocols without numbers in a category do not count there.

    Args:
        members: Protocol -> what `hc.categorize` returns.
        sign: "helping" or "suppressing" heads.
    """
    found = replicates(members, sign=sign)
    if not found:
        return
    columns = [name for name in _COLUMNS if name in found[0].heads]
    rows = [
        [
            one.category + (f" (judged by {one.judged} of {len(members)})" if 0 < one.judged < len(members) else ""),
            *(_listed(one.heads[name]) if one.judged else NOT_JUDGED for name in columns),
        ]
        for one in found
    ]
    heading = f"Heads over these {len(members)} protocols ({sign}): how many, and which"
    yield table(heading, ["category", *(_COLUMNS[name] for name in columns)], rows)
    if any(one.attrs.get("effect") == "task_specific" for one in members.values()):
        yield "Total and task-specific effects are of the same patches: that both have a head is no replication."


def half_findings(found: xr.Dataset, *, title: str) -> Iterator[Finding]:
    """Agreement between halves of the prompts, mean and range over splits.

    Args:
        found: What `hc.evidence.half_agreement` returns.
        title: Method, positions and metric.
    """
    splits = found.sizes["split"]
    rows = [
        [
            category,
            " ".join(
                NOT_JUDGED if reason else "|".join(map(str, split))
                for split, reason in zip(cell["size"].values, found["reason"].values.tolist(), strict=True)
            )
            if cell["n_heads"]
            else NOT_JUDGED,
            str(int(cell["n_splits"])),
            *(
                f"{number_text(cell[name])} ({number_text(cell[f'{name}_min'])} to {number_text(cell[f'{name}_max'])})"
                if np.isfinite(cell[name])
                else "-"
                for name in ("jaccard", "spearman")
            ),
            number_text(cell["expected"]),
        ]
        for category, cell in ((name, found.sel(category=name)) for name in found["category"].values.tolist())
    ]
    columns = [
        "category",
        "heads per half",
        "compared",
        "Jaccard (range)",
        "Spearman of effects (range)",
        "Jaccard by chance",
    ]
    heading = f"Halves of the prompts by query item: {title} ({found.attrs['sign']}), {pluralize(splits, 'split')}"
    yield table(heading, columns, rows)
    if (found["n_splits"] < splits).any():
        yield "`compared`: in how many splits, of those judged, a half has a head; Jaccard is over these alone."
    reasons = [reason for reason in found["reason"].values.tolist() if reason]
    if reasons:
        yield f"{len(reasons)} of {splits} splits could not be judged: {reasons[0]}"


def _pair(listed: pd.DataFrame, told: Shaped[np.ndarray, "protocol category"]) -> Table:
    columns = [
        "category",
        "heads in first",
        "heads in second",
        "in both",
        "Jaccard",
        "Spearman of effects",
        "by chance",
    ]
    rows = [
        [
            row.category,
            *sizes,
            NOT_JUDGED if NOT_JUDGED in sizes else str(row.both),
            *map(number_text, (row.jaccard, row.spearman, row.expected)),
        ]
        for row, sizes in zip(listed.itertuples(), told.T.tolist(), strict=True)
    ]
    return table("Agreement (by chance: Jaccard of random sets)", columns, rows, numeric=columns[1:])


def _matrix(agreement: xr.Dataset, category: str) -> Table:
    n = agreement.sizes["protocol"]
    above, below = (agreement[name].transpose("protocol", "other").values for name in ("jaccard", "spearman"))
    rows = [
        [str(i + 1), *("" if i == j else number_text(above[i, j] if j > i else below[i, j]) for j in range(n))]
        for i in range(n)
    ]
    columns = ["", *(str(place + 1) for place in range(n))]
    heading = f"{category}: Jaccard above the diagonal, Spearman of effects below"
    return table(heading, columns, rows, numeric=columns[1:])


def _differences(listed: pd.DataFrame) -> Table:
    kind = listed["differ_in"].replace("", "nothing known")
    rows = []
    for name in sorted(set(kind), key=lambda one: (one.count(","), one)):
        group = listed[kind == name]
        numbers = group[["jaccard", "expected", "spearman"]].astype(float)
        known = numbers["jaccard"].dropna()
        spread = f" ({number_text(known.min())} to {number_text(known.max())})" if len(known) else ""
        rows.append(
            [
                name,
                str(group[["first", "second"]].drop_duplicates().shape[0]),
                f"{number_text(numbers['jaccard'].mean())}{spread}",
                *(number_text(numbers[one].mean()) for one in ("expected", "spearman")),
            ]
        )
    columns = ["protocols that differ in", "pairs", "mean Jaccard (range)", "by chance", "mean Spearman"]
    return table("What the heads depend on, over all categories", columns, rows, numeric=columns[1:])


def _verdict(category: str, listed: pd.DataFrame, sizes: Mapping[str, int], *, asked: Sequence[str]) -> str:
    """The lowest agreement in words; protocols that find no head are named apart, since they agree with nothing.

    Those that have no numbers in the category are not in `sizes`: they looked for no head.
    """
    if not sizes:
        return f"{category}: not judged (no protocol has enough numbers in it)."
    left = len(asked) - len(sizes)
    lacking = f"not judged by {left} of {len(asked)} protocols; " if left else ""
    finders = [name for name, size in sizes.items() if size]
    empty = [name for name in sizes if name not in finders]
    if not finders:
        return f"{category}: {lacking}no protocol finds a head, so there is nothing to agree on."
    named = f" ({'; '.join(empty)})" if len(empty) <= 2 else ""
    void = lacking + (f"{len(empty)} of {len(sizes)} protocols find no head{named}; " if empty else "")
    if len(finders) == 1:
        return f"{category}: {void}only {finders[0]} finds {pluralize(sizes[finders[0]], 'head')}."
    known = listed[listed["first"].isin(finders) & listed["second"].isin(finders)]
    lowest = known.sort_values(["jaccard", "spearman"], kind="stable").iloc[0]
    middle = f" (median of {len(known)} pairs {number_text(known['jaccard'].median())})" if len(known) > 1 else ""
    return (
        f"{category}: {void}{'among the others the' if void else 'the'} lowest agreement is Jaccard "
        f"{number_text(lowest['jaccard'])}{middle}, between {lowest['first']} "
        f"({pluralize(sizes[lowest['first']], 'head')}) and {lowest['second']} "
        f"({pluralize(sizes[lowest['second']], 'head')}); Spearman of effects {number_text(lowest['spearman'])}."
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_HEADS} more" if len(names) > NAMED_HEADS else ""
    return f"{len(names)}: {' '.join(names[:NAMED_HEADS])}{more}" if names else "0"


def scored(agreement: xr.Dataset) -> Bool[np.ndarray, "protocol category"]:
    """Where a protocol has the number of any head in a category."""
    heads = agreement["n_heads"].transpose("category", "protocol", "other").values
    return np.diagonal(heads, axis1=1, axis2=2).T > 0


def approximation_sentence(labels: Iterable[str]) -> str:
    """A sentence where some protocols are made of estimates; "" where all are exact."""
    labels = list(labels)
    if not any(labels):
        return ""
    if len(set(labels)) == 1:
        who = "Both" if len(labels) == 2 else "All"
        return f"{who} are a {labels[0]}: their agreement says nothing of patched effects."
    places = ("first", "second") if len(labels) == 2 else [str(place + 1) for place in range(len(labels))]
    named = " and ".join(
        f"the {place} {f'a {label}' if label else 'exact'}" if len(labels) == 2 else f"{place} {label or 'exact'}"
        for place, label in zip(places, labels, strict=True)
    )
    return f"Different kinds of numbers: {named}. This tests the approximation; it is no replication."


def number_text(value: object) -> str:
    """Two decimals; "-" where there is no number."""
    number = float(value)  # type: ignore[arg-type]
    return "-" if np.isnan(number) else f"{number:z.2f}"
