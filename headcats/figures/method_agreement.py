"""How far methods agree on the heads: a table of correlations per group of tasks, and the heads they disagree on."""

import html
import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import DataError
from headcats.figures.axes import Axis, Canvas, add_axes, add_text
from headcats.figures.cells import head_name, require
from headcats.figures.colour_bar import fixed_colour_axis
from headcats.figures.colours import DIVERGING, ON_DARK, ON_LIGHT
from headcats.figures.figure import figure
from headcats.figures.marks import add_crosses, heatmap
from headcats.figures.panel_order import panel_names
from headcats.figures.placing import WIDEST, below_caption, captioned_figure, even_columns, folded, in_rows, title_width

_PAIR = ("group", "method", "other")
_OPTIONAL = ("layer_correlation", "p_value", "q_value", "n_heads")
_LEVEL = 0.05
_CELL = (84, 42)  # pixels; holds the widest text, "top 1.00 (1.00)"
_RIGHT, _BOTTOM, _BAR, _BETWEEN, _DISPUTED = 26, 14, 96, 34, 3
_LETTER, _LEAN = 6.4, 0.74  # pixels of a letter of the names, and its share upwards at 45 degrees


@figure
def method_agreement(agreement: xr.Dataset, *, title: str | None = None) -> tuple[go.Figure, pd.DataFrame]:
    """Rank correlation between every two methods, with the top heads they share, one panel per group.

    Colour and the upper number of a cell: Spearman's rank correlation of the heads' scores (blue: the same order; red:
    the opposite one), with a star where q <= .05: the order is told from what the heads' layers alone would give.
    Below it: how far the top heads of two methods overlap (those in both as a share of those in either), and in
    parentheses the overlap of random sets of the same sizes. Above each panel stand the heads whose ranks differ most
    between methods; hover over a cell for those of two methods. Pairs without a number are grey with a cross.

    Args:
        agreement: As `hc.method_agreement` returns it: `rank_correlation, top_overlap (group, method, other)`,
            `top_chance` over some of these; `rank (group, method, layer, head)` (1 = strongest) and `spread (group,
            layer, head)` (how far ranks of a head lie apart), NaN where a method does not rank a head. Optional:
            `layer_correlation, p_value, q_value, n_heads (group, method, other)`, and the attribute `top`, the size of
            the top sets.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per group and pair of methods, in both orders: `group, method,
        other, rank_correlation, top_overlap, top_chance`, those of the optional variables that are there,
        `disagree_on` (the heads whose two ranks differ most, such as "L9H6 (1, 40)": rank by `method`, by `other`) and
        `disputed` (the group's heads with the largest spread).

    Raises:
        DataError: a variable or dimension is missing, or `method` and `other` name different methods.

    Example:
        >>> import headcats as hc
        >>> agreement = hc.method_agreement(hc.method_scores(hc.load("results/mini-icl")))
        >>> fig = hc.figures.method_agreement(agreement, title="Methods on one grid of heads")
        >>> {"denoising_patch", "mean_ablation"} <= {name.split("@")[0] for name in hc.figures.data(fig).method}
        True
    """
    variables: dict[str, tuple[str, ...]] = {"rank_correlation": _PAIR, "top_overlap": _PAIR}
    variables |= {"rank": ("group", "method", "layer", "head"), "spread": ("group", "layer", "head")}
    table = "hc.method_agreement(hc.method_scores(results))"
    require(agreement, variables, figure="method_agreement", source="hc.method_agreement", table=table)
    if "top_chance" not in agreement or not set(agreement["top_chance"].dims) <= set(_PAIR):
        raise DataError(
            f"method_agreement expects `top_chance` over ({', '.join(_PAIR)}) or fewer of these, as in what "
            "hc.method_agreement returns: pass that."
        )
    methods = panel_names(agreement["rank_correlation"], "method", figure="method_agreement")
    if methods != [str(name) for name in agreement["other"].values]:
        raise DataError("method_agreement expects `method` and `other` to name the same methods in the same order.")
    frame = _frame(agreement, methods)
    return _draw(agreement, frame, methods, title=title), frame


def _frame(agreement: xr.Dataset, methods: list[str]) -> pd.DataFrame:
    rows = []
    optional = [name for name in _OPTIONAL if name in agreement and set(agreement[name].dims) == set(_PAIR)]
    pairs = agreement[["rank_correlation", "top_overlap", *optional]].assign(
        top_chance=agreement["top_chance"].broadcast_like(agreement["rank_correlation"])
    )
    groups = panel_names(
        agreement["spread"], "group", categories=agreement.attrs.get("categories"), figure="method_agreement"
    )
    labels = [str(label) for label in agreement["group"].values]
    layers, heads = np.meshgrid(agreement["layer"], agreement["head"], indexing="ij")
    names = [head_name(int(layer), int(head)) for layer, head in zip(layers.ravel(), heads.ravel(), strict=True)]
    for group in groups:
        here = agreement.isel(group=labels.index(group))
        numbers = pairs.isel(group=labels.index(group)).transpose("method", "other")
        ranks = here["rank"].transpose("method", "layer", "head").to_numpy().reshape(len(methods), -1)
        spread = here["spread"].transpose("layer", "head").to_numpy().ravel()
        disputed = ", ".join(names[i] for i in _largest(spread))
        for i, method in enumerate(methods):
            for j, other in enumerate(methods):
                apart = _largest(np.abs(ranks[i] - ranks[j]))
                heads_apart = [f"{names[k]} ({ranks[i, k]:g}, {ranks[j, k]:g})" for k in apart]
                pair = {name: float(numbers[name].values[i, j]) for name in numbers.data_vars}
                rows.append(
                    {"group": group, "method": method, "other": other, **pair}
                    | {"disagree_on": ", ".join(heads_apart), "disputed": disputed}
                )
    return pd.DataFrame(rows)


def _largest(values: np.ndarray) -> list[int]:
    """Places of the largest values above 0, largest first."""
    order = np.argsort(-np.nan_to_num(values, nan=0.0), kind="stable")[:_DISPUTED]
    return [int(place) for place in order if values[place] > 0]


def _draw(agreement: xr.Dataset, frame: pd.DataFrame, methods: list[str], *, title: str | None) -> go.Figure:
    groups = list(dict.fromkeys(frame["group"]))
    longest = max(map(len, methods))
    left = 16 + math.ceil(_LETTER * longest) + 12
    size = (_CELL[0] * len(methods), _CELL[1] * len(methods))
    labels = math.ceil(_LETTER * _LEAN * longest) + 16
    # The last name leans over the right edge.
    lean = max(0, math.ceil(_LETTER * _LEAN * len(methods[-1])) - _CELL[0] // 2)
    above_panel = labels + 40
    # Names lean over the next panel's empty corner.
    step = (max(size[0] + max(left, lean + 16), 300), above_panel + size[1] + _BETWEEN)
    columns = even_columns(len(groups), at_most=max(1, (WIDEST - _BAR - _RIGHT) // step[0]))
    n_rows = math.ceil(len(groups) / columns)

    right = left + (columns - 1) * step[0] + size[0]
    width = max(right + max(22, lean + 6) + _BAR + _RIGHT, 620, title_width(title))
    lines = folded(_caption(agreement, frame), width=width - 32)
    top = below_caption(title, lines)
    bar = max(min(n_rows * step[1] - above_panel - _BETWEEN, 420), 150)
    height = max(top + n_rows * step[1] - _BETWEEN, top + above_panel + bar) + 2 * _BOTTOM
    canvas = Canvas(width=width, height=height)

    fig = captioned_figure(canvas, title=title, lines=lines)
    shown = [html.escape(name, quote=False) for name in methods]
    spots = in_rows(len(groups), columns=columns, size=size, step=step, at=(left, top + above_panel))
    for group, spot in zip(groups, spots, strict=True):
        panel, here = spot.panel, frame[frame["group"] == group]
        across = Axis(len(methods), "", range(len(methods)), labels=shown, side="top", angle=-45)
        down = Axis(len(methods), "", range(len(methods)), labels=shown, reverse=True)
        axes = add_axes(fig, panel, canvas=canvas, x=across, y=down)
        start = panel.left - left + 16
        add_text(fig, html.escape(group, quote=False), canvas=canvas, at=(start, panel.top - above_panel), size=14)
        disputed = here["disputed"].iloc[0]
        text = f"ranks differ most: {disputed}" if disputed else "no head with several ranks"
        add_text(fig, text, canvas=canvas, at=(start, panel.top - above_panel + 20), size=11, quiet=True)
        _add_cells(fig, here, methods, axes=axes)
    at = (canvas.x(right + max(22, lean + 6)), canvas.y(spots[0].panel.top))
    fig.update_layout(
        coloraxis=fixed_colour_axis(
            (-1.0, 1.0), clipped=(False, False), colours=DIVERGING, at=at, length=bar, name="rank correlation", steps=4
        )
    )
    return fig


def _add_cells(fig: go.Figure, here: pd.DataFrame, methods: list[str], *, axes: dict[str, str]) -> None:
    n = len(methods)
    values, shared, chance = (
        here[name].to_numpy().reshape(n, n) for name in ("rank_correlation", "top_overlap", "top_chance")
    )
    text, who, apart = (np.full((n, n), "", dtype=object) for _ in range(3))
    for row, (i, j) in zip(here.itertuples(), np.ndindex(n, n), strict=True):
        if not math.isnan(row.rank_correlation):
            below = "" if i == j else f"<br>top {_short(row.top_overlap)} ({_short(row.top_chance)})"
            star = "*" if i != j and getattr(row, "q_value", math.nan) <= _LEVEL else ""
            text[i, j] = f"<b>{row.rank_correlation:.2f}{star}</b>{below}"
        pair = row.method if i == j else f"{row.method} and {row.other}"
        who[i, j] = f"<b>{html.escape(pair, quote=False)}</b> {html.escape(row.group, quote=False)}"
        layers, q = getattr(row, "layer_correlation", math.nan), getattr(row, "q_value", math.nan)
        told = "" if math.isnan(layers) else f"<br>by their layers alone {layers:.3f}, q {q:.2g}"
        apart[i, j] = f"{told}<br>ranks differ most: {row.disagree_on}" if row.disagree_on else told
    fig.add_trace(
        heatmap(
            values,
            cell=_CELL,
            customdata=np.stack([who, apart, shared, chance], axis=-1),
            hovertemplate="%{customdata[0]}<br>rank correlation %{z:.3f}<br>top heads in both, of those in "
            "either %{customdata[2]:.3f}, by chance %{customdata[3]:.3f}%{customdata[1]}<extra></extra>",
            name=str(here["group"].iloc[0]),
            axes=axes,
        )
    )
    down, across = (grid.ravel() for grid in np.indices((n, n)))
    # The ends of the scale are dark.
    ink = np.where(np.abs(values.ravel()) > 0.62, ON_DARK, ON_LIGHT)
    fig.add_trace(
        go.Scatter(
            x=across,
            y=down,
            mode="text",
            text=text.ravel(),
            textfont={"size": 11, "color": ink},
            hoverinfo="skip",
            showlegend=False,
            name="numbers",
            **axes,
        )
    )
    add_crosses(fig, np.isnan(values), cell=_CELL, axes=axes)


def _short(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.2f}".removeprefix("0")


def _caption(agreement: xr.Dataset, frame: pd.DataFrame) -> list[str]:
    size = f" {agreement.attrs['top']}" if "top" in agreement.attrs else ""
    parts = ["bold: rank correlation of all heads", f"top: overlap of the top{size} heads (by chance)"]
    if "q_value" in frame and (frame["q_value"] <= _LEVEL).any():
        parts.append(f"* q ≤ {_LEVEL:g} beside what the heads' layers alone give")
    if frame["rank_correlation"].isna().any():
        parts.append("× no value")
    return parts
