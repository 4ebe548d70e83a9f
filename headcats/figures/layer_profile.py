"""In which layers the heads of each category lie, and how much the heads of a layer matter on average."""

import html
import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.figures.axes import Axis, Canvas, Panel, Scale, add_axes, add_text, new_figure, ticks
from headcats.figures.cells import head_name, n_cells, require
from headcats.figures.colours import HATCH, TEXT, UNCLASSIFIED, named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.placing import (
    WIDEST,
    add_caption,
    below_caption,
    even_columns,
    folded,
    folded_name,
    in_rows,
    title_width,
)
from headcats.figures.screen import screen_hover, screen_title, with_approximation

_VARIABLES = dict.fromkeys(("member", "effect"), ("category", "layer", "head"))

_WIDTH, _LEFT, _RIGHT, _BOTTOM = 260, 66, 26, 14  # pixels
_COUNTS, _APART, _EFFECTS = 110, 16, 100
_NAME_LINE, _COUNT_LINE, _TICKS, _NAME, _BETWEEN = 18, 18, 20, 22, 62


@figure
def layer_profile(
    members: xr.Dataset, *, palette: str = "headcats", title: str | None = None
) -> tuple[go.Figure, pd.DataFrame]:
    """Heads per layer of every category, above the mean effect of the layer's heads; one panel per category.

    x = layer in both. Bars: number of heads in the category, in its colour, and on top of them those that are
    undecided, grey and hatched; the same scale in all panels. Line with circles: mean effect over all heads of the
    layer that have a number, whatever their outcome, in shares of the clean-corrupted gap, positive = they help on
    average; the same scale in all panels, with 0. Hover over a layer for its share of heads and its strongest head.
    Layers without attention heads (hybrid models) stay blank.

    Args:
        members: As `hc.categorize` (or `hc.overlap`) returns it: `member` (1 in, 0 undecided, -1 out) and `effect
            (category, layer, head)`; 1 to 8 categories, whose order and colours come from the attribute `categories`,
            or without it from their names. `suppressing (category, layer, head)`, where present, is counted in the
            numbers.
        palette: As in `overlap_map`.
        title: Written above the panels; that of a screen (attribute `approximation`) says so.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per category and layer: `category, layer, n_heads` (with a
        number), `n_in, n_undecided, n_out, n_suppressing, share_in, share_undecided` (of `n_heads`; NaN without one),
        `mean_effect, strongest` (head of the largest effect, such as "L9H6", "" without a number) and
        `strongest_effect`; for a screen also `approximation`.

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
    table = "hc.categorize(hc.score(results))"
    require(members, _VARIABLES, figure="layer_profile", source="hc.categorize(scores)", table=table)
    present = [str(name) for name in members["category"].values]
    colours = named_palette(palette, suite_colours(members, present)).categories
    frame = pd.concat([_profile(members.sel(category=name), name) for name in colours], ignore_index=True)
    fig = _draw(members, frame, colours, title=screen_title(title, members))
    return fig, with_approximation(frame, members)


def _profile(here: xr.Dataset, name: str) -> pd.DataFrame:
    here = here[[n for n in (*_VARIABLES, "suppressing") if n in here]].transpose("layer", "head")
    effect, member = here["effect"].to_numpy().astype(float), here["member"].to_numpy()
    suppressing = here["suppressing"].to_numpy() == 1 if "suppressing" in here else np.zeros(member.shape, dtype=bool)
    known = ~np.isnan(effect)
    rows = []
    for i, layer in enumerate(here["layer"].values):
        own, n = known[i], int(known[i].sum())
        counts = {kind: int((own & (member[i] == code)).sum()) for kind, code in _OUTCOMES.items()}
        best = int(np.nanargmax(effect[i])) if n else -1
        rows.append(
            {"category": name, "layer": int(layer), "n_heads": n, **counts}
            | {"n_suppressing": int((own & suppressing[i]).sum())}
            | {f"share_{kind}": counts[f"n_{kind}"] / n if n else math.nan for kind in ("in", "undecided")}
            | {"mean_effect": float(effect[i][own].mean()) if n else math.nan}
            | {"strongest": head_name(int(layer), int(here["head"].values[best])) if n else ""}
            | {"strongest_effect": float(effect[i, best]) if n else math.nan}
        )
    return pd.DataFrame(rows)


_OUTCOMES = {"n_in": 1, "n_undecided": 0, "n_out": -1}


def _draw(members: xr.Dataset, frame: pd.DataFrame, colours: dict[str, str], *, title: str | None) -> go.Figure:
    n_layers = n_cells(members, "layer")
    cell = max(3, min(28, _WIDTH // n_layers))
    size = (max(170, cell * n_layers), _COUNTS + _APART + _EFFECTS)
    columns = even_columns(len(colours), at_most=max(1, min(4, (WIDEST - _RIGHT) // (size[0] + _BETWEEN))))
    names = {name: folded_name(name, width=size[0] + _RIGHT - 4) for name in colours}
    heading = _NAME_LINE * max(map(len, names.values())) + _COUNT_LINE + 8
    step = (size[0] + _BETWEEN, heading + size[1] + _TICKS + _NAME)
    n_rows = math.ceil(len(colours) / columns)

    width = max(_LEFT + (columns - 1) * step[0] + size[0] + _RIGHT, 420, title_width(title))
    lines = folded(_caption(frame), width=width - 32)
    top = below_caption(title, lines)
    canvas = Canvas(width=width, height=top + n_rows * step[1] + _BOTTOM)
    fig = new_figure(canvas, title=title)
    add_caption(fig, lines, canvas=canvas, title=title)
    fig.update_layout(barmode="stack", bargap=0.12 if cell >= 8 else 0)

    most = max(1, int((frame["n_in"] + frame["n_undecided"]).max()))
    scales = (Scale(0.0, 1.06 * most, "heads", format="d" if most > 4 else ""), _effect_scale(frame["mean_effect"]))
    spots = in_rows(len(colours), columns=columns, size=size, step=step, at=(_LEFT, top + heading))
    note = screen_hover(members)
    for (name, colour), spot in zip(colours.items(), spots, strict=True):
        here = frame[frame["category"] == name]
        left, above = spot.panel.left, spot.panel.top
        for i, line in enumerate(names[name]):
            text = html.escape(line, quote=False)
            add_text(fig, text, canvas=canvas, at=(left, above - heading + _NAME_LINE * i), size=14)
        add_text(fig, _said(here), canvas=canvas, at=(left, above - _COUNT_LINE - 4), size=11, quiet=True)
        panels = [
            Panel(left, above, size[0], _COUNTS),
            Panel(left, above + _COUNTS + _APART, size[0], _EFFECTS),
        ]
        numbered = [Axis(n_layers, "", []), Axis(n_layers, "layer" if spot.outer[0] else "", ticks(n_layers))]
        for panel, across, scale, add in zip(panels, numbered, scales, (_add_counts, _add_effects), strict=True):
            upwards = scale if spot.outer[1] else Scale(scale.low, scale.high, "", scale.format)
            axes = add_axes(fig, panel, canvas=canvas, x=across, y=upwards)
            add(fig, here, colour=colour, cell=cell, note=note, axes=axes)
    return fig


def _add_counts(fig: go.Figure, here: pd.DataFrame, *, colour: str, cell: int, note: str, axes: dict[str, str]) -> None:
    hatched = {"shape": "/", "fgcolor": HATCH, "bgcolor": UNCLASSIFIED, "size": max(3, min(8, cell)), "solidity": 0.2}
    looks = {"n_in": {"color": colour}, "n_undecided": {"color": UNCLASSIFIED, "pattern": hatched}}
    name = html.escape(str(here["category"].iloc[0]), quote=False)
    for count, marker in looks.items():
        fig.add_trace(
            go.Bar(
                x=here["layer"].to_numpy(),
                y=here[count].to_numpy(),
                marker=marker,
                customdata=np.stack([here[n] for n in ("n_in", "n_heads", "share_in", "n_undecided")], axis=-1),
                hovertemplate=f"<b>layer %{{x}}</b> {name}<br>in: %{{customdata[0]}} of %{{customdata[1]}} heads "
                f"(%{{customdata[2]:.0%}})<br>undecided: %{{customdata[3]}}{note}<extra></extra>",
                name="in" if count == "n_in" else "undecided",
                showlegend=False,
                **axes,
            )
        )


def _add_effects(
    fig: go.Figure, here: pd.DataFrame, *, colour: str, cell: int, note: str, axes: dict[str, str]
) -> None:
    name = html.escape(str(here["category"].iloc[0]), quote=False)
    fig.add_trace(
        go.Scatter(
            x=here["layer"].to_numpy(),
            y=here["mean_effect"].to_numpy(),
            mode="lines+markers",
            line={"color": TEXT, "width": 1},
            marker={"color": colour, "size": max(3, min(8, cell)), "line": {"color": TEXT, "width": 0.8}},
            customdata=here["strongest_effect"].to_numpy(),
            text=here["strongest"].to_numpy(),
            hovertemplate=f"<b>layer %{{x}}</b> {name}<br>mean effect %{{y:.3f}}<br>strongest: %{{text}} "
            f"%{{customdata:.3f}}{note}<extra></extra>",
            name="mean effect",
            showlegend=False,
            **axes,
        )
    )


def _effect_scale(effects: pd.Series) -> Scale:
    """From 0, or below it, to the largest mean, with room for the circles; -1 to 1 where all are 0 or unknown."""
    low, high = min(0.0, float(effects.min())), max(0.0, float(effects.max()))
    if not high > low:
        return Scale(-1.0, 1.0, "mean effect")
    room = 0.08 * (high - low)
    return Scale(low - room, high + room, "mean effect")


def _said(here: pd.DataFrame) -> str:
    n = int(here["n_heads"].sum())
    if not n:
        return "not judged"
    inside, still_open = int(here["n_in"].sum()), int(here["n_undecided"].sum())
    return f"{inside or 'no'} {'head' if inside == 1 else 'heads'} of {n}" + (
        f", {still_open} undecided" if still_open else ""
    )


def _caption(frame: pd.DataFrame) -> list[str]:
    parts = ["bars: heads in the category"]
    if frame["n_undecided"].any():
        parts.append("hatched: undecided")
    return [*parts, "● mean effect of all heads of a layer (share of the gap)"]
