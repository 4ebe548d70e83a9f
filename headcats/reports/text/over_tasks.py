"""Findings on heads whose effects differ between categories, with tasks as the unit."""

from collections.abc import Iterator

import xarray as xr

from headcats.results.finding import Finding, by_category, first_names, line, paragraph, table
from headcats.results.head_axes import cell_name, unit_of

_NAMED = 3


def differing_heads(tested: xr.Dataset) -> Iterator[Finding]:
    """A line on the pairs of categories between which effects of heads differ; nothing where none do.

    `tested` is what `hc.categories.effect_differences` returns.
    """
    names = tested["category"].values.tolist()
    pairs = [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]
    counts = {(first, second): tested["n_different"].sel(category=first, other=second) for first, second in pairs}
    differing = [
        line("map.differing_pair", category=first, other=second, n=int(n))
        for (first, second), n in counts.items()
        if n > 0
    ]
    if differing:
        yield paragraph("map.different", alpha=tested.attrs["alpha"], pairs=differing)


def difference_table(tested: xr.Dataset) -> Iterator[Finding]:
    """For every pair of categories the number of heads that differ, and the largest differences by name."""
    names = tested["category"].values.tolist()
    if not tested["n_different"].notnull().any():
        return
    rows = []
    for place, (name, row) in enumerate(by_category(tested)):
        pairs = [_cell(row.sel(other=other), tested.attrs["alpha"]) for other in names[:place]]
        rows.append([name, *pairs, *[""] * (len(names) - 1 - place)])
    yield table("map.differences", ["", *names[:-1]], rows[1:])
    yield line("map.differences_meaning", alpha=tested.attrs["alpha"])


def _cell(pair: xr.Dataset, alpha: float) -> str:
    """Such as "4: L1H2 +0.312, L0H3 -0.201, L2H2 +0.113 and 1 more"; "-" where nothing can be tested."""
    if pair["n_different"].isnull():
        return "-"
    differences = pair[["difference"]].where(pair["q_value"] <= alpha).to_dataframe()["difference"].dropna()
    largest = differences.reindex(differences.abs().sort_values(ascending=False).index)
    unit = unit_of(pair)
    heads = [f"{cell_name(layer, head, unit)} {value:+.3f}" for (layer, head), value in largest.items()]
    return f"{len(heads)}: {first_names(heads, _NAMED)}" if heads else "0"
