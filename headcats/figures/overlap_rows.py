"""Numbers behind an overlap map, one row per panel and head, and the words that stand beside them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError
from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED, outcomes
from headcats.figures.colours import MOST_CATEGORIES, NO_CATEGORY, Palette, category_colours, named_palette
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.text import MISSING, escaped
from headcats.figures.tables import NUMBERS, head_rows, require
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.head_axes import KV_HEAD, noun, unit_of

ALL = "All Categories"
LISTED, RINGED = "listed", "In the list"
GRID = ("layer", "head")
_VARIABLES = {
    **dict.fromkeys(("n_categories", "set"), GRID),
    **dict.fromkeys(("member", "undecided", *NUMBERS, "tasks"), ("category", *GRID)),
}
# Descriptors at the pointer; the others stand in the numbers.
_POINTED = ("previous_token", "duplicate_token", "induction", "copying")
_NUMBERS_SHOWN = "effect %{{effect{0}:.3f}} [%{{low{0}:.3f}}, %{{high{0}:.3f}}], q %{{q_value{0}:.2g}}".format
_SCORE_SHOWN = "score %{{effect{0}:.3f}}".format  # of methods without tests: weights, gates, probes
_COLUMNS = ["panel", "layer", "head", "name", "set", "n_categories", "label", "colour", "outcome", "hatched"]


def checked_overlap(overlap: xr.Dataset, palette: str, *, most: int = MOST_CATEGORIES) -> tuple[xr.Dataset, Palette]:
    """Overlap with its categories in order, `most` at most, and its colours; errors are those of `overlap_map`."""
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
    """Rows of all panels, one per head, as `overlap_map` documents them."""
    names = np.array([str(name) for name in overlap["category"].values])
    inside = (overlap["member"] == 1).transpose(*GRID, "category").to_numpy().reshape(-1, len(names))
    sets = {"set": overlap["set"].astype(str), "n_categories": overlap["n_categories"].astype(int)}
    described = {
        str(name): values
        for name, values in overlap.data_vars.items()
        if set(values.dims) == set(GRID) and (name in DESCRIPTORS or name == LISTED or "units" in values.attrs)
    }
    exists, undecided = (table.any("category") for table in (overlap["effect"].notnull(), overlap["undecided"]))
    heads = head_rows(overlap, sets | described | {"hatched": undecided.astype(bool), "exists": exists})
    n = heads["n_categories"]
    label = np.select([n == 0, n == 1], [NO_CATEGORY, names[inside.argmax(1)]], n.astype(str) + " categories")
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


def pointed_rows(
    rows: pd.DataFrame, categories: Mapping[str, pd.DataFrame], shown: Sequence[str], overlap: xr.Dataset
) -> tuple[pd.DataFrame, str]:
    """Rows of a panel with what the pointer shows of `shown` categories, and its template."""
    numbers = _NUMBERS_SHOWN if "measure" not in overlap.attrs else _SCORE_SHOWN
    pointed, template = rows.copy(), ["<b>%{pointed}</b>"]
    inside = _marked({name: row["outcome"] == "in" for name, row in categories.items()}, " + ")
    pointed["pointed"] = rows["name"] + ": " + inside.replace("", "no category")
    for column, word in (("hatched", "undecided"), ("suppresses", "suppresses")):
        names = _marked({name: row[column] for name, row in categories.items()}, ", ")
        pointed["pointed"] += (f" ({word}: " + names + ")").where(names != "", "")
    columns, tasks_by_category = dict[str, pd.Series](), pd.Series("", pointed.index)
    for i, category in enumerate(shown):
        row = categories[category]
        for number in NUMBERS:
            columns[f"{number}{i}"] = row[number]
        has_numbers = row["effect"].notna().any()
        template.append(f"{escaped(category)}: {numbers(i) if has_numbers else 'not judged'}")
        tasks = row["tasks"].map(lambda joined: escaped(joined).replace(",", ", "))
        tasks_by_category += (f"<br>tasks of {escaped(category)}: " + tasks).where(tasks != "", "")
    pointed = pd.concat([pointed.drop(columns="tasks"), pd.DataFrame(columns | {"tasks": tasks_by_category})], axis=1)
    known = [name for name in _POINTED if name in rows and rows["panel"].iloc[0] == ALL]
    does = ", ".join(f"{DESCRIPTORS[name].label} %{{{name}:.2f}}" for name in known)
    return pointed, "<br>".join(template) + "%{tasks}" + (f"<br>{does}" if does else "")


def _marked(marks: dict[str, pd.Series], separator: str) -> pd.Series:
    """Names of the categories that mark each head."""
    names = np.array([escaped(name) for name in marks])
    by_head = np.stack([mark.to_numpy(dtype=bool) for mark in marks.values()], axis=1)
    return pd.Series([separator.join(names[marked]) for marked in by_head])


def rings(cells: Cells, rows: pd.DataFrame) -> go.Scatter | None:
    """Rings around what stands in the cells of the heads that a list names; None without a list."""
    listed = rows[rows[LISTED]] if LISTED in rows else rows[:0]
    return cells.symbols(listed, name=RINGED, symbol="circle-open", share=0.9, least=5, most=60, line={"width": 2})


def count_notes(rows: pd.DataFrame, overlap: xr.Dataset) -> list[str]:
    """Notes of a panel: its heads, and those that are undecided."""
    n, total, undecided = (int(m.sum()) for m in (rows["outcome"] == "in", rows["outcome"] != MISSING, rows["hatched"]))
    if not total:
        return ["not judged"]
    heads = f"{n or 'no'} {_kind(overlap)}{noun(unit_of(overlap))}{'s' * (n > 1)} of {total}"
    return [heads, f"{undecided} undecided{' in some' * (rows['panel'].iloc[0] == ALL)}"] if undecided else [heads]


def _kind(overlap: xr.Dataset) -> str:
    return "suppressing " if overlap.attrs.get("sign") == "suppressing" else ""


def map_warnings(overlap: xr.Dataset, frame: pd.DataFrame) -> Iterator[str]:
    """Line of the caption on a map without any head."""
    if not (overlap["member"] == 1).any():
        first = frame[frame["panel"] == ALL]
        undecided, heads = int(first["hatched"].sum()), int((first["outcome"] != MISSING).sum())
        not_out = f"{undecided} undecided (hatched)" if undecided else "none undecided"
        rule = f"the rule {escaped(overlap.attrs.get('rule', ''))}".strip()
        cell = noun(unit_of(overlap))
        yield f"No {_kind(overlap)}{cell} passed {rule} in any category; {not_out} of {heads} {cell}s."
