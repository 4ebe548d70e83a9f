"""The category overlap map: which heads serve which categories of tasks, and which serve several."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from headcats.categories.membership import SETTLED
from headcats.errors import OptionError, UnknownNameError
from headcats.figures.colours import (
    HATCH,
    MOST_CATEGORIES,
    UNCLASSIFIED,
    Palette,
    ink_on,
    recoloured,
)
from headcats.figures.figure import figure
from headcats.figures.hero_map import WITHIN, hero_grid
from headcats.figures.overlap_rows import ALL, GRID, checked_overlap, overlap_frame
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import PAPER, check_layout, layer_head_cells
from headcats.figures.panels.layout import WIDEST, Panel
from headcats.figures.panels.legend import Entry, Legend, category_letters, fits
from headcats.figures.panels.marks import MARKED, UNMARKED, check_marks
from headcats.figures.panels.text import MISSING, escaped
from headcats.figures.tables import NUMBERS
from headcats.registry import unknown_name_message
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.head_axes import noun, unit_of
from headcats.results.visible import shortened

AUTO, NONE = "auto", "none"
HERO = "hero"
UNDECIDED, SUPPRESSING = "Undecided", "Suppressing"
EDGES = "edge"
"""Name of the lines around coloured cells."""
_MOST, _NAMED = 100, 4  # categories in the hero layout, and of those named in a caption
# Descriptors at the pointer; the others stand in the numbers.
_POINTED = ("previous_token", "duplicate_token", "induction", "copying")
# Pixels of a copy for publication, and of one of its panels: five with their legend fill it, at 80 layers 2.5 a cell.
_PAGE, _PAGE_WIDE = 1440, 206
_WIDE, _TALL, _BETWEEN, _BESIDE = 200, 420, 46, 54  # pixels of a panel, between two, and on both sides of them

_NUMBERS_SHOWN = "effect %{{effect{0}:.3f}} [%{{low{0}:.3f}}, %{{high{0}:.3f}}], q %{{q_value{0}:.2g}}".format
_SCORE_SHOWN = "score %{{effect{0}:.3f}}".format  # of methods without tests: weights, gates, probes


@figure
def overlap_map(
    overlap: xr.Dataset,
    *,
    layout: str = PAPER,
    palette: str = "headcats",
    letters: str = AUTO,
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
    tasks; in the first panel also for what it does, where the overlap says it. Thin lines stand between groups of heads
    that share keys and values (coordinate `kv_head`). Effects of groups (attribute `unit`) are shown likewise, one cell
    a group.

    Args:
        overlap: As `hc.overlap` returns it: `n_categories, set (layer, head)` and `member, undecided, effect, low,
            high, q_value, tasks (category, layer, head)`; effects in shares of the clean-corrupted gap, positive = the
            head helps. 1 to 8 categories; their order and colours come from the attribute `categories`. `suppressing
            (category, layer, head)`, where present: 1 = marked by a triangle. Descriptors `(layer, head)`, where
            present: `overlap.assign(hc.describe_heads(model))`.
        layout: `"paper"`: the row of panels; `"hero"`: one large panel with a button for every view, for screens. There
            a head of several categories has a stripe of each colour, a dashed edge marks one that stays in a category
            in less than 80 % of resamples (`probability`, where present), and heads that are undecided in all of their
            categories are open. Any number of categories.
        palette: Name of the colours; `"headcats"` takes the suite's own, `"colour_blind"` some that are told apart
            under every common colour blindness. Where two categories have the same colour, the later one gets
            another, which the caption says.
        letters: `"auto"`, or `"none"` for cells without letters.
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
        `kv_head`, and for an approximation `approximation`.

    Raises:
        DataError: a variable, dimension or the attribute `categories` is missing, or `member` and `n_categories`
            contradict each other.
        UnknownNameError: unknown palette, or another word for `layout`, `letters` or `marks`.
        OptionError: `marks="none"` in the hero layout, which needs them.

    References:
        Layout after Elhelo & Geva (2025), MAPS, arXiv 2412.11965.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> overlap = hc.overlap(hc.categorize(hc.score(results, method="denoising_patch")))
        >>> fig = hc.figures.overlap_map(overlap, palette="colour_blind", title="Denoising patch")
        >>> numbers = hc.figures.data(fig)
        >>> list(numbers.panel.unique())
        ['All Categories', 'Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
    """
    check_layout(layout, (PAPER, HERO))
    check_marks(marks)
    if layout == HERO and marks == UNMARKED:
        raise OptionError(
            'overlap_map with layout="hero" tells categories apart by edges and letters too, so it has no copy without '
            'marks; got marks="none". Draw layout="paper", marks="none", or leave out marks.'
        )
    overlap, colours = checked_overlap(overlap, palette, most=_MOST if layout == HERO else MOST_CATEGORIES)
    frame = overlap_frame(overlap, colours)
    if layout == HERO:
        return _hero(overlap, frame, colours.categories, title=title)
    numbers = _shown(overlap)
    return overlap_grid(overlap, frame, colours, title=title, letters=letters, marks=marks, numbers=numbers)


def overlap_grid(
    overlap: xr.Dataset,
    frame: pd.DataFrame,
    colours: Palette,
    *,
    title: str | None,
    letters: str,
    marks: str = MARKED,
    caption: Sequence[str] = (),
    numbers: Callable[[int], str] = _NUMBERS_SHOWN,
) -> PanelGrid:
    """The panels of an overlap map, from what `checked_overlap` and `overlap_frame` return.

    `numbers` makes what the pointer shows for the category of that place, as `hover` takes it.
    """
    if letters not in (AUTO, NONE):
        raise UnknownNameError(unknown_name_message("choice of letters", letters, (AUTO, NONE)))
    entries = [Entry(name, colour) for name, colour in colours.entries.items()]
    entries.append(Entry(UNDECIDED, UNCLASSIFIED, hatch=HATCH))
    if frame["suppresses"].any():
        entries.append(Entry(SUPPRESSING, symbol="triangle-down"))
    # Panels stay in one row: with many of them they are smaller.
    legend = Legend(entries).size()
    widest, wide = (WIDEST, _WIDE) if marks == MARKED else (_PAGE, _PAGE_WIDE)
    room = (widest - _BESIDE - legend[0]) // (1 + len(colours.categories)) - _BETWEEN
    within, least = (min(wide, room), _TALL), (110, legend[1])
    cells = layer_head_cells(overlap, within=within, least=least, layout=PAPER, marks=marks)
    symbols = {f"{k} categories": str(k) for k in colours.counts} | category_letters(list(colours.categories))
    symbols = symbols if letters == AUTO and fits(symbols, cells.size) else {}
    panel_rows = {name: rows.reset_index(drop=True) for name, rows in frame.groupby("panel", sort=False)}
    categories = {name: panel_rows[name] for name in colours.categories}
    panels = []
    for name, rows in panel_rows.items():
        pointed, template = _pointed(rows, categories, [name] if name != ALL else list(categories), numbers)
        if name == ALL:
            template += _does([known for known in _POINTED if known in rows])
        hatched = rows[rows["hatched"]]
        inks = hatched["colour"].map(ink_on).where(hatched["outcome"] == "in", HATCH)
        traces = [
            cells.heatmap(pointed, "label", name=name, template=template, colours=colours.entries),
            *cells.edges(rows[rows["outcome"] == "in"], name=EDGES),
            *(cells.hatching(hatched[inks == ink], name=UNDECIDED, ink=ink) for ink in sorted({HATCH, *inks})),
            cells.letters(rows, symbols) if name == ALL else None,
            cells.symbols(rows[rows["suppresses"]], name=SUPPRESSING, symbol="triangle-down", share=0.35),
        ]
        panels.append(Panel(name, [cells.plot(traces)], notes=_counts(rows, overlap)))
    elsewhere = (frame["hatched"] & (frame["n_categories"] > 0)).any()
    hatching = ["hatched: undecided in that category; first panel: in at least one"] if elsewhere else []
    caption = [*caption, *hatching, *_other_colours(overlap), *_nobody(overlap, frame)]
    return PanelGrid(panels, frame, title, caption, one_row=True, beside=Legend(entries, symbols), marks=marks)


def hero_panel(overlap: xr.Dataset, *, within: tuple[int, int] = WITHIN) -> PanelGrid:
    """The hero layout without what stands around it, for a page that has its own title, legend and buttons.

    The panel is `within` so many pixels.
    """
    overlap, colours = checked_overlap(overlap, "headcats", most=_MOST)
    grid = _hero(overlap, overlap_frame(overlap, colours), colours.categories, title=None, within=within)
    bare = [replace(panel, name="", notes=()) for panel in grid.panels]
    return replace(grid, panels=bare, caption=(), beside=None, least=0)


def _hero(
    overlap: xr.Dataset,
    frame: pd.DataFrame,
    colours: dict[str, str],
    *,
    title: str | None,
    within: tuple[int, int] = WITHIN,
) -> PanelGrid:
    panels = {name: rows.reset_index(drop=True) for name, rows in frame.groupby("panel", sort=False)}
    first = panels.pop(ALL)
    for name, rows in panels.items():
        probability = overlap["probability"].sel(category=name).transpose(*GRID) if "probability" in overlap else None
        panels[name] = rows.assign(unsure=False if probability is None else probability.to_numpy().ravel() < SETTLED)
    # Of so many categories the pointer names those of a head; their numbers would fill the screen.
    named = list(panels) if len(panels) <= MOST_CATEGORIES else []
    pointed, template = _pointed(first, panels, named, _shown(overlap))
    template += _does([known for known in _POINTED if known in first])
    return hero_grid(
        overlap, pointed, panels, colours,
        all_name=ALL, template=template, title=title, frame=frame, notes=_counts(first, overlap),
        caption=[*_other_colours(overlap), *_nobody(overlap, frame)], within=within,
    )  # fmt: skip


def _shown(overlap: xr.Dataset) -> Callable[[int], str]:
    """The numbers of a head at the pointer: with interval and q where there are any."""
    return _NUMBERS_SHOWN if "measure" not in overlap.attrs else _SCORE_SHOWN


def _pointed(
    rows: pd.DataFrame, categories: dict[str, pd.DataFrame], shown: Sequence[str], numbers: Callable[[int], str]
) -> tuple[pd.DataFrame, str]:
    """The rows of a panel with what the pointer shows of `shown` categories, and its template."""
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
    return pointed, "<br>".join(template) + "%{tasks}"


def _does(descriptors: Sequence[str]) -> str:
    """What the pointer shows of what a head does."""
    texts = [f"{DESCRIPTORS[name].label} %{{{name}:.2f}}" for name in descriptors]
    return f"<br>{', '.join(texts)}" if texts else ""


def _marked(marks: dict[str, pd.Series], separator: str) -> pd.Series:
    """For every head the names of the categories that mark it."""
    names = np.array([escaped(name) for name in marks])
    by_head = np.stack([mark.to_numpy(dtype=bool) for mark in marks.values()], axis=1)
    return pd.Series([separator.join(names[marked]) for marked in by_head])


def _counts(rows: pd.DataFrame, overlap: xr.Dataset) -> list[str]:
    n, total, undecided = (int(m.sum()) for m in (rows["outcome"] == "in", rows["outcome"] != MISSING, rows["hatched"]))
    if not total:
        return ["not judged"]
    heads = f"{n or 'no'} {_kind(overlap)}{noun(unit_of(overlap))}{'s' * (n > 1)} of {total}"
    return [heads, f"{undecided} undecided{' in some' * (rows['panel'].iloc[0] == ALL)}"] if undecided else [heads]


def _kind(overlap: xr.Dataset) -> str:
    return "suppressing " if overlap.attrs.get("sign") == "suppressing" else ""


def _other_colours(overlap: xr.Dataset) -> list[str]:
    if not (names := recoloured(overlap)):
        return []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    shown = ", ".join(escaped(shortened(name, most=24)) for name in names[:_NAMED])
    return [f"in another colour than given, which an earlier category has: {shown}{more}"]


def _nobody(overlap: xr.Dataset, frame: pd.DataFrame) -> list[str]:
    if (overlap["member"] == 1).any():
        return []
    first = frame[frame["panel"] == ALL]
    undecided, heads = int(first["hatched"].sum()), int((first["outcome"] != MISSING).sum())
    not_out = f"{undecided} undecided (hatched)" if undecided else "none undecided"
    rule = f"the rule {escaped(overlap.attrs.get('rule', ''))}".strip()
    cell = noun(unit_of(overlap))
    return [f"No {_kind(overlap)}{cell} passed {rule} in any category; {not_out} of {heads} {cell}s."]
