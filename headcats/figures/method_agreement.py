"""Agreement of methods on the heads: a table of correlations per group of tasks, and the heads they disagree on."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.figures.colours import DIVERGING
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import ColourScale, fixed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import SMALL, escaped
from headcats.figures.tables import head_rows, panel_names, require

_PAIR = ("group", "method", "other")
_OPTIONAL = ("layer_correlation", "p_value", "q_value", "n_heads")
_LEVEL = 0.05
_CELL = (84, 42)  # pixels; holds the widest text, "top 1.00 (1.00)"
_DISPUTED = 3


@figure
def method_agreement(agreement: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """Rank correlation between every two methods, with the top heads they share, one panel per group.

    Colour and upper number: Spearman's rank correlation of the heads' scores (blue: same order; red: opposite order),
    with a star where q <= .05 against what the heads' layers alone would give. Below it: the share of top heads of
    either method that are in both, and in parentheses that of random sets of the same sizes. Above each panel stand the
    heads whose ranks differ most; hover over a cell for those of two methods.

    Args:
        agreement: As `hc.evidence.method_agreement` returns it: `rank_correlation, top_overlap (group, method, other)`,
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
        >>> agreement = hc.evidence.method_agreement(hc.evidence.method_scores(hc.load("results/mini-icl")))
        >>> fig = hc.figures.method_agreement(agreement, title="Methods on one grid of heads")
        >>> {"denoising_patch", "mean_ablation"} <= {name.split("@")[0] for name in hc.figures.data(fig).method}
        True
    """
    variables: dict[str, tuple[str, ...]] = {"rank_correlation": _PAIR, "top_overlap": _PAIR}
    variables |= {"rank": ("group", "method", "layer", "head"), "spread": ("group", "layer", "head")}
    table = "hc.evidence.method_agreement(hc.evidence.method_scores(results))"
    require(agreement, variables, figure="method_agreement", table=table)
    if "top_chance" not in agreement or not set(agreement["top_chance"].dims) <= set(_PAIR):
        raise DataError(
            f"method_agreement expects `top_chance` over ({', '.join(_PAIR)}) or fewer of these. Pass {table}."
        )
    methods = panel_names(agreement, "method", figure="method_agreement")
    if methods != [str(name) for name in agreement["other"].values]:
        raise DataError("method_agreement expects `method` and `other` to name the same methods in the same order.")
    frame = _frame(agreement, methods)
    scale = fixed_scale((-1.0, 1.0), colours=DIVERGING, name="rank correlation", steps=4)
    x = Axis("other", len(methods), labels=methods, slanted=True)
    cells = Cells(x, Axis("method", len(methods), labels=methods, reverse=True), _CELL)
    panels = []
    for group, group_rows in frame.groupby("group", sort=False):
        disputed = group_rows["disputed"].iloc[0]
        note = f"ranks differ most: {disputed}" if disputed else "no head with several ranks"
        panels.append(Panel(str(group), [_plot(cells, group_rows, scale)], notes=[note]))
    return PanelGrid(panels, frame, title, _caption(agreement, frame), beside=scale, grey=True)


def _frame(agreement: xr.Dataset, methods: list[str]) -> pd.DataFrame:
    labels = [str(label) for label in agreement["group"].values]
    groups = panel_names(agreement, "group", figure="method_agreement")
    agreement = agreement.isel(group=[labels.index(group) for group in groups])
    optional = [name for name in _OPTIONAL if name in agreement and set(agreement[name].dims) == set(_PAIR)]
    chance = agreement["top_chance"].broadcast_like(agreement["rank_correlation"])
    pairs = agreement[["rank_correlation", "top_overlap", *optional]].assign(top_chance=chance).astype(float)
    pairs = pairs.reset_coords(drop=True).assign_coords(group=groups, method=methods, other=methods)
    names = head_rows(agreement, {})["name"].tolist()
    ranks = agreement["rank"].transpose("group", "method", "layer", "head").to_numpy()
    apart = [
        ", ".join(f"{names[k]} ({first[k]:g}, {second[k]:g})" for k in _largest(np.abs(first - second)))
        for ranks_in_group in ranks.reshape(len(groups), len(methods), -1)
        for first, second in itertools.product(ranks_in_group, repeat=2)
    ]
    spread = agreement["spread"].transpose("group", "layer", "head").to_numpy().reshape(len(groups), -1)
    disputed = [", ".join(names[k] for k in _largest(spread_in_group)) for spread_in_group in spread]
    frame = pairs.to_dataframe(dim_order=_PAIR).reset_index()
    return frame.assign(disagree_on=apart, disputed=np.repeat(disputed, len(methods) ** 2))


def _largest(values: np.ndarray) -> list[int]:
    """Places of the largest values above 0, largest first."""
    order = np.argsort(-np.nan_to_num(values, nan=0.0), kind="stable")[:_DISPUTED]
    return [int(place) for place in order if values[place] > 0]


def _plot(cells: Cells, rows: pd.DataFrame, scale: ColourScale) -> Plot:
    correlated = rows[rows["rank_correlation"].notna()]
    pairs, details = [], []
    for row in rows.itertuples():
        pair = row.method if row.method == row.other else f"{row.method} and {row.other}"
        pairs.append(f"<b>{escaped(pair)}</b> {escaped(row.group)}")
        by_layers, q = getattr(row, "layer_correlation", math.nan), getattr(row, "q_value", math.nan)
        layers = "" if math.isnan(by_layers) else f"<br>by their layers alone {by_layers:.3f}, q {q:.2g}"
        details.append(f"{layers}<br>ranks differ most: {row.disagree_on}" if row.disagree_on else layers)
    template = (
        "%{pair}<br>rank correlation %{rank_correlation:.3f}<br>top heads in both, of those in either "
        "%{top_overlap:.3f}, by chance %{top_chance:.3f}%{details}"
    )
    pointed, name = rows.assign(pair=pairs, details=details), str(rows["group"].iloc[0])
    texts, ink = [_text(row) for row in correlated.itertuples()], scale.ink(correlated["rank_correlation"])
    traces = [
        cells.heatmap(pointed, "rank_correlation", name=name, template=template),
        cells.texts(correlated, texts, ink, name="numbers", size=SMALL),
        cells.crosses(rows[rows["rank_correlation"].isna()]),
    ]
    return cells.plot(traces)


def _text(row: Any) -> str:
    if row.method == row.other:
        return f"<b>{row.rank_correlation:.2f}</b>"
    star = "*" if getattr(row, "q_value", math.nan) <= _LEVEL else ""
    overlap = f"top {_number(row.top_overlap)} ({_number(row.top_chance)})"
    return f"<b>{row.rank_correlation:.2f}{star}</b><br>{overlap}"


def _number(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.2f}".removeprefix("0")


def _caption(agreement: xr.Dataset, frame: pd.DataFrame) -> list[str]:
    size = f" {agreement.attrs['top']}" if "top" in agreement.attrs else ""
    parts = ["bold: rank correlation of all heads", f"top: overlap of the top{size} heads (by chance)"]
    if "q_value" in frame and (frame["q_value"] <= _LEVEL).any():
        parts.append(f"* q ≤ {_LEVEL:g} beside what the heads' layers alone give")
    return parts
