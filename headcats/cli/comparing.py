"""How far two category maps agree."""

import json

import numpy as np
import xarray as xr
from scipy import stats

from headcats.errors import DataError
from headcats.scores import screen_label


def plan_differences(first: xr.DataTree, second: xr.DataTree) -> dict[str, list[str]]:
    """What the plans and models of two results differ in: name -> [first, second]."""
    stored = [json.loads(one.attrs["manifest"]) for one in (first, second)]
    differences = {}
    for part in ("plan", "model"):
        for name in dict.fromkeys([*stored[0][part], *stored[1][part]]):
            values = [str(one[part].get(name)) for one in stored]
            if values[0] != values[1]:
                differences[f"{part} {name}"] = values
    return differences


def screens(first: xr.Dataset, second: xr.Dataset) -> str:
    """A sentence where one or both maps are made of estimates; "" where both are exact."""
    labels = [screen_label(one) for one in (first, second)]
    if not any(labels):
        return ""
    if labels[0] == labels[1]:
        return f"Both are a {labels[0]}: their agreement says nothing of patched effects."
    named = " and ".join(
        f"the {place} {f'a {label}' if label else 'exact'}"
        for place, label in zip(("first", "second"), labels, strict=True)
    )
    return f"Different kinds of numbers: {named}. This shows how far a screen can be trusted; it is no replication."


def agreement(first: xr.Dataset, second: xr.Dataset) -> list[list[str]]:
    """Per category both have: heads in each, in both, Jaccard, Spearman correlation of the category effects over heads.

    Raises:
        DataError: The models have different heads, or no category in common.
    """
    for axis in ("layer", "head"):
        if first[axis].values.tolist() != second[axis].values.tolist():
            raise DataError(
                f"The two results have different {axis}s ({first.sizes[axis]} and "
                f"{second.sizes[axis]}); heads cannot be compared."
            )
    common = [name for name in first["category"].values.tolist() if name in second["category"].values.tolist()]
    if not common:
        raise DataError("The two results have no category in common.")
    rows = []
    for name in common:
        a, b = ((one["member"].sel(category=name) == 1).values for one in (first, second))
        effects = [one["effect"].sel(category=name).values.ravel() for one in (first, second)]
        known = np.isfinite(effects[0]) & np.isfinite(effects[1])
        r = stats.spearmanr(effects[0][known], effects[1][known]).statistic if known.sum() > 2 else np.nan
        union = int((a | b).sum())
        rows.append(
            [
                name,
                str(int(a.sum())),
                str(int(b.sum())),
                str(int((a & b).sum())),
                f"{(a & b).sum() / union:.2f}" if union else "-",
                f"{r:.2f}",
            ]
        )
    return rows
