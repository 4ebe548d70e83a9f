"""Overlap map as one large panel: stripes for heads of several categories, on pages a view of each category, too."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.categories.membership import SETTLED
from headcats.figures.colours import EDGE, MOST_CATEGORIES, NO_CATEGORY, ON_DARK, OUTLINE, UNCLASSIFIED, ink_on
from headcats.figures.overlap_rows import (
    ALL,
    GRID,
    RINGED,
    checked_overlap,
    count_notes,
    map_warnings,
    overlap_frame,
    pointed_rows,
    rings,
)
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import layer_head_cells
from headcats.figures.panels.layout import Panel
from headcats.figures.panels.legend import Entry, Legend, category_letters, fits
from headcats.figures.panels.text import escaped

UNSURE, OPEN = "unsure", "undecided"
WITHIN = (640, 450)
"""Pixels of the panel."""
_LEAST = (240, 120)
_MOST = 100  # categories
_NAMED = (40, 22)  # pixels of a cell that holds the name of its head
_SYMBOLS = {UNSURE: "square-dot", OPEN: "square-open", RINGED: "circle-open"}


def hero_grid(overlap: xr.Dataset, *, palette: str, title: str | None) -> PanelGrid:
    """Panel of all categories, with its legend; arguments and errors are those of `overlap_map`."""
    overlap, known = checked_overlap(overlap, palette, most=_MOST)
    frame = overlap_frame(overlap, known)
    cells, ground, first, categories = _parts(overlap, frame, WITHIN)
    letters = category_letters(list(known.categories))
    traces = _all(cells, first, categories, known.categories, letters)
    kinds = {trace.name for trace in traces}
    entries = [Entry(name, colour, outlined=True) for name, colour in known.categories.items()]
    entries += [Entry(name, symbol=symbol) for name, symbol in _SYMBOLS.items() if name in kinds]
    beside = Legend(entries, letters if fits(letters, cells.size) else {})
    panel = Panel(ALL, [cells.plot([ground, *traces])], notes=count_notes(first, overlap))
    return PanelGrid([panel], frame, title, list(map_warnings(overlap, frame)), one_row=True, beside=beside)


def hero_panel(overlap: xr.Dataset, *, within: tuple[int, int] = WITHIN) -> PanelGrid:
    """Panel of `within` so many pixels with `views`: of all categories and of each one; the rest is the page's own."""
    overlap, known = checked_overlap(overlap, "headcats", most=_MOST)
    colours, frame = known.categories, overlap_frame(overlap, known)
    cells, ground, first, categories = _parts(overlap, frame, within)
    views = {ALL: _all(cells, first, categories, colours, category_letters(list(colours)))}
    views |= {name: _single(cells, name, rows, colours[name]) for name, rows in categories.items()}
    traces = [trace for of_view in views.values() for trace in of_view]
    shown = {
        name: [True, *(any(trace is each for each in of_view) for trace in traces)] for name, of_view in views.items()
    }
    return PanelGrid([Panel("", [cells.plot([ground, *traces])])], frame, one_row=True, least=0, views=shown)


def _parts(
    overlap: xr.Dataset, frame: pd.DataFrame, within: tuple[int, int]
) -> tuple[Cells, go.Heatmap, pd.DataFrame, dict[str, pd.DataFrame]]:
    """The cells, their ground with what the pointer shows, and the rows of all categories and of each."""
    unsure = overlap.get("probability", xr.ones_like(overlap["effect"])) < SETTLED
    categories = {name: rows.reset_index(drop=True) for name, rows in frame.groupby("panel", sort=False)}
    first = categories.pop(ALL)
    for name, rows in categories.items():
        categories[name] = rows.assign(unsure=unsure.sel(category=name).transpose(*GRID).to_numpy().ravel())
    # Of so many categories the pointer names those of a head; their numbers would fill the screen.
    named = list(categories) if len(categories) <= MOST_CATEGORIES else []
    pointed, template = pointed_rows(first, categories, named, overlap)
    cells = layer_head_cells(overlap, within=within, least=(min(_LEAST[0], within[0]), min(_LEAST[1], within[1])))
    exists = pointed.assign(ground=np.where(first["label"] == "", "", NO_CATEGORY))
    ground = cells.heatmap(exists, "ground", name=NO_CATEGORY, template=template, colours={NO_CATEGORY: UNCLASSIFIED})
    return cells, ground, first, categories


def _all(
    cells: Cells,
    first: pd.DataFrame,
    categories: Mapping[str, pd.DataFrame],
    colours: Mapping[str, str],
    letters: Mapping[str, str],
) -> list[go.Scatter]:
    """Heads in stripes of their categories' colours, each as wide as the others of its head."""
    inside = {name: (rows["outcome"] == "in").to_numpy() for name, rows in categories.items()}
    n = np.sum(list(inside.values()), axis=0)
    before = np.zeros(len(first))
    stripes = []
    traces: list[go.Scatter | None] = []
    for name, mask in inside.items():
        share = 1 / np.maximum(n[mask], 1)
        start = before[mask] * share
        traces.append(cells.areas(first[mask], colours[name], name=name, start=start, stop=start + share))
        stripes.append(first.loc[mask, ["layer", "head"]].assign(category=name, middle=start + share / 2, share=share))
        before[mask] += 1
    unsure = np.any([rows["unsure"] & mask for rows, mask in zip(categories.values(), inside.values(), strict=True)], 0)
    traces += [*_dashes(cells, first[unsure]), _open(cells, first[first["hatched"] & (n == 0)])]
    traces += [_names(cells, first[n > 0], above=0.2), _letters(cells, stripes, colours, letters)]
    traces.append(rings(cells, first))
    return [trace for trace in traces if trace is not None]


def _single(cells: Cells, name: str, rows: pd.DataFrame, colour: str) -> list[go.Scatter]:
    """Heads of one category, whatever else they serve."""
    inside = rows["outcome"] == "in"
    traces = [
        cells.areas(rows[inside], colour, name=name),
        *_dashes(cells, rows[inside & rows["unsure"]]),
        _open(cells, rows[rows["hatched"] & ~inside]),
        _names(cells, rows[inside]),
        cells.symbols(rows[rows["suppresses"]], name="suppresses", symbol="triangle-down", share=0.35),
        rings(cells, rows),
    ]
    return [trace for trace in traces if trace is not None]


def _dashes(cells: Cells, rows: pd.DataFrame) -> list[go.Scatter | None]:
    """Dashes that are seen on any colour: dark ones on a light line."""
    width = 2 if cells.smallest >= 14 else 1
    dashes = {"color": EDGE, "width": width, "dash": f"{2 * width}px,{2 * width}px"}
    lines = [{"color": ON_DARK, "width": width}, dashes]
    return [cells.rectangles(rows, line, name=UNSURE, inset=width / 2 + 1) for line in lines]


def _open(cells: Cells, rows: pd.DataFrame) -> go.Scatter | None:
    inset = 1.5 if cells.smallest >= 10 else 0.5
    return cells.rectangles(rows, {"color": OUTLINE, "width": 1}, name=OPEN, inset=inset)


def _names(cells: Cells, rows: pd.DataFrame, *, above: float = 0.0) -> go.Scatter | None:
    """Names of heads where cells have room for them, `above` the middle by a share of the cell.

    White with a dark line around each letter, which is read on stripes of any colours.
    """
    if not _has_names(cells):
        return None
    return cells.texts(rows, list(rows["name"]), ON_DARK, name="names", size=11, halo=EDGE, down=-above)


def _letters(
    cells: Cells, stripes: list[pd.DataFrame], colours: Mapping[str, str], letters: Mapping[str, str]
) -> go.Scatter | None:
    """Letters of each stripe's category, where it has room for them: below the name of the head if there is one."""
    rows, (width, height) = pd.concat(stripes), cells.size
    room = [
        fits({name: letters[name]}, (int(width * share), height))
        for name, share in zip(rows["category"], rows["share"], strict=True)
    ]
    rows = rows[np.array(room, dtype=bool)]
    texts = rows["category"].map({name: escaped(letter) for name, letter in letters.items()})
    inks = rows["category"].map({name: ink_on(colour) for name, colour in colours.items()})
    right, down = rows["middle"].to_numpy() - 0.5, 0.2 if _has_names(cells) else 0
    return cells.texts(rows, list(texts), list(inks), name="letters", size=11, right=right, down=down)


def _has_names(cells: Cells) -> bool:
    return cells.size[0] >= _NAMED[0] and cells.size[1] >= _NAMED[1]
