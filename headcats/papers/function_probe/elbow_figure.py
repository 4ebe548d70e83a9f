"""Sorted importance of all heads, function by function, and the elbow up to which heads are taken."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.figures.colours import HATCH, OUTLINE, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, scale_over
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import head_rows, panel_names, pick_variable
from headcats.papers.function_probe.summary import accuracies, refuse_chance
from headcats.rules.by_effect import elbow

_SIZE = (230, 170)  # pixels of a panel


@figure
def elbow_curves(importance: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """Heads sorted by absolute importance, one panel per function, and how many lie up to the elbow.

    x = rank of the head, 1 = most important; y = absolute importance, mean over seeds, the same scale in all panels.
    The elbow (diamond) is the head farthest below the chord from the first to the last head (dashed); it and the heads
    before it (dots) are those of the function, as `hc.rules.elbow` chooses them. **Descriptive: noise has an elbow,
    too.**

    Args:
        importance: `importance (function, layer, head)`, with or without `seed`, as `hc.methods.function_probe` returns
            it.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per function and head that has a number: `function, rank, layer,
        head, name, importance` (absolute, mean over seeds), `low, high` (smallest and largest of the seeds), `chosen`
        (up to the elbow), `elbow` and `n_chosen` (of the function).

    Raises:
        DataError: no importance over layers and heads; a probe that is not above chance, or in too few of its seeds.

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978: heads by the elbow of their importance.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> values = np.random.default_rng(0).standard_t(3, (2, 6, 8))
        >>> probes = xr.Dataset({"importance": (("function", "layer", "head"), values)}, attrs={"method": "any"})
        >>> probes = probes.assign_coords(function=["Retrieval", "Inference"], layer=range(6), head=range(8))
        >>> fig = hc.figures.elbow_curves(probes)
        >>> numbers = hc.figures.data(fig)
        >>> bool((numbers.groupby("function").chosen.sum() == numbers.groupby("function").n_chosen.first()).all())
        True
    """
    pick_variable(
        importance,
        ("importance",),
        grid=("layer", "head"),
        rows=("function",),
        figure="elbow_curves",
        table='hc.suite_blocks(results)["function_probe"]',
    )
    refuse_chance(importance, figure="elbow_curves")
    values = importance["importance"]
    if "function" not in values.dims:
        values = values.expand_dims(function=["importance"])
    names = panel_names(values.to_dataset(), "function", figure="elbow_curves")
    absolute = abs(values.astype(float))
    over_seeds = "seed" if "seed" in values.dims else []
    effects = xr.Dataset({"effect": absolute.mean(over_seeds, skipna=False)})
    table = effects.assign(
        low=absolute.min(over_seeds), high=absolute.max(over_seeds), chosen=elbow()(effects) == 1
    ).assign_attrs(importance.attrs)
    frames = {name: _sorted(table.sel(function=name), name) for name in names}
    frame = pd.concat(frames.values(), ignore_index=True)
    longest = max(1, *(len(rows) for rows in frames.values()))
    step = max(1, math.ceil(longest / 6))
    x = Axis("rank", longest, "heads, most important first", range(0, longest, step), first=1)
    y = scale_over(0.0, frame["importance"].max() if len(frame) else math.nan, "importance", default=(0.0, 1.0))
    panels = [Panel(name, [Plot(x, y, _SIZE, _traces(rows))], notes=[_note(rows)]) for name, rows in frames.items()]
    caption = ["● up to the elbow", "◆ the elbow", "dashed: from the first to the last head", *accuracies(importance)]
    return PanelGrid(panels, frame, title, caption)


def _sorted(table: xr.Dataset, name: str) -> pd.DataFrame:
    columns = {"importance": table["effect"], "low": table["low"], "high": table["high"], "chosen": table["chosen"]}
    rows = head_rows(table, columns)
    rows = rows[rows["importance"].notna()].sort_values("importance", ascending=False, kind="stable")
    rows.insert(0, "function", name)
    rows.insert(1, "rank", np.arange(1, len(rows) + 1))
    rows["chosen"] = rows["chosen"].astype(bool)
    rows["n_chosen"] = int(rows["chosen"].sum())
    rows["elbow"] = rows["rank"] == rows["n_chosen"]
    return rows.reset_index(drop=True)


def _traces(rows: pd.DataFrame) -> list[go.Scatter | None]:
    if not len(rows):
        return [None]
    positive = rows[rows["importance"] > 0]
    ends = positive.iloc[[0, -1]] if len(positive) else positive
    chord = go.Scatter(
        x=ends["rank"] - 1, y=ends["importance"], mode="lines", line={"color": HATCH, "width": 1, "dash": "dash"}
    )
    template = (
        f"<b>%{{name}}</b> {escaped(rows['function'].iloc[0])}<br>rank %{{rank}}<br>importance %{{importance:.3g}} "
        "[%{low:.3g}, %{high:.3g}] over seeds"
    )
    curve = go.Scatter(
        x=rows["rank"] - 1,
        y=rows["importance"],
        mode="lines",
        line={"color": OUTLINE, "width": 1.5},
        name="heads",
        **hover(template, rows, y="importance"),
    )
    return [
        chord,
        curve,
        _marks(rows[rows["chosen"] & ~rows["elbow"]], "circle", 6),
        _marks(rows[rows["elbow"]], "diamond", 11),
    ]


def _marks(rows: pd.DataFrame, symbol: str, size: int) -> go.Scatter | None:
    if not len(rows):
        return None
    marker = {"symbol": symbol, "size": size, "color": TEXT}
    return go.Scatter(x=rows["rank"] - 1, y=rows["importance"], mode="markers", marker=marker, cliponaxis=False)


def _note(rows: pd.DataFrame) -> str:
    if not len(rows):
        return "no value"
    n = int(rows["chosen"].sum())
    return f"{n or 'no'} of {len(rows)} heads" + (f", down to {rows['name'].iloc[n - 1]}" if n else "")
