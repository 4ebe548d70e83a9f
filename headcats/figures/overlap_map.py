"""The category overlap map: which heads serve which categories of tasks, and which serve several."""

import functools

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import DataError
from headcats.figures.cell_letters import AUTO, check_letters
from headcats.figures.cells import NUMBERS, head_name, require
from headcats.figures.colours import Palette, category_colours, named_palette
from headcats.figures.figure import figure
from headcats.figures.overlap_hover import hover_template
from headcats.figures.overlap_legend import UNCLASSIFIED, legend_labels
from headcats.figures.overlap_panels import ALL, NO_VALUE, draw_overlap
from headcats.figures.screen import screen_hover, screen_title, with_approximation

OUTCOMES = {1: "in", 0: "undecided", -1: "out"}

_GRID = ("layer", "head")
_VARIABLES = {
    "n_categories": _GRID,
    "set": _GRID,
    "undecided": _GRID,
    **dict.fromkeys(("member", *NUMBERS, "tasks"), ("category", *_GRID)),
}


@figure
def overlap_map(
    overlap: xr.Dataset, *, palette: str = "headcats", letters: str = AUTO, title: str | None = None
) -> tuple[go.Figure, pd.DataFrame]:
    """All categories in one panel, then one panel per category; x = layer, y = head, head 0 on top.

    The first panel colours a head by its category, or by how many it is in when it is in several, and writes that on
    the cell: the category's first letters, which the legend shows in bold, or the number (the narrow cells of more
    than 16 or so layers hold no letters; there the other panels tell the categories without colour). Each further
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
        palette: Name of the colours; `"headcats"` takes the suite's own, `"colour_blind"` some that are told apart
            under every common colour blindness.
        letters: `"auto"`, or `"none"` for cells without letters.
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
        UnknownNameError: unknown palette, or another word for `letters`.

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
    check_letters(letters, figure="overlap_map")
    overlap, frame, colours = overlap_numbers(overlap, palette)
    hover = functools.partial(hover_template, note=screen_hover(overlap))
    fig = draw_overlap(overlap, frame, colours, title=screen_title(title, overlap), letters=letters, hover=hover)
    return fig, with_approximation(frame, overlap)


def overlap_numbers(overlap: xr.Dataset, palette: str) -> tuple[xr.Dataset, pd.DataFrame, Palette]:
    """The overlap with its categories in order, the numbers behind its map, and its colours.

    Raises:
        DataError, UnknownNameError: As `overlap_map` raises them.
    """
    table = "hc.overlap(hc.categorize(hc.score(results)))"
    require(overlap, _VARIABLES, figure="overlap_map", source="hc.overlap(members)", table=table)
    overlap = _in_category_order(overlap)
    if not ((overlap.member == 1).sum("category") == overlap.n_categories).all():
        raise DataError(
            "overlap_map expects `n_categories` to count the categories whose `member` is 1; they differ for some "
            "heads. Make both from the same memberships with hc.overlap(members)."
        )
    colours = _colours(palette, overlap)
    return overlap, _frame(overlap, colours), colours


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
