"""The numbers behind an overlap map: one row per panel and head."""

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED, outcomes
from headcats.errors import DataError
from headcats.figures.colours import MOST_CATEGORIES, NO_CATEGORY, Palette, category_colours, entry_of, named_palette
from headcats.figures.panels.text import MISSING
from headcats.figures.tables import NUMBERS, head_rows, require
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.head_axes import KV_HEAD

ALL = "All Categories"
GRID = ("layer", "head")
_VARIABLES = {
    **dict.fromkeys(("n_categories", "set"), GRID),
    **dict.fromkeys(("member", "undecided", *NUMBERS, "tasks"), ("category", *GRID)),
}
_COLUMNS = ["panel", "layer", "head", "name", "set", "n_categories", "label", "colour", "outcome", "hatched"]


def checked_overlap(overlap: xr.Dataset, palette: str, *, most: int = MOST_CATEGORIES) -> tuple[xr.Dataset, Palette]:
    """The overlap with its categories in order, `most` at most, and its colours; errors are those of `overlap_map`."""
    require(overlap, _VARIABLES, figure="overlap_map", table="hc.overlap(hc.categorize(hc.score(results)))")
    colours = named_palette(palette, category_colours(overlap), most=most)
    overlap = overlap.sel(category=list(colours.categories))
    if not ((overlap["member"] == 1).sum("category") == overlap["n_categories"]).all():
        raise DataError(
            "overlap_map expects `n_categories` to count the categories whose `member` is 1; they differ for some "
            "heads. Make both from the same memberships with hc.overlap(members)."
        )
    return overlap, colours


def overlap_frame(overlap: xr.Dataset, colours: Palette) -> pd.DataFrame:
    """One row per panel and head, as `overlap_map` documents it."""
    names = np.array([str(name) for name in overlap["category"].values])
    inside = (overlap["member"] == 1).transpose(*GRID, "category").to_numpy().reshape(-1, len(names))
    sets = {"set": overlap["set"].astype(str), "n_categories": overlap["n_categories"].astype(int)}
    described = {name: overlap[name] for name in described_by(overlap)}
    exists, undecided = (table.any("category") for table in (overlap["effect"].notnull(), overlap["undecided"]))
    heads = head_rows(overlap, sets | described | {"hatched": undecided.astype(bool), "exists": exists})
    n = heads["n_categories"]
    label = entry_of(n, names[inside.argmax(1)])
    first = heads.assign(panel=ALL, label=label, suppresses=False, **dict.fromkeys(NUMBERS, np.nan), tasks="")
    first["outcome"] = np.select([n > 0, heads["hatched"]], [IN, UNDECIDED], OUT)
    panels = [first]
    for name in names:
        table = overlap.sel(category=name)
        suppresses = (table["suppressing"] if "suppressing" in table else table["member"] * 0) == 1
        columns = {"outcome": outcomes(table), "hatched": table["undecided"].astype(bool)}
        columns |= {"suppresses": suppresses}
        columns |= {number: table[number].astype(float) for number in NUMBERS}
        rows = head_rows(table, columns | {"tasks": table["tasks"].astype(str)})
        outcome = rows["outcome"]
        rows = rows.assign(panel=name, label=np.where(outcome == IN, name, NO_CATEGORY), exists=outcome != NOT_JUDGED)
        panels.append(rows.assign(set=heads["set"], n_categories=n, **{name: heads[name] for name in described}))
    frame = pd.concat(panels, ignore_index=True)
    # Rules call a NaN undecided, but a head that does not exist is not.
    exists = frame["exists"]
    frame["hatched"] &= exists
    frame["outcome"] = frame["outcome"].where(exists, MISSING)
    frame["label"] = frame["label"].where(exists, "")
    frame["colour"] = frame["label"].map(colours.entries | {"": ""})
    shared = [KV_HEAD] if KV_HEAD in frame else []
    return frame[[*_COLUMNS, "suppresses", *NUMBERS, "tasks", *described, *shared]]


def described_by(overlap: xr.Dataset) -> list[str]:
    """What an overlap says of every head whatever the category: names of its descriptors `(layer, head)`."""
    return [name for name in DESCRIPTORS if name in overlap and set(overlap[name].dims) == set(GRID)]
