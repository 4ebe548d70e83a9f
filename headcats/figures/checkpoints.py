"""Categories over training: how many heads they have, which come and go, and the effects of some."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, UnknownNameError, pluralize, unknown_name_message
from headcats.categories.outcome import IN, NOT_JUDGED, outcomes
from headcats.figures.colours import HATCH, MARK, TEXT, UNCLASSIFIED, ink_on, named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale, scale_over
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.curves import marked_line, stacked_bars
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import SMALL, escaped, hover, text_width
from headcats.figures.tables import head_rows, require
from headcats.results.visible import shortened

_OF_CATEGORY = ("size", "undecided", "n_tasks", "n_skipped", "before")
_OF_HEAD = ("change", "change_found", "difference", "difference_q", "mean_effect", "mean_low", "mean_high")
_GRID = ("revision", "category", "layer", "head")
_VARIABLES = dict.fromkeys(_OF_CATEGORY, _GRID[:2]) | dict.fromkeys(("member", "effect", *_OF_HEAD), _GRID)
_COLUMNS = (
    *("category", "revision", "place", "step", *_OF_CATEGORY),
    *("name", "layer", "head", "outcome", *_OF_HEAD, "followed"),
)
# Where a revision has no head to show.
_NO_HEAD = {"name": "", "layer": -1, "head": -1, "outcome": "", "change": 0, "change_found": False, "followed": False}
_FOLLOWED, _MOST_ROWS = 3, 20  # heads whose effects are drawn where none are named; heads of a strip
_CALLS = {1: ("comes", "triangle-up"), -1: ("goes", "triangle-down")}
_NOT_JUDGED = "not judged"
# Of the followed heads, in turn.
_LOOKS = (("circle", "solid", "●"), ("square", "dash", "■"), ("diamond", "dot", "◆"), ("cross", "dashdot", "✚"))
_WIDEST, _ROW, _SIZES, _EFFECTS, _MARKER = 520, 14, 96, 170, 5  # pixels
_CELL = (6, 32, 64)
"""Pixels of a revision: at least, where there are few of them, and at most."""
_BELOW = 0.2  # room below the bars for the numbers of tasks, in shares of the tallest


@figure
def checkpoints(
    revisions: xr.Dataset, *, heads: Sequence[str] | None = None, palette: str = "headcats", title: str | None = None
) -> PanelGrid:
    """Sizes of the categories, heads that come and go, and effects of some heads, over the revisions of a model.

    One panel per category, of three plots over the same revisions. **Above**: heads in the category, in its colour, and
    on top of them the undecided ones, grey and hatched; below a bar, the tasks that were scored of all (`3/11`) where
    some were skipped. **Middle**: the heads that are ever in the category, by the revision at which they first are: in
    (coloured), undecided (hatched), out (grey). A triangle up marks a head that comes, one down a head that goes; it is
    filled where the difference from the revision before was found by a test (`change_found`), and open where the call
    alone changes. **Below**: mean effect of some heads over the category's tasks, in shares of the clean-corrupted gap,
    with 95 % intervals for these tasks; open symbols are means over other numbers of tasks than at the last revision. A
    cross is a revision at which no task of the category was scored.

    Args:
        revisions: What `hc.evidence.over_revisions` returns; 1 to 8 categories.
        heads: Names of up to four heads to follow, such as `["L2H3"]`; by default, in every category, the three of the
            largest mean effect at the last revision.
        palette: As in `overlap_map`.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per category, revision and head that is shown: `category,
        revision, step, size, undecided, n_tasks, n_skipped, before, name, layer, head, outcome` ("in", "undecided",
        "out"; "" where not judged), `change, change_found, difference, difference_q, mean_effect, mean_low, mean_high,
        followed` (whether its effects are drawn); for an approximation also `approximation`.

    Raises:
        DataError: a variable or dimension is missing, or a category that the attribute `categories` does not list.
        UnknownNameError: unknown palette, or a head that the model has not.

    Example:
        >>> import headcats as hc
        >>> course = hc.evidence.over_revisions(hc.load("results/mini-checkpoints"))
        >>> fig = hc.figures.checkpoints(course, heads=["L5H0"])
        >>> numbers = hc.figures.data(fig)
        >>> numbers[numbers.followed].name.unique().tolist()
        ['L5H0']
    """
    require(revisions, _VARIABLES, figure="checkpoints", table="hc.evidence.over_revisions(hc.load(DIR))")
    heads = heads or ()
    if len(heads) > len(_LOOKS):
        raise DataError(f"checkpoints follows at most {len(_LOOKS)} heads; got {len(heads)}: {', '.join(heads)}.")
    colours = named_palette(palette, suite_colours(revisions)).categories
    frame = pd.concat([_revision_rows(revisions, name, heads) for name in colours], ignore_index=True)
    x, cell = _axis(frame)
    bare, width = Axis("place", x.n), cell * x.n
    by_category = {name: frame[frame["category"] == name] for name in colours}
    shown = {name: _shown_heads(rows) for name, rows in by_category.items()}
    most = max(1, *map(len, shown.values()))
    tallest = max(1.0, float((frame["size"] + frame["undecided"]).max()))
    counts = Scale(-_BELOW * tallest, 1.06 * tallest, "heads", format="d" if tallest > 4 else "")
    followed = frame[frame["followed"]]
    effects = scale_over(followed["mean_low"].min(), followed["mean_high"].max(), "mean effect", default=(-0.1, 1.0))
    panels = []
    for name, colour in colours.items():
        rows = by_category[name]
        cells = Cells(bare, Axis("name", most, labels=shown[name], reverse=True), (cell, _ROW))
        plots = [
            Plot(bare, counts, (width, _SIZES), _bars(rows, colour, tallest)),
            cells.plot(_strip(rows[rows["name"].isin(shown[name])], cells, colour)),
            Plot(x, effects, (width, _EFFECTS), _lines(rows, colour)),
        ]
        panels.append(Panel(name, plots, notes=[_followed_note(rows), _shown_note(rows, shown[name])]))
    return PanelGrid(panels, frame.drop(columns="place"), title, _caption(frame, revisions))


def _revision_rows(revisions: xr.Dataset, category: str, heads: Sequence[str]) -> pd.DataFrame:
    """Rows of a category: one per revision and head that is ever in it, or followed; of no name where there is none."""
    table = revisions.sel(category=category)
    steps = table["step"].values if "step" in table.coords else np.full(table.sizes["revision"], math.nan)
    tables = []
    for place, revision in enumerate(map(str, table["revision"].values)):
        at = table.isel(revision=place)
        rows = head_rows(at, {name: at[name] for name in _OF_HEAD} | {"outcome": outcomes(at)})
        of_category = {name: at[name].item() for name in _OF_CATEGORY}
        tables.append(rows.assign(category=category, revision=revision, place=place, step=steps[place], **of_category))
    frame = pd.concat(tables, ignore_index=True).replace({"outcome": {NOT_JUDGED: ""}})
    if unknown := [name for name in heads if name not in set(frame["name"])]:
        raise UnknownNameError(unknown_name_message("head of this model", unknown[0], frame["name"].unique()))
    frame["followed"] = frame["name"].isin(list(heads) or _strongest(frame))
    ever = frame.loc[frame["outcome"] == IN, "name"]
    shown = frame[frame["name"].isin(ever) | frame["followed"]]
    none = frame.drop_duplicates("place").assign(**_NO_HEAD, **dict.fromkeys(_OF_HEAD[2:], math.nan))
    return (shown if len(shown) else none)[[*_COLUMNS]]


def _strongest(frame: pd.DataFrame) -> list[str]:
    """Names of the heads of the largest mean effect at the last revision that is judged."""
    judged = frame[frame["outcome"] != ""]
    last = judged[judged["place"] == judged["place"].max()]
    return list(last.sort_values("mean_effect", ascending=False, kind="stable")["name"][:_FOLLOWED])


def _shown_heads(rows: pd.DataFrame) -> list[str]:
    """Heads of the strip, those that come first on top; of too many, those of the largest mean effects."""
    members = rows[rows["outcome"] == IN]
    largest = rows.groupby("name")["mean_effect"].max()
    most = largest[members["name"].unique()].nlargest(_MOST_ROWS).index
    first = members.groupby("name")[["place", "layer", "head"]].min()
    return [str(name) for name in first.loc[most].sort_values(["place", "layer", "head"]).index]


def _followed_heads(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Head -> its rows with a number, the largest effect at the last revision first."""
    measured = rows[rows["followed"] & rows["mean_effect"].notna()]
    by_head = [(str(name), of_head) for name, of_head in measured.groupby("name", sort=False)]
    return sorted(by_head, key=lambda named: -named[1]["mean_effect"].iloc[-1])


def _axis(frame: pd.DataFrame) -> tuple[Axis, int]:
    """Revisions from left to right, and how many pixels one takes; labels that would touch are left out."""
    places = frame.drop_duplicates("place")
    by_step = bool(places["step"].notna().all())
    texts = [_step_text(step) for step in places["step"]] if by_step else [*map(shortened, places["revision"])]
    longest = max(text_width(text, SMALL) for text in texts) + 8
    least, usual, most = _CELL
    cell = max(least, min(most, max(usual, longest), _WIDEST // len(texts)))
    ticks = range(0, len(texts), math.ceil(longest / cell))
    name = "training step" if by_step else "revision"
    return Axis("place", len(texts), name, ticks, tick_texts=[texts[place] for place in ticks]), cell


def _step_text(step: float) -> str:
    return f"{step / 1000:g}k" if step >= 1000 and step % 100 == 0 else f"{step:g}"


def _bars(rows: pd.DataFrame, colour: str, tallest: float) -> list[go.Bar | go.Scatter | None]:
    sizes = rows.drop_duplicates("place")
    judged, absent, some = sizes[sizes["size"].notna()], sizes[sizes["size"].isna()], sizes[sizes["n_skipped"] > 0]
    template = (
        f"<b>%{{revision}}</b> {escaped(sizes['category'].iloc[0])}<br>in: %{{size:.0f}} heads, undecided: "
        "%{undecided:.0f}<br>tasks scored: %{n_tasks}, skipped: %{n_skipped}"
    )
    counts = {name: judged[name] for name in ("size", "undecided")}
    shown = hover(template, judged.assign(revision=judged["revision"].map(escaped)))
    bars: list[go.Bar | go.Scatter | None] = [*stacked_bars(judged["place"], counts, colour=colour, **shown)]
    if len(some):
        texts = [f"{row.n_tasks}/{row.n_tasks + row.n_skipped}" for row in some.itertuples()]
        look = {"textposition": "bottom center", "textfont": {"size": SMALL, "color": TEXT}}
        under_the_axis = np.full(len(some), -0.03 * tallest)
        bars.append(go.Scatter(x=some["place"], y=under_the_axis, mode="text", text=texts, name="tasks scored", **look))
    if len(absent):
        cross = {"symbol": "x-thin", "size": 8, "line": {"color": HATCH, "width": 1}}
        height = np.full(len(absent), 0.12 * tallest)
        bars.append(go.Scatter(x=absent["place"], y=height, mode="markers", marker=cross, name=_NOT_JUDGED))
    return bars


def _strip(rows: pd.DataFrame, cells: Cells, colour: str) -> list[go.Heatmap | go.Scatter | None]:
    if not len(rows):
        return []
    judged = rows[rows["outcome"] != ""]
    heads = [f"<b>{row.name}</b> {escaped(row.revision)}: {row.outcome}" for row in judged.itertuples()]
    looks = {"in": colour, "undecided": UNCLASSIFIED, "out": UNCLASSIFIED}
    template = "%{heads}<br>mean effect %{mean_effect:.3f}%{details}"
    pointed, name = judged.assign(heads=heads, details=[*map(_details, judged.itertuples())]), rows["category"].iloc[0]
    traces: list[go.Heatmap | go.Scatter | None] = [
        cells.heatmap(pointed, "outcome", name=str(name), template=template, colours=looks)
    ]
    if len(undecided := judged[judged["outcome"] == "undecided"]):
        traces.append(cells.hatching(undecided, name="undecided"))
    for change, (call, symbol) in _CALLS.items():
        for found, look in ((True, symbol), (False, f"{symbol}-open")):
            changed = judged[(judged["change"] == change) & (judged["change_found"] == found)]
            ink = ink_on(colour) if change > 0 else MARK
            traces.append(cells.symbols(changed, name=call, symbol=look, share=0.65, colour=ink))
    return traces


def _details(row: Any) -> str:
    """Text at the pointer on the difference from the revision before."""
    if not row.before or math.isnan(row.difference):
        return ""
    q = "not trusted" if math.isnan(row.difference_q) else f"{row.difference_q:.2g}"
    return f"<br>{row.difference:+.3f} since {escaped(row.before)}, q {q}"


def _lines(rows: pd.DataFrame, colour: str) -> list[go.Scatter]:
    lines = []
    for (name, measured), (symbol, dash, _) in zip(_followed_heads(rows), _LOOKS, strict=False):
        other = measured["n_tasks"] != measured["n_tasks"].iloc[-1]
        up, down = measured["mean_high"] - measured["mean_effect"], measured["mean_effect"] - measured["mean_low"]
        ends = {"array": up, "arrayminus": down, "symmetric": False, "width": 2, "thickness": 1, "color": TEXT}
        template = (
            f"<b>{name}</b> %{{revision}}<br>mean effect %{{mean_effect:.3f}} [%{{mean_low:.3f}}, %{{mean_high:.3f}}]"
            "<br>over %{n_tasks} tasks"
        )
        shown = hover(template, measured.assign(revision=measured["revision"].map(escaped)), y="mean_effect")
        places, values = measured["place"].to_numpy(), measured["mean_effect"].to_numpy()
        look = (colour, symbol, dash)
        line = marked_line(places, values, look=look, name=name, is_open=other.to_numpy(), size=_MARKER, hover=shown)
        lines.append(line.update(error_y=ends))
    return lines


def _followed_note(rows: pd.DataFrame) -> str:
    signs = [f"{sign} {name}" for (name, _), (*_, sign) in zip(_followed_heads(rows), _LOOKS, strict=False)]
    return "  ".join(signs) or "no task scored at any revision"


def _shown_note(rows: pd.DataFrame, shown: Sequence[str]) -> str:
    n = rows[rows["outcome"] == "in"]["name"].nunique()
    return f"{pluralize(n, 'head')} ever in it" + (f", {len(shown)} shown" if n > len(shown) else "")


def _caption(frame: pd.DataFrame, revisions: xr.Dataset) -> list[str]:
    parts = ["bars: heads in the category", "rows: the heads that ever are, grey: out", "hatched: undecided"]
    if (frame["n_skipped"] > 0).any():
        parts.append("3/11: tasks scored, where some are skipped")
    if frame["size"].isna().any():
        parts.append("× no task of the category scored")
    if (frame["change"] != 0).any():
        parts.append("▲ comes, ▼ goes: filled where the effect differs from the revision before "
                     f"(q ≤ {revisions.attrs.get('alpha', 0.05):g}), open where the call alone changes")  # fmt: skip
    parts.append("lines: mean effect of the heads named above, over the category's tasks, 95 % intervals")
    measured = frame[frame["followed"] & frame["mean_effect"].notna()]
    if (measured["n_tasks"] != measured.groupby("category")["n_tasks"].transform("last")).any():
        parts.append("○ mean over another number of tasks than at the last")
    return parts
