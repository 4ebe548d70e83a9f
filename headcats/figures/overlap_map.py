"""The category overlap map: which heads serve which categories of tasks, and which serve several."""

import html
import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import DataError
from headcats.figures.axes import Canvas, Panel, add_panel, add_text, new_figure
from headcats.figures.cells import NUMBERS, head_name, n_cells, on_grid, require
from headcats.figures.colours import HATCH, Palette, category_colours, named_palette
from headcats.figures.figure import figure
from headcats.figures.hatch import hatch_lines
from headcats.figures.overlap_hover import hover_numbers, hover_template, hover_text
from headcats.figures.overlap_legend import SUPPRESSING, UNCLASSIFIED, UNDECIDED, add_legend, legend_labels
from headcats.figures.screen import screen_hover, screen_title, with_approximation

ALL = "All Categories"
NO_VALUE = "no value"
OUTCOMES = {1: "in", 0: "undecided", -1: "out"}

_GRID = ("layer", "head")
_VARIABLES = {
    "n_categories": _GRID,
    "set": _GRID,
    "undecided": _GRID,
    **dict.fromkeys(("member", *NUMBERS, "tasks"), ("category", *_GRID)),
}
_PANEL, _TALLEST = 200, 420  # pixels
_LEFT, _RIGHT, _BOTTOM, _ROOM_FOR_HEADS = 8, 34, 46, 46
_LEGEND_ENTRY, _LEGEND_GAP = 20, 10


@figure
def overlap_map(
    overlap: xr.Dataset, *, palette: str = "headcats", title: str | None = None
) -> tuple[go.Figure, pd.DataFrame]:
    """All categories in one panel, then one panel per category; x = layer, y = head, head 0 on top.

    The first panel colours a head by its category, or by how many it is in when it is in several. Each further
    panel shows every head of one category, shared ones included. Heads for which the data decide neither way are
    hatched: in the first panel by the variable `undecided`, in a category's panel where `member` is 0. Layers
    without attention heads (hybrid models) stay blank, and so do heads that a layer lacks: those whose effect is
    NaN. In a category's panel a triangle marks heads that suppress it, which are never counted with those that help;
    their own map is that of `hc.overlap(members, sign="suppressing")`. Hover over a head for its name, set, effects,
    intervals, q and tasks.

    Args:
        overlap: As `hc.overlap` returns it: `n_categories, set, undecided (layer, head)` and
            `member, effect, low, high, q_value, tasks (category, layer, head)`; effects in shares of the
            clean-corrupted gap, positive = the head helps. 1 to 8 categories; their order and colours come from the
            attribute `categories`. `suppressing (category, layer, head)`, where present: 1 = marked by a triangle.
        palette: Name of the colours; `"headcats"` takes the suite's own.
        title: Written above the panels; that of a screen (attribute `approximation`) says so, and so does the hover.

    Returns:
        The figure, as wide as its panels need. `hc.figures.data(fig)` has one row per panel and head: `panel, layer,
        head, name, set, n_categories, label` (the legend entry of its colour), `colour, outcome` ("in", "undecided",
        "out" of the panel's category; in the first panel "in" = of any; "no value" where the effect is NaN, in the
        first panel in every category, with `label` and `colour` ""), `hatched, suppresses, effect, low, high, q_value,
        tasks` (the last six empty in the first panel); for a screen also `approximation`.

    Raises:
        DataError: a variable, dimension or the attribute `categories` is missing, or `member` and `n_categories`
            contradict each other.
        UnknownNameError: unknown palette.

    References:
        Layout after Elhelo & Geva (2025), MAPS, arXiv 2412.11965.
    """
    require(overlap, _VARIABLES, figure="overlap_map", source="hc.overlap(members)")
    overlap = _in_category_order(overlap)
    if not ((overlap.member == 1).sum("category") == overlap.n_categories).all():
        raise DataError(
            "overlap_map expects `n_categories` to count the categories whose `member` is 1; they differ for some "
            "heads. Make both from the same memberships with hc.overlap(members)."
        )
    colours = _colours(palette, overlap)
    frame = _frame(overlap, colours)
    fig = _draw(overlap, frame, colours, title=screen_title(title, overlap))
    return fig, with_approximation(frame, overlap)


def _in_category_order(overlap: xr.Dataset) -> xr.Dataset:
    present = [str(name) for name in overlap.category.values]
    known = category_colours(overlap)
    missing = [name for name in present if name not in known]
    if missing or not present:
        raise DataError(
            f"overlap_map expects categories that the attribute `categories` lists with a colour ({', '.join(known)}); "
            f"got {', '.join(present) or 'none'}. Add the missing ones to the attribute."
        )
    return overlap.sel(category=[name for name in known if name in present])


def _colours(name: str, overlap: xr.Dataset) -> Palette:
    known = category_colours(overlap)
    return named_palette(name, {str(c): known[str(c)] for c in overlap.category.values})


def _frame(overlap: xr.Dataset, colours: Palette) -> pd.DataFrame:
    heads = [(int(layer), int(head)) for layer in overlap["layer"].values for head in overlap["head"].values]
    common = pd.DataFrame(heads, columns=["layer", "head"])
    common["name"] = [head_name(*head) for head in heads]
    common["set"] = _flat(overlap["set"]).astype(str)
    common["n_categories"] = _flat(overlap.n_categories).astype(int)

    member = {str(c): _flat(overlap.member.sel(category=c)).astype(int) for c in overlap.category.values}
    undecided = _flat(overlap.undecided).astype(bool)
    everything = common.assign(panel=ALL, hatched=undecided)
    everything["label"] = [_label(i, member) for i in range(len(heads))]
    everything["outcome"] = np.where(common.n_categories > 0, "in", np.where(undecided, "undecided", "out"))
    everything = _without_missing(everything, overlap.effect.notnull().any("category"))
    # Empty columns of the dtypes of the others, so that concatenation does not guess.
    everything = everything.assign(
        **{name: np.full(len(heads), np.nan) for name in NUMBERS}, tasks="", suppresses=False
    )

    panels = [everything]
    for name, values in member.items():
        here = overlap.sel(category=name)
        one = common.assign(panel=name, hatched=values == 0)
        one["label"] = np.where(values == 1, name, UNCLASSIFIED)
        one["outcome"] = [OUTCOMES[v] for v in values]
        one = _without_missing(one, here.effect.notnull())
        one = one.assign(**{number: _flat(here[number]).astype(float) for number in NUMBERS})
        suppresses = _flat(here.suppressing) == 1 if "suppressing" in here else False
        panels.append(one.assign(tasks=_flat(here.tasks).astype(str), suppresses=suppresses))
    frame = pd.concat(panels, ignore_index=True)
    frame["colour"] = frame.label.map({**legend_labels(colours), "": ""})
    first = ["panel", "layer", "head", "name", "set", "n_categories", "label", "colour", "outcome", "hatched"]
    return frame[[*first, "suppresses", *NUMBERS, "tasks"]]


def _without_missing(panel: pd.DataFrame, has_value: xr.DataArray) -> pd.DataFrame:
    # Rules call a NaN undecided, but a head that does not exist is not.
    known = _flat(has_value)
    outcome, label = (np.where(known, panel[name], other) for name, other in (("outcome", NO_VALUE), ("label", "")))
    return panel.assign(hatched=panel.hatched & known, outcome=outcome, label=label)


def _flat(values: xr.DataArray) -> np.ndarray:
    return values.transpose("layer", "head").to_numpy().ravel()


def _label(i: int, member: dict[str, np.ndarray]) -> str:
    names = [name for name, values in member.items() if values[i] == 1]
    if len(names) > 1:
        return f"{len(names)} categories"
    return names[0] if names else UNCLASSIFIED


def _draw(overlap: xr.Dataset, frame: pd.DataFrame, colours: Palette, *, title: str | None) -> go.Figure:
    labels = legend_labels(colours)
    n_layers, n_heads = n_cells(overlap, "layer"), n_cells(overlap, "head")
    suppressed = bool(frame.suppresses.any())
    cell = _cell(n_layers, n_heads, at_least=_LEGEND_ENTRY * (len(labels) + 1 + suppressed) + 8)
    width, height = cell[0] * n_layers, cell[1] * n_heads
    sentence = _sentence(overlap, frame)

    # Arial needs at most .6 of its size a letter; 44 pixels hold the swatch and the spaces around it.
    legend_width = 44 + math.ceil(7.2 * max(map(len, [*labels, UNDECIDED])))
    step = _ROOM_FOR_HEADS + max(width, 110)
    top = 14 + (30 if title else 0) + (26 if sentence else 0)
    names = [ALL, *colours.categories]
    lefts = [_LEFT + _ROOM_FOR_HEADS + i * step + (_LEGEND_GAP + legend_width if i else 0) for i in range(len(names))]
    right, bottom = lefts[-1] + max(width, 110) + _RIGHT, top + 38 + height + _BOTTOM
    canvas = Canvas(width=right, height=bottom)

    fig = new_figure(canvas, title=title)
    if sentence:
        add_text(fig, sentence, canvas=canvas, at=(16, top - 22), size=13)
    for name, left in zip(names, lefts, strict=True):
        here = frame[frame.panel == name]
        panel = Panel(left=left, top=top + 38, width=width, height=height)
        axes = add_panel(fig, panel, canvas=canvas, n_layers=n_layers, n_heads=n_heads, names=(True, True))
        add_text(fig, html.escape(name, quote=False), canvas=canvas, at=(left, top), size=14)
        add_text(fig, _count(here, overlap), canvas=canvas, at=(left, top + 19), size=11, quiet=True)
        grid = here.set_index(["layer", "head"]).to_xarray()
        fig.add_trace(_cells(name, grid, overlap, labels, gap=_gap(cell), axes=axes))
        xs, ys = hatch_lines(on_grid(grid.hatched, fill=False).astype(bool), cell=cell)
        lines = {"color": HATCH, "width": 1 if min(cell) >= 6 else 0.6}
        fig.add_trace(
            go.Scatter(x=xs, y=ys, mode="lines", line=lines, hoverinfo="skip", showlegend=False, name=UNDECIDED, **axes)
        )
        if here.suppresses.any():
            fig.add_trace(_triangles(here[here.suppresses], size=min(9.0, max(3.0, 0.45 * min(cell))), axes=axes))
    add_legend(
        fig, labels, suppressed=suppressed, at=(canvas.x(lefts[0] + max(width, 110) + _LEGEND_GAP), canvas.y(top + 34))
    )
    return fig


def _cell(n_layers: int, n_heads: int, *, at_least: int) -> tuple[int, int]:
    """Width and height of a cell in whole pixels (cells would differ in size otherwise); square where that fits."""
    width = max(3, min(100, _PANEL // n_layers))
    height = min(width, max(3, _TALLEST // n_heads))
    return width, max(height, math.ceil(at_least / n_heads))


def _gap(cell: tuple[int, int]) -> int:
    smallest = min(cell)
    return 0 if smallest < 6 else 1 if smallest < 24 else 2


def _triangles(heads: pd.DataFrame, *, size: float, axes: dict[str, str]) -> go.Scatter:
    marker = {"symbol": "triangle-down", "size": size, "color": "black"}
    return go.Scatter(
        x=heads.layer.to_numpy(),
        y=heads["head"].to_numpy(),
        mode="markers",
        marker=marker,
        name=SUPPRESSING,
        hoverinfo="skip",
        showlegend=False,
        **axes,
    )


def _count(panel: pd.DataFrame, overlap: xr.Dataset) -> str:
    n = int((panel.outcome == "in").sum())
    kind = _kind(overlap)
    known = int((panel.outcome != NO_VALUE).sum())
    if not known:
        return "not judged"
    return f"{n or 'no'} {kind}{'head' if n < 2 else 'heads'} of {known}"


def _kind(overlap: xr.Dataset) -> str:
    return "suppressing " if overlap.attrs.get("sign") == "suppressing" else ""


def _sentence(overlap: xr.Dataset, frame: pd.DataFrame) -> str | None:
    if (overlap.member == 1).any():
        return None
    rule = html.escape(str(overlap.attrs.get("rule", "")), quote=False)
    everything = frame[frame.panel == ALL]
    undecided = int(everything.hatched.sum())
    rest = f"{undecided} undecided (hatched)" if undecided else "none undecided"
    named = f"the rule {rule}" if rule else "the rule"
    heads = int((everything.outcome != NO_VALUE).sum())
    return f"No {_kind(overlap)}head passed {named} in any category; {rest} of {heads} heads."


def _cells(
    name: str, grid: xr.Dataset, overlap: xr.Dataset, labels: dict[str, str], *, gap: int, axes: dict[str, str]
) -> go.Heatmap:
    order = list(labels)
    codes = grid.label.copy(data=pd.Index(order).get_indexer(grid.label.values.ravel()).reshape(grid.label.shape))
    steps: list[tuple[float, str]] = []
    for i, colour in enumerate(labels.values()):
        steps += [(i / len(order), colour), ((i + 1) / len(order), colour)]
    shown = [str(c) for c in overlap.category.values if name in (ALL, c)]
    here = overlap.sel(category=shown)
    z = on_grid(codes.where(codes >= 0).astype("float32"), fill=np.float32(np.nan))
    who, tasks = hover_text(here, overlap)
    return go.Heatmap(
        z=z,
        x0=0,
        dx=1,
        y0=0,
        dy=1,
        zmin=-0.5,
        zmax=len(order) - 0.5,
        colorscale=steps,
        showscale=False,
        xgap=gap,
        ygap=gap,
        hoverongaps=False,
        text=who,
        hovertext=tasks,
        customdata=hover_numbers(here),
        hovertemplate=hover_template(shown, note=screen_hover(overlap)),
        name=name,
        **axes,
    )
