"""Category overlap map: which heads serve which categories of tasks, and which serve several."""

from collections.abc import Sequence
from typing import Any

import xarray as xr

from headcats.base.errors import OptionError
from headcats.categories.listed import listed_heads
from headcats.figures.colours import HATCH, UNCLASSIFIED, ink_on
from headcats.figures.figure import figure
from headcats.figures.hero_map import hero_grid
from headcats.figures.overlap_rows import (
    ALL,
    LISTED,
    RINGED,
    checked_overlap,
    count_notes,
    map_warnings,
    overlap_frame,
    pointed_rows,
    rings,
)
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import PAPER, check_layout, layer_head_cells
from headcats.figures.panels.layout import MARKED, UNMARKED, WIDEST, Panel
from headcats.figures.panels.legend import Entry, Legend, category_letters, fits

HERO = "hero"
UNDECIDED, SUPPRESSING = "Undecided", "Suppressing"
# Pixels of a copy for publication, and of one of its panels: five with their legend fill it, at 80 layers 2.5 a cell.
_PAGE, _PAGE_WIDE = 1440, 206
_WIDE, _TALL, _BETWEEN, _BESIDE = 200, 420, 46, 54  # pixels of a panel, between two, and on both sides of them


@figure
def overlap_map(
    overlap: xr.Dataset,
    *,
    heads: Sequence[Any] = (),
    layout: str = PAPER,
    palette: str = "headcats",
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """All categories in one panel, then one panel per category; x = layer, y = head, head 0 on top.

    The first panel colours a head by its category, or by how many it is in, and writes that on the cell where it is
    wide enough: the category's first letters, bold in the legend, or the number. Each further panel shows every head of
    one category, shared ones included. Hatched: undecided in the panel's category, in the first panel in at least one,
    so that a head of one category may yet be in others. Layers without attention heads (hybrid models) and heads that a
    layer lacks (effect NaN) stay blank. A triangle marks heads that suppress the panel's category, which have a map of
    their own: `hc.overlap(members, sign="suppressing")`. Hover over a head for its name, set, effects, intervals, q and
    tasks; in the first panel also for what it does, where the overlap says it. Effects of groups (attribute `unit`) are
    shown likewise, one cell a group.

    Args:
        overlap: As `hc.overlap` returns it: `n_categories, set (layer, head)` and `member, undecided, effect, low,
            high, q_value, tasks (category, layer, head)`; effects in shares of the clean-corrupted gap, positive = the
            head helps. 1 to 8 categories; their order and colours come from the attribute `categories`. `suppressing
            (category, layer, head)`, where present: 1 = marked by a triangle. Descriptors `(layer, head)`, where
            present: `overlap.assign(hc.describe_heads(model))`.
        heads: Heads to ring, such as those of a paper (`hc.heads`); `hc.categories.in_both` counts them beside chance.
        layout: `"paper"`: the row of panels; `"hero"`: one large panel, for screens. There a head of several categories
            has a stripe of each colour, a dashed edge marks one that stays in a category in less than 80 % of resamples
            (`probability`, where present), and heads that are undecided in all of their categories are open. Any number
            of categories.
        palette: Name of the colours; `"headcats"` takes the suite's own, `"colour_blind"` some that are told apart
            under every common colour blindness.
        marks: `"all"`, or `"none"` for a copy for publication, at most 1440 pixels wide with up to four categories. As
            in the paper cells show their colours alone, nothing stands below the title and the names of panels, and
            ticks are `arange(0, n + 1, n // 5)`, the last one included. **There colour is the only cue**: undecided
            and suppressing heads look like all others; the pointer and the numbers still tell them.
        title: Written above the panels; an approximation is named there and in the hover.

    Returns:
        The figure, as wide as its panels need. `hc.figures.data(fig)` has one row per panel and head: `panel, layer,
        head, name, set, n_categories, label` (the legend entry of its colour), `colour, outcome` ("in", "undecided",
        "out" of the panel's category; in the first panel "in" = of any; "no value" where the effect is NaN, in the
        first panel in every category, with `label` and `colour` ""), `hatched, suppresses, effect, low, high, q_value,
        tasks` (the last six empty in the first panel), the descriptors; where heads share keys and values also
        `kv_head`, of `heads` also `listed`, and for an approximation `approximation`.

    Raises:
        DataError: a variable, dimension or the attribute `categories` is missing, or `member` and `n_categories`
            contradict each other.
        UnknownNameError: unknown palette, or another word for `layout` or `marks`.
        OptionError: `marks="none"` in the hero layout, which needs them.

    References:
        Layout after Elhelo & Geva (2025), MAPS, arXiv 2412.11965.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> overlap = hc.overlap(hc.categorize(hc.score(results, method="denoising_patch")))
        >>> fig = hc.figures.overlap_map(overlap, palette="colour_blind", title="Denoising patch")
        >>> list(hc.figures.data(fig).panel.unique())
        ['All Categories', 'Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
    """
    check_layout(layout, (PAPER, HERO))
    if len(heads):
        overlap = overlap.assign({LISTED: (("layer", "head"), listed_heads(overlap, heads))})
    if layout == PAPER:
        return overlap_grid(overlap, palette=palette, title=title, marks=marks)
    if marks == UNMARKED:
        raise OptionError(
            'overlap_map with layout="hero" tells categories apart by edges and letters too, so it has no copy without '
            'marks; got marks="none". Draw layout="paper", marks="none", or leave out marks.'
        )
    return hero_grid(overlap, palette=palette, title=title)


def overlap_grid(
    overlap: xr.Dataset, *, palette: str, title: str | None, marks: str = MARKED, caption: Sequence[str] = ()
) -> PanelGrid:
    """Panels of an overlap map; arguments and errors are those of `overlap_map`, `caption` begins the lines below.

    Where the overlap has an attribute `measure`, its effects are scores without tests.
    """
    overlap, colours = checked_overlap(overlap, palette)
    frame = overlap_frame(overlap, colours)
    entries = [Entry(name, colour) for name, colour in colours.entries.items()]
    entries.append(Entry(UNDECIDED, UNCLASSIFIED, hatch=HATCH))
    if frame["suppresses"].any():
        entries.append(Entry(SUPPRESSING, symbol="triangle-down"))
    if LISTED in frame:
        entries.append(Entry(RINGED, symbol="circle-open"))
    # Panels stay in one row: with many of them they are smaller.
    legend = Legend(entries).size()
    widest, wide = (WIDEST, _WIDE) if marks == MARKED else (_PAGE, _PAGE_WIDE)
    room = (widest - _BESIDE - legend[0]) // (1 + len(colours.categories)) - _BETWEEN
    within, least = (min(wide, room), _TALL), (110, legend[1])
    cells = layer_head_cells(overlap, within=within, least=least, layout=PAPER, marks=marks)
    symbols = {f"{k} categories": str(k) for k in colours.counts} | category_letters(list(colours.categories))
    symbols = symbols if fits(symbols, cells.size) else {}
    panel_rows = {name: rows.reset_index(drop=True) for name, rows in frame.groupby("panel", sort=False)}
    categories = {name: panel_rows[name] for name in colours.categories}
    panels = []
    for name, rows in panel_rows.items():
        pointed, template = pointed_rows(rows, categories, [name] if name != ALL else list(categories), overlap)
        hatched = rows[rows["hatched"]]
        inks = hatched["colour"].map(ink_on).where(hatched["outcome"] == "in", HATCH)
        traces = [
            cells.heatmap(pointed, "label", name=name, template=template, colours=colours.entries),
            *cells.edges(rows[rows["outcome"] == "in"], name="edge"),
            *(cells.hatching(hatched[inks == ink], name=UNDECIDED, ink=ink) for ink in sorted({HATCH, *inks})),
            cells.letters(rows, symbols) if name == ALL else None,
            cells.symbols(rows[rows["suppresses"]], name=SUPPRESSING, symbol="triangle-down", share=0.35),
            rings(cells, rows),
        ]
        panels.append(Panel(name, [cells.plot(traces)], notes=count_notes(rows, overlap)))
    elsewhere = (frame["hatched"] & (frame["n_categories"] > 0)).any()
    hatching = ["hatched: undecided in that category; first panel: in at least one"] if elsewhere else []
    caption = [*caption, *hatching, *map_warnings(overlap, frame)]
    return PanelGrid(panels, frame, title, caption, one_row=True, beside=Legend(entries, symbols), marks=marks)
