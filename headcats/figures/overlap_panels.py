"""The panels of an overlap map: all categories with the legend, then one panel per category."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import DataError
from headcats.figures.colours import HATCH, Palette, category_colours, named_palette
from headcats.figures.panels.axes import Axis, ticks
from headcats.figures.panels.cells import MISSING, Cells, square_cells
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import WIDEST, Panel, Plot
from headcats.figures.panels.legend import Entry, Legend
from headcats.figures.panels.letters import AUTO, category_letters, fits
from headcats.figures.panels.text import escaped
from headcats.figures.tables import NUMBERS, head_rows, n_cells, require

ALL, UNCLASSIFIED, UNDECIDED, SUPPRESSING = "All Categories", "Unclassified", "Undecided", "Suppressing"
_OUTCOMES = {1: "in", 0: "undecided", -1: "out"}
_GRID = ("layer", "head")
_VARIABLES = {
    **dict.fromkeys(("n_categories", "set", "undecided"), _GRID),
    **dict.fromkeys(("member", *NUMBERS, "tasks"), ("category", *_GRID)),
}
_COLUMNS = ["panel", "layer", "head", "name", "set", "n_categories", "label", "colour", "outcome", "hatched"]
_WIDE, _TALL, _BETWEEN, _BESIDE = 200, 420, 46, 54  # pixels of a panel, between two, and on both sides of them


def checked_overlap(overlap: xr.Dataset, palette: str) -> tuple[xr.Dataset, Palette]:
    """The overlap with its categories in order, and its colours.

    Raises:
        DataError: a variable, dimension or the attribute `categories` is missing, or `member` and `n_categories`
            contradict each other.
        UnknownNameError: unknown palette.
    """
    require(
        overlap,
        _VARIABLES,
        figure="overlap_map",
        source="hc.overlap(members)",
        table="hc.overlap(hc.categorize(hc.score(results)))",
    )
    present, colours = [str(name) for name in overlap["category"].values], category_colours(overlap)
    if not present or set(present) - set(colours):
        raise DataError(
            f"overlap_map expects categories that the attribute `categories` lists with a colour "
            f"({', '.join(colours)}); got {', '.join(present) or 'none'}. Add the missing ones to the attribute."
        )
    order = [name for name in colours if name in present]
    overlap = overlap.sel(category=order)
    if not ((overlap["member"] == 1).sum("category") == overlap["n_categories"]).all():
        raise DataError(
            "overlap_map expects `n_categories` to count the categories whose `member` is 1; they differ for some "
            "heads. Make both from the same memberships with hc.overlap(members)."
        )
    return overlap, named_palette(palette, {name: colours[name] for name in order})


def overlap_frame(overlap: xr.Dataset, colours: Palette) -> pd.DataFrame:
    """One row per panel and head, as `overlap_map` documents it."""
    names = np.array([str(name) for name in overlap["category"].values])
    inside = (overlap["member"] == 1).transpose("layer", "head", "category").to_numpy().reshape(-1, len(names))
    heads = head_rows(overlap, {"set": overlap["set"].astype(str), "n_categories": overlap["n_categories"].astype(int)})
    n, undecided = heads["n_categories"], overlap["undecided"].astype(bool)
    several = n.astype(str) + " categories"
    first = heads.assign(
        panel=ALL,
        label=np.select([n == 0, n == 1], [UNCLASSIFIED, names[inside.argmax(1)]], several),
        hatched=undecided.transpose(*_GRID).to_numpy().ravel(),
        known=overlap["effect"].notnull().any("category").transpose(*_GRID).to_numpy().ravel(),
        suppresses=False,
        **dict.fromkeys(NUMBERS, np.nan),
        tasks="",
    )
    first["outcome"] = np.select([n > 0, first["hatched"]], ["in", "undecided"], "out")
    panels = [first]
    for name in names:
        panel_rows = overlap.sel(category=name)
        columns = {"member": panel_rows["member"].astype(int)} | {
            number: panel_rows[number].astype(float) for number in NUMBERS
        }
        columns["suppresses"] = (
            panel_rows["suppressing"] if "suppressing" in panel_rows else panel_rows["member"] * 0
        ) == 1
        rows = head_rows(panel_rows, columns | {"tasks": panel_rows["tasks"].astype(str)})
        rows[["set", "n_categories"]], member = heads[["set", "n_categories"]], rows.pop("member")
        label = np.where(member == 1, name, UNCLASSIFIED)
        outcome, exists = member.map(_OUTCOMES), rows["effect"].notna()
        panels.append(rows.assign(panel=name, label=label, hatched=member == 0, outcome=outcome, known=exists))
    frame = pd.concat(panels, ignore_index=True)
    # Rules call a NaN undecided, but a head that does not exist is not.
    frame["hatched"] &= frame["known"]
    frame["outcome"] = frame["outcome"].where(frame["known"], MISSING)
    frame["label"] = frame["label"].where(frame["known"], "")
    frame["colour"] = frame["label"].map(_legend_colours(colours) | {"": ""})
    return frame[[*_COLUMNS, "suppresses", *NUMBERS, "tasks"]]


def overlap_grid(
    overlap: xr.Dataset,
    frame: pd.DataFrame,
    colours: Palette,
    *,
    title: str | None,
    letters: str,
    caption: Sequence[str] = (),
    numbers: Callable[[int], str] = (
        "effect %{{effect{0}:.3f}} [%{{low{0}:.3f}}, %{{high{0}:.3f}}], q %{{q_value{0}:.2g}}".format
    ),
) -> PanelGrid:
    """The panels of an overlap map.

    Args:
        overlap: As `checked_overlap` returns it.
        frame: As `overlap_frame` returns it.
        colours: Of the categories.
        title: Written above everything.
        letters: `"auto"`: letters on the cells of the first panel, where they fit; `"none"`.
        caption: Below the title.
        numbers: What the pointer shows for the category of that place, as `hover` takes it.
    """
    entries = [Entry(name, colour) for name, colour in _legend_colours(colours).items()]
    entries.append(Entry(UNDECIDED, colours.unclassified, hatch=HATCH))
    if frame["suppresses"].any():
        entries.append(Entry(SUPPRESSING, symbol="triangle-down"))
    layers, heads = (n_cells(overlap, dim) for dim in _GRID)
    x, y = Axis("layer", layers, "layer", ticks(layers)), Axis("head", heads, "head", ticks(heads), reverse=True)
    # Panels stay in one row: with many of them they are smaller.
    legend = Legend(entries, letters={}).size
    room = (WIDEST - _BESIDE - legend[0]) // (1 + len(colours.categories)) - _BETWEEN
    cells = Cells(x, y, square_cells(x, y, within=(min(_WIDE, room), _TALL), least=(110, legend[1])))
    symbols = {f"{k} categories": str(k) for k in colours.counts} | category_letters(list(colours.categories))
    symbols = symbols if letters == AUTO and fits(symbols, cells.size) else {}
    panels = [
        Panel(
            name,
            [_plot(cells, frame, [name] if name != ALL else list(colours.categories), name, colours, symbols, numbers)],
            notes=[_count(frame[frame["panel"] == name], overlap)],
        )
        for name in [ALL, *colours.categories]
    ]
    caption = [*caption, *_nobody(overlap, frame)]
    return PanelGrid(panels, frame, title, caption, one_row=True, beside=Legend(entries, symbols))


def _legend_colours(colours: Palette) -> dict[str, str]:
    """Legend entry -> colour, from top to bottom: most categories first, then the categories from last to first."""
    counts = {f"{k} categories": colours.counts[k] for k in sorted(colours.counts, reverse=True)}
    single = {name: colours.categories[name] for name in reversed(colours.categories)}
    return {**counts, **single, UNCLASSIFIED: colours.unclassified}


def _plot(
    cells: Cells,
    frame: pd.DataFrame,
    shown: list[str],
    name: str,
    colours: Palette,
    letters: dict[str, str],
    numbers: Callable[[int], str],
) -> Plot:
    panel_rows = frame[frame["panel"] == name].reset_index(drop=True)
    rows = {category: frame[frame["panel"] == category].reset_index(drop=True) for category in shown}
    pointed, template = panel_rows.copy(), ["<b>%{pointed}</b>"]
    sets = panel_rows["set"].map(lambda joined: escaped(joined).replace("+", " + ") or "no category")
    undecided = _listed({category: row["hatched"] for category, row in rows.items()}, "undecided")
    suppressed = _listed({category: row["suppresses"] for category, row in rows.items()}, "suppresses")
    pointed["pointed"] = panel_rows["name"] + ": " + sets + undecided + suppressed
    pointed["tasks"] = ""
    for i, (category, row) in enumerate(rows.items()):
        for number in NUMBERS:
            pointed[f"{number}{i}"] = row[number]
        has_numbers = row["effect"].notna().any()
        template.append(f"{escaped(category)}: {numbers(i) if has_numbers else 'not judged'}")
        tasks = row["tasks"].map(lambda joined: escaped(joined).replace(",", ", "))
        pointed["tasks"] += (f"<br>tasks of {escaped(category)}: " + tasks).where(tasks != "", "")
    heads = panel_rows[panel_rows["suppresses"]]
    traces = [
        cells.heatmap(
            pointed, "label", name=name, template="<br>".join(template) + "%{tasks}", colours=_legend_colours(colours)
        ),
        cells.hatching(panel_rows[panel_rows["hatched"]], name=UNDECIDED),
        cells.letters(panel_rows, letters) if name == ALL else None,
        cells.symbols(heads, name=SUPPRESSING, symbol="triangle-down", share=0.35),
    ]
    return Plot(cells.x, cells.y, cells.pixels, traces)


def _listed(marks: dict[str, pd.Series], word: str) -> pd.Series:
    """For every head the categories with a mark, such as " (undecided: Knowledge)"."""
    names = [escaped(name) for name in marks]
    rows = np.stack([mark.to_numpy(dtype=bool) for mark in marks.values()], axis=1)
    joined = [", ".join(name for name, marked in zip(names, row, strict=True) if marked) for row in rows]
    return pd.Series([f" ({word}: {text})" if text else "" for text in joined])


def _count(here: pd.DataFrame, overlap: xr.Dataset) -> str:
    n, total = int((here["outcome"] == "in").sum()), int((here["outcome"] != MISSING).sum())
    return f"{n or 'no'} {_kind(overlap)}{'head' if n < 2 else 'heads'} of {total}" if total else "not judged"


def _kind(overlap: xr.Dataset) -> str:
    return "suppressing " if overlap.attrs.get("sign") == "suppressing" else ""


def _nobody(overlap: xr.Dataset, frame: pd.DataFrame) -> list[str]:
    if (overlap["member"] == 1).any():
        return []
    first = frame[frame["panel"] == ALL]
    undecided, heads = int(first["hatched"].sum()), int((first["outcome"] != MISSING).sum())
    rest = f"{undecided} undecided (hatched)" if undecided else "none undecided"
    rule = f"the rule {escaped(overlap.attrs.get('rule', ''))}".strip()
    return [f"No {_kind(overlap)}head passed {rule} in any category; {rest} of {heads} heads."]
