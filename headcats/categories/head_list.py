"""The heads of categories as a plain table."""

import numpy as np
import pandas as pd
import xarray as xr


def head_table(overlap: xr.Dataset) -> pd.DataFrame:
    """The head list: one row per head and category it is in, helping and suppressing apart.

    Columns: `head` ("L9H6"), `category`, `kind` ("helping" or "suppressing"), `effect, low, high` in shares of the gap
    (suppressing = negative), `q`, `tasks`. Ordered by category, kind, size of the effect. Also takes what
    `hc.categorize` returns. Heads of a screen carry its `approximation` in one more column.
    """
    rows = []
    for category in overlap["category"].values:
        for kind, outcome, prefix in (("helping", "member", ""), ("suppressing", "suppressing", "suppressing_")):
            table = overlap.sel(category=category)
            found = []
            for layer, head in zip(*np.nonzero((table[outcome] == 1).transpose("layer", "head").values), strict=True):
                cell = table.isel(layer=layer, head=head)
                found.append(
                    {
                        "head": f"L{cell['layer'].item()}H{cell['head'].item()}",
                        "category": str(category),
                        "kind": kind,
                        "effect": cell[f"{prefix}effect"].item(),
                        "low": cell[f"{prefix}low"].item(),
                        "high": cell[f"{prefix}high"].item(),
                        "q": cell[f"{prefix}q_value"].item(),
                        "tasks": str(cell[f"{prefix}tasks"].item()),
                    }
                )
            rows += sorted(found, key=lambda row: -abs(row["effect"]))
    listed = pd.DataFrame(rows, columns=["head", "category", "kind", "effect", "low", "high", "q", "tasks"])
    approximation = overlap.attrs.get("approximation")
    return listed.assign(approximation=approximation) if approximation else listed
