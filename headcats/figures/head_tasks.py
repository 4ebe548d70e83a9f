"""Effects of each head of a category, task by task."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.bounds import check_count
from headcats.categories.membership import categorize
from headcats.figures.colours import BACKGROUND, QUIET_TEXT, UNCLASSIFIED, category_colours, named_palette
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import WIDEST, Panel
from headcats.figures.panels.text import LARGE, escaped, text_width
from headcats.figures.tables import NUMBERS, require
from headcats.results.head_axes import cell_name, noun, unit_of
from headcats.results.visible import shortened

_CELL, _LEAST = 18, 5  # pixels
_BESIDE = 220
_NAMES = "head_tasks"
_WITHOUT_MEMBERS = 10  # heads shown where none is in a category


@figure
def head_tasks(
    scores: xr.Dataset,
    *,
    members: xr.Dataset | None = None,
    most: int = 40,
    palette: str = "headcats",
    title: str | None = None,
) -> PanelGrid:
    """Effect of every member head (y) on every task (x), tasks grouped by category.

    A cell has the colour of its task's category, full where the effect is at the limit that the caption names (99th
    percentile of the absolute effects) or above; grey where it is negative. A dot marks tasks on which the head passes
    on its own for the task's category. Heads stand by their first category, the largest effect on top. The median that
    decides a membership hides heads that serve a part of the tasks of a category; here they are seen. Without a member,
    the ten heads of the largest effects are shown, which the caption says.

    Args:
        scores: As `hc.score` returns it: `effect, low, high, q_value (task, layer, head)` with the coordinate
            `category` along `task`; effects in shares of the clean-corrupted gap, positive = the head helps.
        members: Whose heads are shown, as `hc.categorize` or `hc.overlap` returns it; by default
            `hc.categorize(scores)`.
        most: Heads that are shown, those with the largest effects; the caption counts the others.
        palette: As in `overlap_map`.
        title: Written above; an approximation is named there and in the hover.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per head and task: `head, layer, task, category, serves` (the
        categories of the head, joined by "+"), `effect, low, high, q_value, passes`.

    Raises:
        DataError: A variable, dimension, coordinate or the attribute `categories` is missing.
        OptionError: `most` is no whole number of at least 1.
        UnknownNameError: unknown palette.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> fig = hc.figures.head_tasks(scores, title="Denoising patch")
        >>> numbers = hc.figures.data(fig)
        >>> bool(numbers.passes.any())
        True
    """
    require(scores, dict.fromkeys(NUMBERS, ("task", "layer", "head")), figure=_NAMES, table="hc.score(results)")
    check_count("most", most)
    members = categorize(scores) if members is None else members
    require(
        members,
        dict.fromkeys(("member", "effect", "tasks"), ("category", "layer", "head")),
        figure=_NAMES,
        table="members=hc.categorize(scores)",
    )
    colours = named_palette(palette, category_colours(scores), most=len(category_colours(scores))).categories
    heads, n_members = _heads(members, list(colours), most)
    tasks = [str(task) for name in colours for task in scores["task"].values[(scores["category"] == name).values]]
    frame = _frame(scores, members, heads, tasks)
    groups = [(name, int((scores["category"] == name).sum())) for name in colours]
    groups = [(name, n) for name, n in groups if n]
    # Few tasks are as wide as the names of their categories need, many as the page has room for.
    named = max(math.ceil((text_width(shortened(name, most=24), LARGE) + 8) / n) for name, n in groups)
    width = max(_LEAST, min(max(_CELL, named), (WIDEST - _BESIDE) // len(tasks)))
    x = Axis("task", len(tasks), labels=tasks, slanted=True, groups=groups)
    y = Axis("head", len(heads), labels=[name for name, _ in heads], reverse=True)
    cells = Cells(x, y, (width, _CELL))
    limit = signed_scale(frame["effect"].to_numpy(), name="effect").limit
    traces = [_coloured(cells, frame[frame["category"] == name], name, colours[name], limit) for name, _ in groups]
    # A ring in the other neutral colour: dots are then seen on pale and on full cells, on light and on dark pages.
    ring = {"color": BACKGROUND, "width": 1}
    traces.append(cells.symbols(frame[frame["passes"]], name="passes", symbol="circle", share=0.4, line=ring))
    traces.append(cells.crosses(frame[frame["effect"].isna()]))
    kind = noun(unit_of(scores))
    caption = [f"full colour: effect of {limit:.2f} or more", "grey: negative", f"● the {kind} passes on this task"]
    if not n_members:
        caption.append(f"no {kind} is in any category; shown are those with the largest effects")
    if n_members > len(heads):
        caption.append(f"{len(heads)} of {n_members} {kind}s, those with the largest effects")
    panel = Panel("", [cells.plot(traces)])
    return PanelGrid([panel], frame, title, caption, approximation=str(scores.attrs.get("approximation", "")))


def _heads(members: xr.Dataset, categories: list[str], most: int) -> tuple[list[tuple[str, tuple[int, int]]], int]:
    """Name and place of the heads that are shown, by their first category and effect; and how many members there are.

    Without a member, the heads of the largest effects.
    """
    members = members.sel(category=[name for name in categories if name in members["category"].values])
    inside = (members["member"] == 1).transpose("category", "layer", "head").to_numpy()
    effect = np.nan_to_num(members["effect"].transpose("category", "layer", "head").to_numpy())
    n_members = int(inside.any(0).sum())
    if not n_members:
        inside, most = np.ones_like(inside), min(most, _WITHOUT_MEMBERS)
    places = np.argwhere(inside.any(0))
    first = inside[:, places[:, 0], places[:, 1]].argmax(0)
    size = np.where(inside, abs(effect), 0).max(0)[places[:, 0], places[:, 1]]
    in_first = abs(effect)[first, places[:, 0], places[:, 1]]
    shown = np.argsort(-size, kind="stable")[:most]
    shown = shown[np.lexsort((-in_first[shown], first[shown]))]
    layers, heads, unit = members["layer"].values, members["head"].values, unit_of(members)
    named = [
        (cell_name(int(layers[i]), int(heads[j]), unit), (int(layers[i]), int(heads[j])))
        for i, j in places[shown].tolist()
    ]
    return named, n_members


def _frame(
    scores: xr.Dataset, members: xr.Dataset, heads: list[tuple[str, tuple[int, int]]], tasks: list[str]
) -> pd.DataFrame:
    by_task = scores[list(NUMBERS)].sel(task=tasks).transpose("task", "layer", "head")
    categories = [str(name) for name in scores["category"].sel(task=tasks).values]
    rows = []
    for name, (layer, head) in heads:
        of_head = by_task.sel(layer=layer, head=head)
        row = members.sel(layer=layer, head=head)
        passed = {
            (str(category), task)
            for category, joined in zip(row["category"].values, row["tasks"].values, strict=True)
            for task in str(joined).split(",")
        }
        serves = "+".join(map(str, row["category"].values[(row["member"] == 1).values]))
        columns = {number: of_head[number].to_numpy().astype(float) for number in NUMBERS}
        passes = [(category, task) in passed for category, task in zip(categories, tasks, strict=True)]
        named = {"head": name, "layer": layer, "task": tasks, "category": categories, "serves": serves}
        rows.append(pd.DataFrame(named | columns | {"passes": passes}))
    return pd.concat(rows, ignore_index=True)


def _coloured(cells: Cells, rows: pd.DataFrame, category: str, colour: str, limit: float) -> go.Heatmap:
    """Cells of a category's tasks, from dark grey at -limit over the ground to the category's colour at limit."""
    template = (
        f"<b>%{{head}}</b> on %{{spoken}} ({escaped(category)})<br>"
        "effect %{effect:.3f} [%{low:.3f}, %{high:.3f}], q %{q_value:.2g}"
    )
    pointed = rows.assign(spoken=rows["task"].map(escaped))
    trace = cells.heatmap(pointed, "effect", name=category, template=template)
    scale = [[0.0, QUIET_TEXT], [0.5, UNCLASSIFIED], [1.0, colour]]
    return trace.update(coloraxis=None, colorscale=scale, zmin=-limit, zmax=limit, showscale=False)
