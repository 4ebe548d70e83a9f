"""The heads of categories as a plain table."""

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Shaped

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
    kinds = [("helping", "member", ""), ("suppressing", "suppressing", "suppressing_")]
    if overlap.attrs.get("sign") == "suppressing":
        kinds = [("suppressing", "member", "")]
    variables = {"effect": "effect", "low": "low", "high": "high", "specific": "specific_effect", "q": "q_value"}
    variables |= {"tasks": "tasks", "probability": "probability"}
    variables = {column: name for column, name in variables.items() if name in overlap}
    rows = []
    for category in overlap["category"].values.tolist():
        table = overlap.sel(category=category).transpose(..., "layer", "head")
        for kind, outcome, prefix in kinds:
            cells = [table.isel(layer=i, head=j) for i, j in zip(*np.nonzero(table[outcome].values == 1), strict=True)]
            entries = [
                {"head": f"L{cell['layer'].item()}H{cell['head'].item()}", "category": category, "kind": kind}
                | {column: cell[prefix + name].item() for column, name in variables.items()}
                for cell in cells
            ]
            rows += sorted(entries, key=lambda row: -abs(row["effect"]))
    frame = pd.DataFrame(rows, columns=["head", "category", "kind", *variables])
    approximation = overlap.attrs.get("approximation")
    return frame.assign(approximation=approximation) if approximation else frame


def joined_names(
    inside: Bool[np.ndarray, "task layer head"], names: Shaped[np.ndarray, " task"]
) -> Shaped[np.ndarray, "layer head"]:
    """The names of the tasks of every head as one text, with a comma between them."""
    texts = np.full(inside.shape[1:], "", dtype=object)
    for heads, name in zip(inside, names, strict=True):
        texts[heads] = [f"{text},{name}".lstrip(",") for text in texts[heads]]
    return texts.astype(str)
