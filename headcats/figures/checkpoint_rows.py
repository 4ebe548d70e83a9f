"""Numbers behind the figure `checkpoints`: one row per category, revision and head that is shown."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import UnknownNameError
from headcats.base.registry import unknown_name_message
from headcats.categories.outcome import IN, NOT_JUDGED, outcomes
from headcats.figures.tables import head_rows

_OF_CATEGORY = ("size", "undecided", "n_tasks", "n_skipped", "before")
_OF_HEAD = ("change", "change_found", "difference", "difference_q", "mean_effect", "mean_low", "mean_high")
_GRID = ("revision", "category", "layer", "head")
VARIABLES = dict.fromkeys(_OF_CATEGORY, _GRID[:2]) | dict.fromkeys(("member", "effect", *_OF_HEAD), _GRID)
_COLUMNS = (
    *("category", "revision", "place", "step", *_OF_CATEGORY),
    *("name", "layer", "head", "outcome", *_OF_HEAD, "followed"),
)
# Where a revision has no head to show.
_NO_HEAD = {"name": "", "layer": -1, "head": -1, "outcome": "", "change": 0, "change_found": False, "followed": False}
_FOLLOWED = 3
"""Heads whose effects are drawn where none are named."""
_MOST_ROWS = 20
"""Heads of a strip."""


def revision_rows(revisions: xr.Dataset, category: str, heads: Sequence[str]) -> pd.DataFrame:
    """Rows of a category: one per revision and head that is ever in it, or followed; of no name where there is none."""
    table = revisions.sel(category=category)
    steps = table["step"].values if "step" in table.coords else np.full(table.sizes["revision"], math.nan)
    tables = []
    for place, revision in enumerate(map(str, table["revision"].values)):
        at = table.isel(revision=place)
        rows = head_rows(at, {name: at[name] for name in _OF_HEAD} | {"outcome": outcomes(at)})
        of_category = {name: at[name].item() for name in _OF_CATEGORY}
        tables.append(rows.assign(category=category, revision=revision, place=place, step=steps[place], **of_category))
    frame = pd.concat(tables, ignore_index=True).replace({"outcome": {NOT_JUDGED: ""}})
    if unknown := [name for name in heads if name not in set(frame["name"])]:
        raise UnknownNameError(unknown_name_message("head of this model", unknown[0], frame["name"].unique()))
    frame["followed"] = frame["name"].isin(list(heads) or _strongest(frame))
    ever = frame.loc[frame["outcome"] == IN, "name"]
    shown = frame[frame["name"].isin(ever) | frame["followed"]]
    none = frame.drop_duplicates("place").assign(**_NO_HEAD, **dict.fromkeys(_OF_HEAD[2:], math.nan))
    return (shown if len(shown) else none)[[*_COLUMNS]]


def _strongest(frame: pd.DataFrame) -> list[str]:
    """Names of the heads of the largest mean effect at the last revision that is judged."""
    judged = frame[frame["outcome"] != ""]
    last = judged[judged["place"] == judged["place"].max()]
    return list(last.sort_values("mean_effect", ascending=False, kind="stable")["name"][:_FOLLOWED])


def shown_heads(rows: pd.DataFrame) -> list[str]:
    """Heads of the strip, those that come first on top; of too many, those of the largest mean effects."""
    members = rows[rows["outcome"] == IN]
    largest = rows.groupby("name")["mean_effect"].max()
    most = largest[members["name"].unique()].nlargest(_MOST_ROWS).index
    first = members.groupby("name")[["place", "layer", "head"]].min()
    return [str(name) for name in first.loc[most].sort_values(["place", "layer", "head"]).index]


def followed_heads(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Head -> its rows with a number, the largest effect at the last revision first."""
    measured = rows[rows["followed"] & rows["mean_effect"].notna()]
    by_head = [(str(name), of_head) for name, of_head in measured.groupby("name", sort=False)]
    return sorted(by_head, key=lambda named: -named[1]["mean_effect"].iloc[-1])
