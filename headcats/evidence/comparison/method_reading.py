"""What the agreement of methods shows, in words."""

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import pluralize

LEVEL = 0.05


def method_reading(table: xr.Dataset, differing: pd.DataFrame) -> list[str]:
    """Sentences on what `method_agreement` found; none says more than its numbers.

    Args:
        table: Agreement, without its reading.
        differing: Heads that the methods rank most differently, as `disagreements` lists them.
    """
    methods = [str(name) for name in table["method"].values]
    groups = [str(name) for name in table["group"].values]
    n_heads = int(table["n_heads"].max())
    first = (
        f"{len(methods)} methods on {n_heads} heads, in {pluralize(len(groups), 'group')}: rank correlation over all "
        f"heads (median over groups), overlap of the top {table.attrs['top']}."
    )
    lines = [first]
    pairs = [(i, j) for i in range(len(methods)) for j in range(i)]
    known = {pair: values for pair in pairs if len(values := _known(table["rank_correlation"].values[:, *pair]))}
    ordered = sorted(known, key=lambda pair: -float(np.median(known[pair])))
    if ordered:
        lines.append(f"{'Most alike: ' if len(ordered) > 1 else ''}{_pair(table, methods, ordered[0], known)}.")
    if len(ordered) > 1:
        lines.append(f"Least alike: {_pair(table, methods, ordered[-1], known)}.")
        lines.append(_told(table, pairs))
    elif ordered:
        lines.append(_told(table, pairs))
    if len(known) < len(pairs):
        lines.append(f"{len(pairs) - len(known)} of {len(pairs)} pairs have no group in which both order heads.")
    lines += _missing(table, methods, groups)
    for group in groups:
        rows = differing[differing["group"] == group]
        heads = [
            f"{row.head} (place {row.high_rank:g} for {row.high}, {row.low_rank:g} for {row.low})"
            for row in rows.itertuples()
        ]
        if heads:
            lines.append(f"{group}: the methods differ most on {' and '.join(heads)}.")
    lines.append(
        "The methods measure different things in different units: agreement makes neither right, and a head low in one "
        "of them is not shown to be unused."
    )
    return lines


def _pair(
    table: xr.Dataset, methods: list[str], pair: tuple[int, int], known: dict[tuple[int, int], np.ndarray]
) -> str:
    values = known[pair]
    span = f" ({values.min():.2f} to {values.max():.2f})" if len(values) > 1 else ""
    overlap, chance = (_known(table[name].values[:, *pair]) for name in ("top_overlap", "top_chance"))
    shared = (
        f", top overlap {np.median(overlap):.2f} where chance gives {np.median(chance):.2f}" if len(overlap) else ""
    )
    return f"{methods[pair[1]]} and {methods[pair[0]]}, {np.median(values):.2f}{span}{shared}"


def _told(table: xr.Dataset, pairs: list[tuple[int, int]]) -> str:
    correlation, layers, q_value = (
        np.array([table[name].values[:, *pair] for pair in pairs])
        for name in ("rank_correlation", "layer_correlation", "q_value")
    )
    told = q_value <= LEVEL
    more, less = int((told & (correlation > layers)).sum()), int((told & (correlation < layers)).sum())
    total = int(np.isfinite(q_value).sum())
    how = f"(q <= {LEVEL:g}, heads permuted within layers)"
    if not more and not less:
        return (
            f"In no comparison ({total} of pair x group) is the order of heads told from what layers alone give {how}."
        )
    opposite = f", in {less} less" if less else ""
    what = "heads are ordered more alike than their layers alone give"
    return f"In {more} of {total} comparisons (pair x group) {what}{opposite} {how}."


def _missing(table: xr.Dataset, methods: list[str], groups: list[str]) -> list[str]:
    own = np.diagonal(table["n_heads"].transpose("group", "method", "other").values, axis1=1, axis2=2)
    lacking = {
        method: [group for row, group in enumerate(groups) if not own[row, column]]
        for column, method in enumerate(methods)
    }
    return [f"{method} says nothing of {', '.join(names)}." for method, names in lacking.items() if names]


def _known(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]
