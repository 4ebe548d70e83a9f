"""What `headcats compare` prints."""

import json
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import xarray as xr
from rich.markup import escape

from headcats.categories import replicated
from headcats.cli.console import out, table
from headcats.evidence.agreeing import SIGNS, pairs

# More columns do not fit beside each other.
WIDEST_MATRIX = 18
# More heads than these are counted, not named.
NAMED_HEADS = 12


def print_plans(results: Mapping[str, xr.DataTree]) -> None:
    """What the plans and models of results differ in."""
    stored = [json.loads(one.attrs["manifest"]) for one in results.values()]
    rows = []
    for part in ("plan", "model"):
        for name in dict.fromkeys(name for one in stored for name in one[part]):
            values = [str(one[part].get(name)) for one in stored]
            if len(set(values)) > 1:
                rows.append([f"{part} {name}", *values])
    out.print(table("Plan and model", ["", *results], rows) if rows else "Same plan and model.")


def print_agreement(agreement: xr.Dataset, left_out: Mapping[str, str]) -> None:
    """The protocols, how far each two agree, what the disagreement is about, and a verdict in words."""
    names = [str(name) for name in agreement["protocol"].values]
    sign = agreement.attrs["sign"]
    categories = agreement["category"].values.tolist()
    numbered = [[str(place), name] for place, name in enumerate(names, start=1)]
    sizes = agreement["size"].transpose("protocol", "category").values
    rows = [[*row, *map(str, held)] for row, held in zip(numbered, sizes, strict=True)]
    columns = ["", "protocol", *categories]
    rule = f", rule {agreement['rule'].values[0]}" if "rule" in agreement.coords else ""
    out.print(table(f"\nHeads by protocol ({sign}){rule}", columns, rows, numeric=frozenset(categories)))
    for name, reason in left_out.items():
        out.print(f"Left out: {escape(name)}: {escape(reason)}")
    if sentence := _screens(agreement["screen"].values.tolist()):
        out.print(f"\n{sentence}")
    if len(names) < 2:
        out.print("\nThere is no second protocol to compare it with.")
        return
    listed = pairs(agreement)
    if len(names) == 2:
        _print_pair(listed)
    elif len(names) <= WIDEST_MATRIX:
        for category in categories:
            _print_matrix(agreement.sel(category=category), category)
    else:
        out.print(
            f"\n{len(names)} protocols are too many for a matrix: choose with --method, --positions or --metric, "
            "or write all pairs with --csv FILE."
        )
    if len(names) > 2:
        _print_differences(listed)
    out.print("")
    for place, category in enumerate(categories):
        held = dict(zip(names, sizes[:, place].tolist(), strict=True))
        out.print(_verdict(category, listed[listed["category"] == category], held))


def print_replicates(members: Mapping[str, xr.Dataset], *, sign: str) -> None:
    """Which heads are in a category under all protocols, at least half of them, or any; where they share categories.

    Of two protocols, half is any: that column is left out.

    Args:
        members: Protocol -> what `hc.categorize` returns.
        sign: "helping" or "suppressing" heads.
    """
    categories = [one["category"].values.tolist() for one in members.values()]
    if len(members) < 2 or any(names != categories[0] for names in categories):
        return
    outcome, _ = SIGNS[sign]
    columns = {"always": "in all", "half": "in at least half", "any": "in any"}
    if len(members) == 2:
        del columns["half"]
    inside = [replicated(members, by=by)[outcome] == 1 for by in columns]
    rows = [[name, *(_listed(one.sel(category=name)) for one in inside)] for name in categories[0]]
    heading = f"\nHeads over these {len(members)} protocols ({sign}): how many, and which"
    out.print(table(heading, ["category", *columns.values()], rows))


def print_halves(found: xr.Dataset, *, title: str) -> None:
    """Agreement between halves of the prompts, mean and range over splits."""
    splits = found.sizes["split"]
    rows = [
        [
            category,
            " ".join("|".join(map(str, split)) for split in found["size"].sel(category=category).values),
            *(
                f"{_number(cell[name])} ({_number(cell[f'{name}_min'])} to {_number(cell[f'{name}_max'])})"
                if np.isfinite(cell[name])
                else "-"
                for name in ("jaccard", "spearman")
            ),
            _number(cell["expected"]),
        ]
        for category, cell in ((name, found.sel(category=name)) for name in found["category"].values.tolist())
    ]
    columns = ["category", "heads per half", "Jaccard (range)", "Spearman of effects (range)", "Jaccard by chance"]
    plural = "split" if splits == 1 else "splits"
    out.print(
        table(
            f"\nHalves of the prompts by query item: {title} ({found.attrs['sign']}), {splits} {plural}", columns, rows
        )
    )
    reasons = [reason for reason in found["reason"].values.tolist() if reason]
    if reasons:
        out.print(f"{len(reasons)} of {splits} splits could not be judged: {escape(reasons[0])}")


def print_structure(found: xr.Dataset) -> None:
    """The categories of several models side by side."""
    models, categories = found["model"].values.tolist(), found["category"].values.tolist()
    protocol = ", ".join(found.attrs[part] for part in ("method", "positions", "metric") if found.attrs[part])
    out.print(f"\nDifferent models: their heads do not correspond, so the structure is compared ({protocol}).")
    if sentence := _screens(found["screen"].values.tolist()):
        out.print(sentence)
    rows = []
    for category in categories:
        for model in models:
            cell = found.sel(category=category, model=model)
            rows.append(
                [
                    category,
                    model,
                    str(int(cell["size"])),
                    *(_number(cell[one]) for one in ("share", "mean_layer", "depth")),
                ]
            )
    columns = ["category", "model", "heads", "share of heads", "mean layer", "depth (0 first, 1 last)"]
    out.print(table("\nCategories", columns, rows, numeric=frozenset(columns[2:])))
    rows = [
        [
            model,
            str(int(found["n_heads"].sel(model=model))),
            *(
                f"{int(cell['in_k'])}: {_number(cell['share_k'])} ({_number(cell['expected_k'])})"
                for cell in (found.sel(model=model, k=k) for k in found["k"].values)
            ),
        ]
        for model in models
    ]
    columns = ["model", "heads", *(f"in exactly {k}" for k in found["k"].values)]
    out.print(table("\nHeads in k categories: number, share (share expected by chance)", columns, rows))
    rows = [
        [
            f"{first} and {second}",
            *(
                f"{_number(cell['jaccard'])} ({_number(cell['expected'])})"
                for cell in (found.sel(model=model, category=first, other=second) for model in models)
            ),
        ]
        for place, first in enumerate(categories)
        for second in categories[place + 1 :]
    ]
    out.print(table("\nJaccard between categories (by chance)", ["", *models], rows, numeric=frozenset(models)))
    for place, first in enumerate(models):
        for second in models[place + 1 :]:
            cell = found.sel(model=first, other_model=second)
            out.print(
                f"Correlation of these Jaccard indices between {escape(first)} and {escape(second)}: "
                f"{_number(cell['correlation'])} over {int(cell['n_pairs'])} pairs of categories."
            )


def _print_pair(listed: pd.DataFrame) -> None:
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
            *map(str, (row.heads_first, row.heads_second, row.both)),
            *map(_number, (row.jaccard, row.spearman, row.expected)),
        ]
        for row in listed.itertuples()
    ]
    out.print(table("\nAgreement (by chance: Jaccard of random sets)", columns, rows, numeric=frozenset(columns[1:])))


def _print_matrix(agreement: xr.Dataset, category: str) -> None:
    n = agreement.sizes["protocol"]
    above, below = (agreement[name].transpose("protocol", "other").values for name in ("jaccard", "spearman"))
    rows = [
        [str(i + 1), *("" if i == j else _number(above[i, j] if j > i else below[i, j]) for j in range(n))]
        for i in range(n)
    ]
    columns = ["", *(str(place + 1) for place in range(n))]
    out.print(f"\n{category}: Jaccard above the diagonal, Spearman of effects below")
    out.print(table("", columns, rows, numeric=frozenset(columns[1:])))


def _print_differences(listed: pd.DataFrame) -> None:
    several = listed["differ_in"].str.contains(",")
    kind = listed["differ_in"].where(~several, "several").replace("", "nothing known")
    rows = []
    for name in sorted(set(kind), key=lambda one: (one == "several", one)):
        group = listed[kind == name]
        numbers = group[["jaccard", "expected", "spearman"]].astype(float)
        known = numbers["jaccard"].dropna()
        spread = f" ({_number(known.min())} to {_number(known.max())})" if len(known) else ""
        rows.append(
            [
                name,
                str(group[["first", "second"]].drop_duplicates().shape[0]),
                f"{_number(numbers['jaccard'].mean())}{spread}",
                *(_number(numbers[one].mean()) for one in ("expected", "spearman")),
            ]
        )
    columns = ["protocols that differ in", "pairs", "mean Jaccard (range)", "by chance", "mean Spearman"]
    out.print(table("\nWhat the heads depend on, over all categories", columns, rows, numeric=frozenset(columns[1:])))


def _verdict(category: str, listed: pd.DataFrame, sizes: Mapping[str, int]) -> str:
    """The lowest agreement in words; protocols that find no head are named apart, since they agree with nothing."""
    finders = [name for name, size in sizes.items() if size]
    empty = [name for name in sizes if name not in finders]
    if not finders:
        return f"{category}: no protocol finds a head, so there is nothing to agree on."
    named = f" ({'; '.join(empty)})" if len(empty) <= 2 else ""
    void = f"{len(empty)} of {len(sizes)} protocols find no head{named}; " if empty else ""
    if len(finders) == 1:
        return escape(f"{category}: {void}only {finders[0]} finds {_heads(sizes[finders[0]])}.")
    known = listed[listed["first"].isin(finders) & listed["second"].isin(finders)]
    lowest = known.sort_values(["jaccard", "spearman"], kind="stable").iloc[0]
    middle = f" (median of {len(known)} pairs {_number(known['jaccard'].median())})" if len(known) > 1 else ""
    return escape(
        f"{category}: {void}{'among the others the' if empty else 'the'} lowest agreement is Jaccard "
        f"{_number(lowest['jaccard'])}{middle}, between {lowest['first']} ({_heads(sizes[lowest['first']])}) and "
        f"{lowest['second']} ({_heads(sizes[lowest['second']])}); Spearman of effects {_number(lowest['spearman'])}."
    )


def _listed(inside: xr.DataArray) -> str:
    found = inside.stack(cell=("layer", "head"))
    names = [f"L{layer}H{head}" for layer, head in found["cell"].values[found.values]]
    more = f" and {len(names) - NAMED_HEADS} more" if len(names) > NAMED_HEADS else ""
    return f"{len(names)}: {' '.join(names[:NAMED_HEADS])}{more}" if names else "0"


def _heads(number: int) -> str:
    return f"{number} head{'' if number == 1 else 's'}"


def _screens(labels: Iterable[str]) -> str:
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
    return f"Different kinds of numbers: {named}. This shows how far a screen can be trusted; it is no replication."


def _number(value: object) -> str:
    number = float(value)  # type: ignore[arg-type]
    return "-" if np.isnan(number) else f"{number:.2f}"
