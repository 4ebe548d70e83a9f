"""One panel per task or category: the signed effect of every head."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.figures.colours import ON_LIGHT, category_colours
from headcats.figures.figure import figure
from headcats.figures.panels.cells import TINY, Cells
from headcats.figures.panels.colour_scale import ColourScale, signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import LAYERS_ACROSS, check_layout, layer_head_cells
from headcats.figures.panels.layout import MARKED, Panel, Plot
from headcats.figures.panels.text import MISSING, escaped
from headcats.figures.tables import NUMBERS, POINTED_NUMBERS, head_rows, require
from headcats.results.head_axes import KV_HEAD, letter, unit_of
from headcats.scores.given_blocks import is_blocks
from headcats.scores.scoring import score

_ALPHA, _LEAST = 0.05, 0.05  # q of a marked head at most, and its effect at least: as in the default rule
_SYMBOLS = {"helps": "circle", "hurts": "triangle-down", "below noise": "circle-open"}
_SPOKEN = {"helps": ": helps", "hurts": ": hurts", "below noise": ": below the noise of 16-bit numbers"}


@figure
def head_grid(
    scores: "xr.Dataset | Mapping[str, Any] | Sequence[xr.Dataset]",
    *,
    layout: str = LAYERS_ACROSS,
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """Signed effect of every head, one panel per task, or per category when given memberships.

    x = layer, y = head, head 0 on top. One diverging colour scale for all panels (blue = the head helps, red = it
    hurts), clipped at the 99th percentile of the absolute effects, which "≤" and "+" at its ends then say. A dot marks
    heads that help, a triangle heads that hurt, both by at least .05; an open circle heads whose effect cannot
    be told from the rounding of a 16-bit model. Effects of groups (attribute `unit`) are shown likewise, one cell a
    group.

    Args:
        scores: As `hc.score` returns it: `effect, low, high, q_value (task, layer, head)` with the coordinate
            `category` along `task`; dots: q <= .05 and low >= .05, triangles: q <= .05 and high <= -.05.
            Or as `hc.categorize` returns it: the same over `(category, layer, head)` with `member` and optionally
            `suppressing`; dots: `member` is 1, triangles: `suppressing` is 1. Effects in shares of the
            clean-corrupted gap.
            Or blocks, as `hc.sweep` and `hc.as_block` return them, one or several, which `hc.score` scores.
        layout: `"layers"`: numbers of layers and heads that adapt to zoom; `"paper"`: those of Elhelo & Geva (2025),
            `arange(0, n + 1, n // 5)`.
        marks: `"all"`, or `"none"` for colours alone, without marks, lines and caption; with `layout="paper"` a copy
            for publication, the last tick drawn. Only the pointer and the numbers then tell which heads are certain.
        title: Written above the panels; an approximation is named there and in the hover.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel, category, layer, head, name, effect,
        low, high, q_value, outcome` ("helps", "hurts", "neither", "below noise", "no value"); where heads share keys
        and values also `kv_head`, and for an approximation `approximation`.

    Raises:
        DataError: a variable, dimension, coordinate or the attribute `categories` is missing.
        UnknownNameError: another word for `layout` or `marks`.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> fig = hc.figures.head_grid(scores, title="Denoising patch")
        >>> numbers = hc.figures.data(fig)
        >>> set(numbers.panel) == set(scores.task.values)
        True
        >>> strongest = numbers.loc[numbers.effect.idxmax(), ["panel", "name", "effect"]]
    """
    check_layout(layout)
    table: Any = score(scores) if is_blocks(scores) else scores
    row = _row_dimension(table)
    groups = _groups(table, row)
    order = [(category, name) for category, names in groups.items() for name in names]
    shown = table[[name for name in (*NUMBERS, "member", "suppressing", "below_noise") if name in table]]
    judged = {name: _rows(shown.sel({row: name}), row) for _, name in order}
    tables = [judged[name].assign(panel=name, category=category or name) for category, name in order]
    frame = pd.concat(tables, ignore_index=True)
    cells = layer_head_cells(table, within=(150, 150), least=(90, 60), layout=layout, marks=marks)
    scale = signed_scale(frame["effect"].to_numpy(), name="effect")
    # Empty for the many that are neither: at 80 x 64 heads and 30 tasks the word alone would be over a megabyte.
    spoken = frame.assign(spoken=frame["outcome"].map(_SPOKEN).fillna(""))
    unit = unit_of(table)
    panels = [
        Panel(name, [_plot(cells, spoken[spoken["panel"] == name], scale, unit)], section=category)
        for category, name in order
    ]
    shared = [KV_HEAD] if KV_HEAD in frame else []
    frame = frame[["panel", "category", "layer", "head", "name", *NUMBERS, "outcome", *shared]]
    caption = _caption(frame, row)
    kind = str(table.attrs.get("approximation", ""))
    return PanelGrid(
        panels, frame, title, caption, columns=len(frame), beside=scale, grey=True, approximation=kind, marks=marks
    )


def _row_dimension(scores: xr.Dataset) -> str:
    row = "category" if isinstance(scores, xr.Dataset) and "task" not in scores.dims else "task"
    variables = dict.fromkeys([*NUMBERS, *["member"] * (row == "category")], (row, "layer", "head"))
    require(scores, variables, figure="head_grid", table="hc.score(results), or hc.categorize of that")
    if row == "task" and "category" not in scores.coords:
        raise DataError(
            "head_grid expects a coordinate `category` along `task`; "
            f"got the coordinates {', '.join(map(str, scores.coords))}. "
            "hc.score passes it on; set it again if an operation dropped it."
        )
    if not scores.sizes[row]:
        raise DataError(f"head_grid expects at least one {row}; got none.")
    return row


def _groups(scores: xr.Dataset, row: str) -> dict[str, list[str]]:
    """Category -> names of its panels, in category order; memberships are one group without a heading."""
    categories = category_colours(scores)
    if row == "category":
        return {"": list(categories)}
    groups = {name: [str(task) for task in scores["task"].values[scores["category"] == name]] for name in categories}
    # Tasks of which each is its own category need no headings.
    return groups if any([name] != tasks for name, tasks in groups.items()) else {"": list(groups)}


def _rows(table: xr.Dataset, row: str) -> pd.DataFrame:
    if row == "category":
        helps = table["member"] == 1
        hurts = table["suppressing"] == 1 if "suppressing" in table else xr.zeros_like(helps)
    else:
        helps = (table["q_value"] <= _ALPHA) & (table["low"] >= _LEAST)
        hurts = (table["q_value"] <= _ALPHA) & (table["high"] <= -_LEAST)
    noisy = table["below_noise"] if "below_noise" in table else xr.zeros_like(helps)
    # Noise first, because rounding can make an effect that looks certain: it is much the same for all prompts.
    cases = {MISSING: table["effect"].isnull(), "below noise": noisy, "helps": helps, "hurts": hurts}
    heads = head_rows(table, {name: table[name].astype(float) for name in NUMBERS} | cases)
    outcome = np.select([heads.pop(name) for name in cases], list(cases), "neither")
    return heads.assign(outcome=outcome)


def _plot(cells: Cells, rows: pd.DataFrame, scale: ColourScale, unit: str) -> Plot:
    name = str(rows["panel"].iloc[0])
    template = f"<b>L%{{layer}}{letter(unit)}%{{head}}</b> {escaped(name)}%{{spoken}}<br>{POINTED_NUMBERS}"
    traces = [cells.heatmap(rows, "effect", name=name, template=template)]
    for outcome, symbol in _SYMBOLS.items():
        marked = rows[rows["outcome"] == outcome]
        look: dict[str, Any] = {"share": 0.45, "colour": scale.ink(marked["effect"])}
        if cells.smallest < TINY:
            # A mark inside so small a cell cannot be seen, and one over it hides the colour: it takes the cell's.
            line = {"color": ON_LIGHT, "width": 0.6}
            look = {"share": 0, "least": 5, "colour": marked["effect"], "coloraxis": "coloraxis", "line": line}
        # There may be many below the noise, and they matter least.
        look["opacity"] = 0.35 if outcome == "below noise" else 1
        traces.append(cells.symbols(marked, name=outcome, symbol=symbol, **look))
    return cells.plot([*traces, cells.crosses(rows[rows["outcome"] == MISSING])])


def _caption(frame: pd.DataFrame, row: str) -> list[str]:
    parts = ["● in the category", "▼ suppressing"]
    if row == "task":
        helps, hurts = f"above {_LEAST:g}", f"below {-_LEAST:g}"
        parts = [f"● helps: q ≤ {_ALPHA:g} and interval {helps}", f"▼ hurts: q ≤ {_ALPHA:g} and interval {hurts}"]
    if (frame["outcome"] == "below noise").any():
        parts.append("○ below 16-bit noise")
    if not frame["outcome"].isin(["helps", "hurts"]).any():
        parts.append("no head is marked")
    return parts
