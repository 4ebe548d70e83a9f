"""Damage to a category's own tasks, and to others, as its heads are ablated one after the other."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError
from headcats.figures.colours import HATCH, named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, scale_over
from headcats.figures.panels.curves import marked_line, random_band
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import require

_CURVE = ("category", "side", "k")
_VARIABLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("damage", "n_tasks"), _CURVE),
    "random": (*_CURVE, "sequence"),
}
OWN, OTHERS = "own", "others"
NOT_COMPARED = "no random heads to compare with"
_SIZE = (250, 190)  # pixels of a panel


@figure
def ablation_curves(curves: xr.Dataset, *, palette: str = "headcats", title: str | None = None) -> PanelGrid:
    """Damage after the first 1, 2, ... heads of each category are ablated together; one panel per category.

    y = damage in shares of the clean-corrupted gap (positive = the answer gets worse). Solid line with circles in the
    category's colour: its own tasks. Dashed line with squares: tasks of the other categories. Grey band: 95 % of the
    sequences of random heads of the same layers, on the category's own tasks, with a dotted line for their mean. On
    every task the heads are those that were chosen without it, so a task drops out where its list ends: open symbols
    are means over fewer tasks than the first.

    Args:
        curves: As `hc.run_evidence(...)["curves"]` holds it, or `evidence/curves.nc` of a results folder: `damage
            (category, side, k)` and `random (category, side, k, sequence)` in shares of the gap, `n_tasks (category,
            side, k)`; `side` "own" and "others", `k` the number of heads from 1, NaN where no task has so many. 1 to 8
            categories, coloured by the attribute `categories`, or without it as in a suite.
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
    table = 'hc.run_evidence(model, results)["curves"].to_dataset(), or xarray.load_dataset("DIR/evidence/curves.nc")'
    require(curves, _VARIABLES, figure="ablation_curves", table=table, counted=False)
    sides, names = ([str(label) for label in curves[dim].values] for dim in ("side", "category"))
    if set(sides) != {OWN, OTHERS} or not names or not curves.sizes["k"]:
        raise DataError(
            "ablation_curves expects at least one category and number of heads, with the sides own and others; got "
            f"categories {', '.join(names) or 'none'}, {curves.sizes['k']} numbers of heads, sides "
            f"{', '.join(sides) or 'none'}. Pass what evidence/curves.nc holds."
        )
    colours = named_palette(palette, suite_colours(curves)).categories
    frame = _frame(curves.sel(category=list(colours), side=[OWN, OTHERS]))
    on_own_tasks = frame[frame["side"] == OWN]
    values = pd.concat([frame["damage"], on_own_tasks["random_low"], on_own_tasks["random_high"]])
    longest = int(frame["k"].max())
    x = Axis("place", longest, "heads ablated", range(0, longest, max(1, math.ceil(longest / 12))), first=1)
    y = scale_over(values.min(), values.max(), "damage", default=(-0.05, 1.0))
    panels = []
    for name, colour in colours.items():
        curve_rows = frame[frame["category"] == name]
        by_side = {side: curve_rows[curve_rows["side"] == side] for side in (OWN, OTHERS)}
        traces = [
            *_random(by_side[OWN][by_side[OWN]["n_sequences"] > 0]),
            _curve(by_side[OTHERS], colour=HATCH, symbol="square", dash="dash"),
            _curve(by_side[OWN], colour=colour, symbol="circle", dash="solid"),
        ]
        panels.append(Panel(name, [Plot(x, y, _SIZE, traces)], notes=[_n_tasks(curve_rows)]))
    return PanelGrid(panels, frame, title, _caption(frame))


def _frame(curves: xr.Dataset) -> pd.DataFrame:
    frame = curves[["damage", "n_tasks"]].reset_coords(drop=True).to_dataframe(dim_order=_CURVE).reset_index()
    rows = curves["random"].transpose(*_CURVE, "sequence").to_numpy().reshape(len(frame), -1)
    finite = [row[~np.isnan(row)] for row in rows]
    ends = [np.quantile(row, [0.025, 0.975]) if len(row) else (math.nan, math.nan) for row in finite]
    frame["random_mean"] = [row.mean() if len(row) else math.nan for row in finite]
    frame[["random_low", "random_high"]] = ends
    frame["n_sequences"] = [len(row) for row in finite]
    frame["share_of_random"] = [
        (row >= damage).mean() if len(row) and not math.isnan(damage) else math.nan
        for row, damage in zip(finite, frame["damage"], strict=True)
    ]
    return frame


def _random(rows: pd.DataFrame) -> list[go.Scatter]:
    low, high, mean = (rows[column].to_numpy() for column in ("random_low", "random_high", "random_mean"))
    return random_band(rows["k"].to_numpy() - 1, low, high, mean)


def _curve(rows: pd.DataFrame, *, colour: str, symbol: str, dash: str) -> go.Scatter | None:
    measured = rows[rows["damage"].notna()]
    if not len(measured):
        return None
    fewer = measured["n_tasks"] < measured["n_tasks"].iloc[0]
    side, name = str(measured["side"].iloc[0]), escaped(measured["category"].iloc[0])
    tasks = f"own tasks of {name}" if side == OWN else f"tasks of other categories than {name}"
    compared = [
        f"{row.n_sequences} random sequences: mean {row.random_mean:.3f} [{row.random_low:.3f}, {row.random_high:.3f}]"
        if row.n_sequences
        else NOT_COMPARED
        for row in measured.itertuples()
    ]
    template = f"<b>first %{{k}} heads</b>, {tasks}<br>damage %{{damage:.3f}}, %{{n_tasks}} tasks<br>%{{compared}}"
    places, damage = measured["k"].to_numpy() - 1, measured["damage"].to_numpy()
    shown, look = hover(template, measured.assign(compared=compared), y="damage"), (colour, symbol, dash)
    return marked_line(places, damage, look=look, name=f"{side} tasks", is_open=fewer.to_numpy(), hover=shown)


def _n_tasks(rows: pd.DataFrame) -> str:
    """Numbers of tasks over which the curves of a panel are means, at the first head."""
    first = rows[rows["k"] == rows["k"].min()].set_index("side")["n_tasks"]
    return f"{first[OWN]} own, {first[OTHERS]} other tasks" if first.sum() else "no task with these heads"


def _caption(frame: pd.DataFrame) -> list[str]:
    parts = ["● its own tasks, solid", "■ tasks of other categories, dashed"]
    sequences = frame.loc[(frame["side"] == OWN) & (frame["n_sequences"] > 0), "n_sequences"]
    if len(sequences):
        n = " to ".join(map(str, sorted({sequences.min(), sequences.max()})))
        parts.append(f"grey: 95 % of {n} sequences of random heads on its own tasks, dotted: mean")
    else:
        parts.append(f"{NOT_COMPARED}: their layers have no others")
    measured = frame[frame["damage"].notna()]
    if (measured["n_tasks"] < measured.groupby(["category", "side"])["n_tasks"].transform("first")).any():
        parts.append("○ □ mean over fewer tasks than the first")
    return parts
