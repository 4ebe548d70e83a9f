"""What ablating the heads of a category one after the other does to its own tasks, and to others."""

import html
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import DataError
from headcats.figures.axes import Axis, Canvas, Scale, add_axes, add_text, new_figure
from headcats.figures.cells import require
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

_CURVE = ("category", "side", "k")
_VARIABLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("damage", "n_tasks"), _CURVE),
    "random": (*_CURVE, "sequence"),
}
OWN, OTHERS = "own", "others"

_SIZE = (250, 190)  # pixels of a panel
_LEFT, _RIGHT, _BOTTOM, _BETWEEN = 70, 26, 14, 66
_NAME_LINE, _TASKS_LINE, _TICKS, _NAME = 18, 18, 20, 22


@figure
def ablation_curves(
    curves: xr.Dataset, *, palette: str = "headcats", title: str | None = None
) -> tuple[go.Figure, pd.DataFrame]:
    """Damage after the first 1, 2, ... heads of each category are ablated together; one panel per category.

    x = number of heads ablated, y = damage in shares of the clean-corrupted gap (positive = the answer gets worse),
    the same scale in all panels. Solid line with circles in the category's colour: its own tasks. Dashed line with
    squares: tasks of the other categories. Grey band: 95 % of the sequences of random heads of the same layers (2.5th
    to 97.5th percentile), on the category's own tasks, with a dotted line for their mean; what random heads do to other
    categories' tasks is in the numbers. On every task the heads are those that were chosen without it, so a task drops
    out where its list ends: open symbols are means over fewer tasks than the first.

    Args:
        curves: As `hc.run_evidence(...)["curves"]` holds it, or `evidence/curves.nc` of a results folder: `damage
            (category, side, k)` and `random (category, side, k, sequence)` in shares of the gap, `n_tasks (category,
            side, k)`; `side` "own" and "others", `k` the number of heads from 1, NaN where no task has so many. 1 to 8
            categories; colours come from the attribute `categories` where there is one, otherwise they are those that
            a suite gives them.
        palette: As in `overlap_map`.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per category, side and number of heads: `category, side, k,
        damage, n_tasks, random_mean, random_low, random_high` (95 % band), `n_sequences` (random ones with a number),
        `share_of_random` (of these with at least as much damage; NaN without any).

    Raises:
        DataError: a variable, dimension or side is missing.
        UnknownNameError: unknown palette.

    Example:
        >>> import xarray as xr
        >>> import headcats as hc
        >>> curves = xr.load_dataset("results/mini-icl/evidence/curves.nc")
        >>> fig = hc.figures.ablation_curves(curves)
        >>> sorted(set(hc.figures.data(fig).side))
        ['others', 'own']
    """
    require(
        curves,
        _VARIABLES,
        figure="ablation_curves",
        source='hc.run_evidence(...)["curves"]',
        table='hc.run_evidence(model, results)["curves"], or xarray.load_dataset("DIR/evidence/curves.nc")',
        counted=(),
    )
    sides, names = ([str(label) for label in curves[dim].values] for dim in ("side", "category"))
    if set(sides) != {OWN, OTHERS} or not names or not curves.sizes["k"]:
        raise DataError(
            "ablation_curves expects at least one category and number of heads, with the sides own and others; got "
            f"categories {', '.join(names) or 'none'}, {curves.sizes['k']} numbers of heads, sides "
            f"{', '.join(sides) or 'none'}. Pass what evidence/curves.nc holds."
        )
    colours = named_palette(palette, suite_colours(curves, names)).categories
    frame = _frame(curves, list(colours))
    return _draw(frame, colours, title=title), frame


def _frame(curves: xr.Dataset, names: list[str]) -> pd.DataFrame:
    rows = []
    for name in names:
        for side in (OWN, OTHERS):
            here = curves.sel(category=name, side=side).transpose("k", "sequence")
            for k in here["k"].values:
                one = here.sel(k=k)
                drawn = one["random"].to_numpy()
                drawn = drawn[~np.isnan(drawn)]
                damage = float(one["damage"])
                low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (math.nan, math.nan)
                known = len(drawn) and not math.isnan(damage)
                rows.append(
                    {"category": name, "side": side, "k": int(k), "damage": damage, "n_tasks": int(one["n_tasks"])}
                    | {"random_mean": float(drawn.mean()) if len(drawn) else math.nan}
                    | {"random_low": float(low), "random_high": float(high), "n_sequences": len(drawn)}
                    | {"share_of_random": float((drawn >= damage).mean()) if known else math.nan}
                )
    return pd.DataFrame(rows)


def _draw(frame: pd.DataFrame, colours: dict[str, str], *, title: str | None) -> go.Figure:
    longest = int(frame["k"].max())
    columns = even_columns(len(colours), at_most=max(1, min(4, (WIDEST - _RIGHT) // (_SIZE[0] + _BETWEEN))))
    names = {name: folded_name(name, width=_SIZE[0] + _RIGHT - 4) for name in colours}
    heading = _NAME_LINE * max(map(len, names.values())) + _TASKS_LINE + 8
    step = (_SIZE[0] + _BETWEEN, heading + _SIZE[1] + _TICKS + _NAME)
    width = max(_LEFT + (columns - 1) * step[0] + _SIZE[0] + _RIGHT, 420, title_width(title))
    lines = folded(_caption(frame), width=width - 32)
    top = below_caption(title, lines)
    canvas = Canvas(width=width, height=top + math.ceil(len(colours) / columns) * step[1] + _BOTTOM)
    fig = new_figure(canvas, title=title)
    add_caption(fig, lines, canvas=canvas, title=title)
    low, high = _ends(frame)
    spots = in_rows(len(colours), columns=columns, size=_SIZE, step=step, at=(_LEFT, top + heading))
    every = max(1, math.ceil(longest / 12))
    for (name, colour), spot in zip(colours.items(), spots, strict=True):
        here = frame[frame["category"] == name]
        left, above = spot.panel.left, spot.panel.top
        for i, line in enumerate(names[name]):
            text = html.escape(line, quote=False)
            add_text(fig, text, canvas=canvas, at=(left, above - heading + _NAME_LINE * i), size=14)
        add_text(fig, _tasks(here), canvas=canvas, at=(left, above - _TASKS_LINE - 4), size=11, quiet=True)
        numbers = range(0, longest, every)
        across = Axis(
            longest, "heads ablated" if spot.outer[0] else "", numbers, labels=[str(one + 1) for one in numbers]
        )
        axes = add_axes(fig, spot.panel, canvas=canvas, x=across, y=Scale(low, high, "damage" if spot.outer[1] else ""))
        _add_random(fig, here[here["side"] == OWN], axes=axes)
        _add_curve(fig, here[here["side"] == OTHERS], colour=HATCH, symbol="square", dash="dash", axes=axes)
        _add_curve(fig, here[here["side"] == OWN], colour=colour, symbol="circle", dash="solid", axes=axes)
    return fig


def _add_random(fig: go.Figure, own: pd.DataFrame, *, axes: dict[str, str]) -> None:
    known = own[own["n_sequences"] > 0]
    if not len(known):
        return
    k = known["k"].to_numpy() - 1
    common = {"hoverinfo": "skip", "showlegend": False, **axes}
    ends = [known[end].to_numpy() for end in ("random_high", "random_low")]
    # A single number of heads has no area.
    line = {"color": UNCLASSIFIED, "width": 6 if len(known) == 1 else 0}
    fig.add_trace(
        go.Scatter(
            x=np.concatenate([k, k[::-1]]),
            y=np.concatenate([ends[0], ends[1][::-1]]),
            mode="lines",
            line=line,
            fill="toself",
            fillcolor=UNCLASSIFIED,
            opacity=0.8,
            name="random heads, 95 %",
            **common,
        )
    )
    dotted = {"color": TEXT, "width": 1, "dash": "dot"}
    mode = "lines+markers" if len(known) == 1 else "lines"
    marker = {"symbol": "line-ew", "size": 8, "line": {"color": TEXT, "width": 1}}
    fig.add_trace(
        go.Scatter(x=k, y=known["random_mean"], mode=mode, line=dotted, marker=marker, name="random heads", **common)
    )


def _add_curve(
    fig: go.Figure, here: pd.DataFrame, *, colour: str, symbol: str, dash: str, axes: dict[str, str]
) -> None:
    known = here[here["damage"].notna()]
    if not len(known):
        return
    fewer = known["n_tasks"] < known["n_tasks"].iloc[0]
    side, name = str(known["side"].iloc[0]), html.escape(str(known["category"].iloc[0]), quote=False)
    of = f"own tasks of {name}" if side == OWN else f"tasks of other categories than {name}"
    fig.add_trace(
        go.Scatter(
            x=known["k"].to_numpy() - 1,
            y=known["damage"].to_numpy(),
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"symbol": [f"{symbol}-open" if few else symbol for few in fewer], "size": 8, "color": colour},
            customdata=known[["k", "n_tasks"]].to_numpy(),
            text=[_random(row) for row in known.itertuples()],
            hovertemplate=f"<b>first %{{customdata[0]}} heads</b>, {of}<br>damage %{{y:.3f}}, %{{customdata[1]}} tasks"
            "<br>%{text}<extra></extra>",
            name=f"{side} tasks",
            showlegend=False,
            cliponaxis=False,
            **axes,
        )
    )


def _random(row: Any) -> str:
    """What is said of the random heads beside a point."""
    if not row.n_sequences:
        return "no random heads to compare with"
    ends = f"[{row.random_low:.3f}, {row.random_high:.3f}]"
    return f"{row.n_sequences} random sequences: mean {row.random_mean:.3f} {ends}"


def _ends(frame: pd.DataFrame) -> tuple[float, float]:
    """From 0, or below it, to the largest of what is drawn; 0 to 1 where nothing is above 0."""
    own = frame[frame["side"] == OWN]
    values = pd.concat([frame["damage"], own["random_low"], own["random_high"]])
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if not high > low:
        return -0.05, 1.0
    room = 0.06 * (high - low)
    return low - room, high + room


def _tasks(here: pd.DataFrame) -> str:
    """Over how many tasks the curves of a panel are means, at the first head."""
    first = here[here["k"] == here["k"].min()].set_index("side")["n_tasks"]
    if not first.sum():
        return "no task with these heads"
    return f"{first[OWN]} own, {first[OTHERS]} other tasks"


def _caption(frame: pd.DataFrame) -> list[str]:
    own = frame[(frame["side"] == OWN) & (frame["n_sequences"] > 0)]
    parts = ["● its own tasks, solid", "■ tasks of other categories, dashed"]
    if len(own):
        n = sorted({int(own["n_sequences"].min()), int(own["n_sequences"].max())})
        parts.append(
            f"grey: 95 % of {' to '.join(map(str, n))} sequences of random heads on its own tasks, dotted: mean"
        )
    else:
        parts.append("no random heads to compare with: their layers have no others")
    known = frame[frame["damage"].notna()]
    if (known["n_tasks"] < known.groupby(["category", "side"])["n_tasks"].transform("first")).any():
        parts.append("○ □ mean over fewer tasks than the first")
    return parts
