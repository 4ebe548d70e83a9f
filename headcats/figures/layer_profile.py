"""Heads of each category by layer, and the mean effect of the heads of a layer."""

import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.figures.colours import named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale, scale_over
from headcats.figures.panels.curves import marked_line, stacked_bars
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import head_rows, n_cells, require
from headcats.results.head_axes import noun, unit_of

_VARIABLES = dict.fromkeys(("member", "effect"), ("category", "layer", "head"))
_OUTCOMES = {"n_in": 1, "n_undecided": 0, "n_out": -1}
_THIN, _LARGEST = 3, 8  # pixels of a bar that has no room for an outline, and of one that has room beside it
_WIDTH, _COUNTS, _EFFECTS = 260, 110, 100  # pixels


@figure
def layer_profile(members: xr.Dataset, *, palette: str = "headcats", title: str | None = None) -> PanelGrid:
    """Heads per layer of every category, above the mean effect of the layer's heads; one panel per category.

    Bars: number of heads in the category, in its colour, and on top of them the undecided ones, grey and hatched. Line
    with circles: mean effect of all heads of the layer, whatever their outcome, in shares of the clean-corrupted gap
    (positive = they help on average). Hover over a layer for its share of heads and its strongest head. Layers without
    attention heads (hybrid models) stay blank.

    Args:
        members: As `hc.categorize` (or `hc.overlap`) returns it: `member` (1 in, 0 undecided, -1 out) and `effect
            (category, layer, head)`; 1 to 8 categories, in the order and colours of the attribute `categories`, or
            without it as in a suite. `suppressing (category, layer, head)`, where present, is counted in the numbers.
        palette: As in `overlap_map`.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per category and layer: `category, layer, n_heads` (with a
        number), `n_in, n_undecided, n_out, n_suppressing, share_in, share_undecided` (of `n_heads`; NaN without one),
        `mean_effect, strongest` (head of the largest effect, such as "L9H6", "" without a number) and
        `strongest_effect`; for an approximation also `approximation`.

    Raises:
        DataError: a variable or dimension is missing, or a category that the attribute `categories` does not list.
        UnknownNameError: unknown palette.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> members = hc.categorize(hc.score(results, method="denoising_patch"))
        >>> fig = hc.figures.layer_profile(members, palette="colour_blind")
        >>> numbers = hc.figures.data(fig)
        >>> bool((numbers.n_in + numbers.n_undecided + numbers.n_out == numbers.n_heads).all())
        True
    """
    require(members, _VARIABLES, figure="layer_profile", table="hc.categorize(hc.score(results))")
    colours = named_palette(palette, suite_colours(members)).categories
    frame = pd.concat([_profile(members.sel(category=name), name) for name in colours], ignore_index=True)
    layers = n_cells(members, "layer")
    cell = max(3, min(28, _WIDTH // layers))
    width, size = max(170, cell * layers), max(_THIN, min(_LARGEST, cell))
    most = max(1, int((frame["n_in"] + frame["n_undecided"]).max()))
    cell_noun = noun(unit_of(members))
    counts = Scale(0.0, 1.06 * most, f"{cell_noun}s", format="d" if most > 4 else "")
    means = frame["mean_effect"]
    effects = scale_over(means.min(), means.max(), "mean effect", room=0.08, default=(-1.0, 1.0))
    x = Axis("layer", layers, "layer").numbered(width // layers)
    panels = []
    for name, colour in colours.items():
        rows = frame[frame["category"] == name]
        bars = Plot(Axis("layer", layers), counts, (width, _COUNTS), _bars(rows, colour, size))
        line = Plot(x, effects, (width, _EFFECTS), [_line(rows, colour, size)])
        panels.append(Panel(name, [bars, line], notes=[_count(rows, cell_noun)]))
    caption = [f"bars: {cell_noun}s in the category", *(["hatched: undecided"] if frame["n_undecided"].any() else [])]
    unit = members.attrs.get("measure", "share of the gap")
    caption.append(f"● mean effect of all {cell_noun}s of a layer ({escaped(unit)})")
    return PanelGrid(panels, frame, title, caption)


def _profile(table: xr.Dataset, name: str) -> pd.DataFrame:
    columns = {column: table[column].astype(float) for column in (*_VARIABLES, "suppressing") if column in table}
    heads = head_rows(table, columns)
    for count, outcome in _OUTCOMES.items():
        heads[count] = heads["member"] == outcome
    heads["n_suppressing"] = heads["suppressing"] == 1 if "suppressing" in heads else False
    judged = heads.assign(n_heads=True)[heads["effect"].notna()].groupby("layer")
    counts = judged[["n_heads", *_OUTCOMES, "n_suppressing"]].sum().astype(int)
    frame = counts.reindex(table["layer"].values, fill_value=0).rename_axis("layer").reset_index()
    frame.insert(0, "category", name)
    for kind in ("in", "undecided"):
        frame[f"share_{kind}"] = frame[f"n_{kind}"] / frame["n_heads"].where(frame["n_heads"] > 0)
    frame["mean_effect"] = frame["layer"].map(judged["effect"].agg(lambda effects: effects.to_numpy().mean()))
    strongest = heads.loc[judged["effect"].idxmax()].set_index("layer")
    frame["strongest"] = strongest["name"].reindex(frame["layer"], fill_value="").values
    return frame.assign(strongest_effect=frame["layer"].map(strongest["effect"]))


def _bars(rows: pd.DataFrame, colour: str, size: int) -> list[go.Bar]:
    template = (
        f"<b>layer %{{layer}}</b> {escaped(rows['category'].iloc[0])}<br>in: %{{n_in}} of %{{n_heads}} heads "
        "(%{share_in:.0%})<br>undecided: %{n_undecided}"
    )
    counts = {name: rows[f"n_{name}"].to_numpy() for name in ("in", "undecided")}
    width, outline = 0.88 if size == _LARGEST else 1.0, 0.8 if size > _THIN else 0
    return stacked_bars(
        rows["layer"].to_numpy(), counts, width=width, colour=colour, outline=outline, lines=size,
        **hover(template, rows, x="layer"),
    )  # fmt: skip


def _line(rows: pd.DataFrame, colour: str, size: int) -> go.Scatter:
    template = (
        f"<b>layer %{{layer}}</b> {escaped(rows['category'].iloc[0])}<br>mean effect %{{mean_effect:.3f}}"
        "<br>strongest: %{strongest} %{strongest_effect:.3f}"
    )
    return marked_line(
        rows["layer"].to_numpy(), rows["mean_effect"].to_numpy(), look=(colour, "circle", "solid"), size=size,
        name="mean effect", hover=hover(template, rows, x="layer", y="mean_effect"),
    )  # fmt: skip


def _count(rows: pd.DataFrame, cell_noun: str) -> str:
    n, members, undecided = (int(rows[column].sum()) for column in ("n_heads", "n_in", "n_undecided"))
    if not n:
        return "not judged"
    text = f"{members or 'no'} {cell_noun}{'s' * (members != 1)} of {n}"
    return text + (f", {undecided} undecided" if undecided else "")
