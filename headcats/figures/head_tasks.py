"""Effects of each head of a category, task by task."""

import math

import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.categories.membership import categorize
from headcats.figures.colours import BACKGROUND, QUIET_TEXT, UNCLASSIFIED, category_colours, named_palette
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import WIDEST, Panel
from headcats.figures.panels.text import LARGE, escaped, text_width
from headcats.figures.tables import NUMBERS, POINTED_NUMBERS, head_rows, require
from headcats.results.head_axes import noun, unit_of
from headcats.results.visible import shortened

_CELL, _LEAST = 18, 5  # pixels
_BESIDE = 220
_NAMES = "head_tasks"
_MOST, _WITHOUT_MEMBERS = 40, 10  # heads that are shown, and where none is in a category


@figure
def head_tasks(
    scores: xr.Dataset, *, members: xr.Dataset | None = None, palette: str = "headcats", title: str | None = None
) -> PanelGrid:
    """Effect of every member head (y) on every task (x), tasks grouped by category.

    A cell has the colour of its task's category, full where the effect is at the limit that the caption names (99th
    percentile of the absolute effects) or above; grey where it is negative. A dot marks tasks on which the head passes
    on its own for the task's category: the median that decides a membership hides heads that serve a part of the tasks.
    Heads stand by their first category, the largest effect on top: the 40 with the largest effects, and the caption
    counts the others; without a member, the ten of the largest effects.

    Args:
        scores: As `hc.score` returns it: `effect, low, high, q_value (task, layer, head)` with the coordinate
            `category` along `task`; effects in shares of the clean-corrupted gap, positive = the head helps.
        members: Whose heads are shown, as `hc.categorize` or `hc.overlap` returns it; by default
            `hc.categorize(scores)`.
        palette: As in `overlap_map`.
        title: Written above; an approximation is named there and in the hover.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per head and task: `head, layer, task, category, serves` (the
        categories of the head, joined by "+"), `effect, low, high, q_value, passes`.

    Raises:
        DataError: A variable, dimension, coordinate or the attribute `categories` is missing.
        UnknownNameError: unknown palette.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> fig = hc.figures.head_tasks(scores, title="Denoising patch")
        >>> bool(hc.figures.data(fig).passes.any())
        True
    """
    require(scores, dict.fromkeys(NUMBERS, ("task", "layer", "head")), figure=_NAMES, table="hc.score(results)")
    members = categorize(scores) if members is None else members
    variables = dict.fromkeys(("member", "effect", "tasks"), ("category", "layer", "head"))
    require(members, variables, figure=_NAMES, table="members=hc.categorize(scores)")
    colours = named_palette(palette, category_colours(scores), most=len(category_colours(scores))).categories
    heads, n_members = _heads(members, list(colours))
    tasks = [str(task) for name in colours for task in scores["task"].values[(scores["category"] == name).values]]
    frame = _frame(scores, members, heads, tasks)
    groups = [(name, int((scores["category"] == name).sum())) for name in colours]
    groups = [(name, n) for name, n in groups if n]
    # Few tasks are as wide as the names of their categories need, many as the page has room for.
    named = max(math.ceil((text_width(shortened(name, most=24), LARGE) + 8) / n) for name, n in groups)
    width = max(_LEAST, min(max(_CELL, named), (WIDEST - _BESIDE) // len(tasks)))
    x = Axis("task", len(tasks), labels=tasks, slanted=True, groups=groups)
    y = Axis("head", len(heads), labels=list(heads), reverse=True)
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
    return PanelGrid([Panel("", [cells.plot(traces)])], frame, title, caption)


def _heads(members: xr.Dataset, categories: list[str]) -> tuple[pd.Series, int]:
    """Names of the heads that are shown by layer and head, in the order of their rows; and the number of members.

    Heads stand by their first category and effect. Without a member they are those of the largest effects.
    """
    tables = [members.sel(category=name) for name in categories if name in members["category"].values]
    columns = [{"inside": of["member"] == 1, "size": abs(of["effect"]).fillna(0)} for of in tables]
    rows = pd.concat([head_rows(*of).assign(place=place) for place, of in enumerate(zip(tables, columns, strict=True))])
    inside, most = rows[rows["inside"]], _MOST
    if not (n_members := inside["name"].nunique()):
        inside, most = rows, _WITHOUT_MEMBERS
    first = {column: (column, "first") for column in ("name", "place", "size")}
    heads = inside.groupby(["layer", "head"]).agg(**first, largest=("size", "max")).nlargest(most, "largest")
    return heads.sort_values(["place", "size"], ascending=[True, False])["name"], n_members


def _frame(scores: xr.Dataset, members: xr.Dataset, heads: pd.Series, tasks: list[str]) -> pd.DataFrame:
    by_task = scores[list(NUMBERS)].sel(task=tasks).transpose("task", "layer", "head")
    categories = [str(name) for name in scores["category"].sel(task=tasks).values]
    parts = []
    for (layer, head), name in heads.items():
        of_head, row = by_task.sel(layer=layer, head=head), members.sel(layer=layer, head=head)
        by_category = zip(row["category"].values, row["tasks"].values, strict=True)
        passed = {str(category): str(joined).split(",") for category, joined in by_category}
        columns = {number: of_head[number].to_numpy().astype(float) for number in NUMBERS}
        passes = [task in passed.get(category, ()) for category, task in zip(categories, tasks, strict=True)]
        serves = "+".join(map(str, row["category"].values[(row["member"] == 1).values]))
        named = {"head": name, "layer": layer, "task": tasks, "category": categories, "serves": serves}
        parts.append(pd.DataFrame(named | columns | {"passes": passes}))
    return pd.concat(parts, ignore_index=True)


def _coloured(cells: Cells, rows: pd.DataFrame, category: str, colour: str, limit: float) -> go.Heatmap:
    """Cells of a category's tasks, from dark grey at -limit over the ground to the category's colour at limit."""
    template = f"<b>%{{head}}</b> on %{{spoken}} ({escaped(category)})<br>{POINTED_NUMBERS}"
    pointed = rows.assign(spoken=rows["task"].map(escaped))
    trace = cells.heatmap(pointed, "effect", name=category, template=template)
    scale = [[0.0, QUIET_TEXT], [0.5, UNCLASSIFIED], [1.0, colour]]
    return trace.update(coloraxis=None, colorscale=scale, zmin=-limit, zmax=limit, showscale=False)
