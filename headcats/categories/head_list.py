"""The heads of categories as a plain table."""

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.argument_checks import MEMBERS, check_is


def head_table(overlap: xr.Dataset) -> pd.DataFrame:
    """The head list: one row per head and category it is in, helping and suppressing apart.

    Args:
        overlap: What `hc.categorize` or `hc.overlap` returns; an overlap of suppressing heads lists these alone.

    Returns:
        Columns `head` ("L9H6"), `category`, `kind` ("helping" or "suppressing"), `effect, low, high` in shares of the
        gap (suppressing = negative), `q`, `tasks`; if available, `specific` (the task-specific effect), `probability`
        (share of resamples in which the head is in) and `approximation`. Ordered by category, kind and size of effect.

    Raises:
        DataError: Neither memberships nor an overlap.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> table = hc.categories.head_table(hc.categorize(scores))
        >>> list(table.columns[:6])
        ['head', 'category', 'kind', 'effect', 'low', 'high']
        >>> strongest = table[table.kind == "helping"].iloc[0]
        >>> strongest.category, bool(0 < strongest.low <= strongest.effect <= strongest.high)
        ('Algorithmic', True)
    """
    check_is(overlap, MEMBERS, by="hc.categories.head_table")
    rows = []
    kinds = [("helping", "member", ""), ("suppressing", "suppressing", "suppressing_")]
    if overlap.attrs.get("sign") == "suppressing":
        kinds = [("suppressing", "member", "")]
    extra = {"specific": "specific_effect", "probability": "probability"}
    extra = {column: name for column, name in extra.items() if name in overlap}
    for category in overlap["category"].values:
        for kind, outcome, prefix in kinds:
            table = overlap.sel(category=category)
            entries = []
            for layer, head in zip(*np.nonzero((table[outcome] == 1).transpose("layer", "head").values), strict=True):
                cell = table.isel(layer=layer, head=head)
                entries.append(
                    {
                        "head": f"L{cell['layer'].item()}H{cell['head'].item()}",
                        "category": str(category),
                        "kind": kind,
                        "effect": cell[f"{prefix}effect"].item(),
                        "low": cell[f"{prefix}low"].item(),
                        "high": cell[f"{prefix}high"].item(),
                        "q": cell[f"{prefix}q_value"].item(),
                        "tasks": str(cell[f"{prefix}tasks"].item()),
                        **{column: cell[f"{prefix}{name}"].item() for column, name in extra.items()},
                    }
                )
            rows += sorted(entries, key=lambda row: -abs(row["effect"]))
    columns = ["head", "category", "kind", "effect", "low", "high", "specific", "q", "tasks", "probability"]
    available = [column for column in columns if column not in ("specific", "probability") or column in extra]
    frame = pd.DataFrame(rows, columns=available)
    approximation = overlap.attrs.get("approximation")
    return frame.assign(approximation=approximation) if approximation else frame
