"""The numbers behind the figure `checkpoints`: one row per category, revision and head that is shown."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import UnknownNameError
from headcats.figures.tables import head_rows
from headcats.registry import unknown_name_message

_OF_CATEGORY = ("size", "undecided", "n_tasks", "n_skipped", "before")
_OF_HEAD = ("change", "change_found", "difference", "difference_q", "mean_effect", "mean_low", "mean_high")
_GRID = ("revision", "category", "layer", "head")
VARIABLES = dict.fromkeys(_OF_CATEGORY, _GRID[:2]) | dict.fromkeys(("member", "effect", *_OF_HEAD), _GRID)
_COLUMNS = (
    "category",
    "revision",
    "place",
    "step",
    *_OF_CATEGORY,
    "name",
    "layer",
    "head",
    "outcome",
    *_OF_HEAD,
    "followed",
)
_OUTCOMES = {1: "in", 0: "undecided", -1: "out"}
_FOLLOWED = 3
"""Heads whose effects are drawn where none are named."""
_MOST_ROWS = 20
"""Heads of a strip."""


def revision_rows(revisions: xr.Dataset, category: str, heads: Sequence[str]) -> pd.DataFrame:
    """One row per revision and head that is ever in the category, or followed; of no name where there is none."""
    table = revisions.sel(category=category)
    grid = head_rows(table, {})
    if unknown := [name for name in heads if name not in set(grid["name"])]:
        raise UnknownNameError(unknown_name_message("head of this model", unknown[0], grid["name"]))
    n = table.sizes["revision"]
    values = {
        name: table[name].transpose("revision", "layer", "head").to_numpy().reshape(n, -1)
        for name in ("member", "effect", *_OF_HEAD)
    }
    judged = ~np.isnan(values["effect"])
    followed = grid["name"].isin(list(heads) or _strongest(grid["name"], values["mean_effect"], judged)).to_numpy()
    steps = table["step"].values if "step" in table.coords else np.full(n, math.nan)
    rows = []
    for place, revision in enumerate(map(str, table["revision"].values)):
        row = {"category": category, "revision": revision, "place": place, "step": steps[place]}
        row |= {name: table[name].values[place] for name in _OF_CATEGORY}
        of_heads = [
            {"name": grid["name"][head], "layer": grid["layer"][head], "head": grid["head"][head]}
            | {name: values[name][place, head] for name in _OF_HEAD}
            | {"outcome": _OUTCOMES[int(values["member"][place, head])] if judged[place, head] else ""}
            | {"followed": followed[head]}
            for head in np.flatnonzero((values["member"] == 1).any(axis=0) | followed)
        ]
        none = {
            "name": "",
            "layer": -1,
            "head": -1,
            "outcome": "",
            "change": 0,
            "change_found": False,
            "followed": False,
        }
        rows += [row | cells for cells in of_heads or [none]]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _strongest(names: pd.Series, effects: np.ndarray, judged: np.ndarray) -> list[str]:
    """The heads of the largest mean effect at the last revision that is judged."""
    last = np.flatnonzero(judged.any(axis=1))
    if not len(last):
        return []
    order = np.argsort(-np.nan_to_num(effects[last[-1]], nan=-np.inf), kind="stable")
    return [str(name) for name in names.iloc[order[:_FOLLOWED]]]


def shown_heads(rows: pd.DataFrame) -> list[str]:
    """Heads of the strip, those that come first on top; of too many, those of the largest mean effects."""
    members = rows[rows["outcome"] == "in"]
    largest = rows.groupby("name")["mean_effect"].max()
    most = largest[members["name"].unique()].nlargest(_MOST_ROWS).index
    first = members.groupby("name")[["place", "layer", "head"]].min()
    return [str(name) for name in first.loc[most].sort_values(["place", "layer", "head"]).index]


def followed_heads(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Head -> its rows with a number, the largest effect at the last revision first."""
    measured = rows[rows["followed"] & rows["mean_effect"].notna()]
    by_head = [(str(name), of_head) for name, of_head in measured.groupby("name", sort=False)]
    return sorted(by_head, key=lambda named: -named[1]["mean_effect"].iloc[-1])
