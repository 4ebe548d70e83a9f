"""One panel per task or category: the signed effect of every head."""

import html
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import DataError, OptionError
from headcats.figures.axes import Canvas, Panel, add_panel, add_text, new_figure
from headcats.figures.cells import NUMBERS, head_name, n_cells, on_grid, require
from headcats.figures.colour_bar import colour_limit, signed_colour_axis
from headcats.figures.colours import NO_VALUE, ON_DARK, ON_LIGHT, QUIET_TEXT, category_colours
from headcats.figures.figure import figure
from headcats.figures.placing import WIDEST
from headcats.figures.screen import screen_hover, screen_title, with_approximation

_LEFT, _RIGHT, _BOTTOM = 54, 34, 12
_TITLE, _TICKS, _NAME, _HEADING, _BETWEEN = 19, 20, 18, 26, 40
_COLOUR_BAR = 92
_LETTER, _TITLE_LETTER = 6.6, 8.2
_SYMBOLS = {"helps": "circle", "hurts": "triangle-down", "below noise": "circle-open", "no value": "x-thin"}


@dataclass(frozen=True)
class _Slot:
    """One panel's place in the figure."""

    name: str
    panel: Panel
    room: int
    """Pixels from the panel's left edge to the next panel's: what its title may take."""
    names: tuple[bool, bool]
    """Whether the axis names layer and head are written here."""


@figure
def head_grid(scores: xr.Dataset, *, alpha: float = 0.05, title: str | None = None) -> tuple[go.Figure, pd.DataFrame]:
    """Signed effect of every head, one panel per task, or per category when given memberships.

    x = layer, y = head, head 0 on top. One diverging colour scale for all panels, 0 in the middle (blue = the head
    helps, red = it hurts), clipped at the 99th percentile of the absolute effects; where values lie beyond, the last
    tick ends in "+" (and the first starts with "≤"). Tasks are grouped by category, in the order of the attribute
    `categories`. A dot marks heads that help, a triangle heads that hurt, an open circle (in place of either) heads
    whose effect is not told from the rounding of a 16-bit model; heads without a value are grey with a cross.

    Args:
        scores: As `hc.score` returns it: `effect, low, high, q_value (task, layer, head)` with the coordinate
            `category` along `task`; dots: q <= `alpha` and low > 0, triangles: q <= `alpha` and high < 0.
            Or as `hc.categorize` returns it: the same over `(category, layer, head)` with `member` and optionally
            `suppressing`; dots: `member` is 1, triangles: `suppressing` is 1. Effects in shares of the
            clean-corrupted gap.
        alpha: Largest q of a marked head, in (0, 1); memberships carry their own verdict.
        title: Written above the panels; that of a screen (attribute `approximation`) says so, and so does the hover.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel, category, layer, head, name, effect,
        low, high, q_value, outcome` ("helps", "hurts", "neither", "below noise", "no value"); for a screen also
        `approximation`.

    Raises:
        DataError: a variable, dimension, coordinate or the attribute `categories` is missing.
        OptionError: `alpha` outside (0, 1).

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> fig = hc.figures.head_grid(scores, title="Denoising patch")
        >>> numbers = hc.figures.data(fig)
        >>> set(numbers.panel) == set(scores.task.values)
        True
        >>> strongest = numbers.loc[numbers.effect.idxmax(), ["panel", "name", "effect"]]
    """
    if not 0 < alpha < 1:
        raise OptionError(
            f"head_grid expects alpha between 0 and 1, both excluded; got {alpha}. The usual value is 0.05."
        )
    row = _row_dimension(scores)
    groups = _groups(scores, row)
    frame = _frame(scores, row, groups, alpha=alpha)
    fig = _draw(scores, row, groups, frame, alpha=alpha, title=screen_title(title, scores))
    return fig, with_approximation(frame, scores)


def _row_dimension(scores: xr.Dataset) -> str:
    row = "category" if isinstance(scores, xr.Dataset) and "task" not in scores.dims else "task"
    variables = dict.fromkeys(NUMBERS, (row, "layer", "head"))
    if row == "category":
        variables["member"] = (row, "layer", "head")
    source, table = "hc.score(results) or hc.categorize(scores)", "hc.score(results)"
    require(scores, variables, figure="head_grid", source=source, table=table)
    if row == "task" and "category" not in scores.coords:
        raise DataError(
            "head_grid expects a coordinate `category` along `task`; "
            f"got the coordinates {', '.join(map(str, scores.coords))}. "
            "hc.score passes it on; set it again if an operation dropped it."
        )
    return row


def _groups(scores: xr.Dataset, row: str) -> dict[str, list[str]]:
    """Category -> names of its panels, in category order; memberships are one group without a heading."""
    order = list(category_colours(scores))
    panels = [str(name) for name in scores[row].values]
    if not panels:
        raise DataError(f"head_grid expects at least one {row}; got none.")
    belongs = [str(c) for c in np.broadcast_to(scores["category"].values, len(panels))]
    unknown = sorted(set(belongs) - set(order))
    if unknown:
        raise DataError(
            f"head_grid expects categories that the attribute `categories` lists ({', '.join(order)}); "
            f"got also {', '.join(unknown)}. Add them to the attribute."
        )
    if row == "category":
        return {"": [name for name in order if name in panels]}
    groups = {c: [p for p, own in zip(panels, belongs, strict=True) if own == c] for c in order}
    return {c: names for c, names in groups.items() if names}


def _frame(scores: xr.Dataset, row: str, groups: dict[str, list[str]], *, alpha: float) -> pd.DataFrame:
    panels = []
    for category, names in groups.items():
        for name in names:
            here = scores.sel({row: name})
            values = {n: here[n].transpose("layer", "head").to_numpy().astype(float).ravel() for n in NUMBERS}
            layers, heads = (grid.ravel() for grid in np.meshgrid(here["layer"], here["head"], indexing="ij"))
            one = pd.DataFrame({"panel": name, "category": category or name, "layer": layers, "head": heads})
            one["name"] = [head_name(int(layer), int(head)) for layer, head in zip(layers, heads, strict=True)]
            helps, hurts = _marks(here, row, alpha=alpha)
            # First, because rounding can make an effect that looks certain: it is much the same for all prompts.
            noisy = (
                here["below_noise"].transpose("layer", "head").to_numpy().ravel() if "below_noise" in here else False
            )
            verdict = np.select(
                [np.isnan(values["effect"]), noisy, helps, hurts],
                ["no value", "below noise", "helps", "hurts"],
                "neither",
            )
            panels.append(one.assign(**values, outcome=verdict))
    return pd.concat(panels, ignore_index=True)


def _marks(here: xr.Dataset, row: str, *, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    if row == "category":
        helps = here.member == 1
        hurts = here.suppressing == 1 if "suppressing" in here else xr.zeros_like(helps)
    else:
        helps = (here.q_value <= alpha) & (here.low > 0)
        hurts = (here.q_value <= alpha) & (here.high < 0)
    helps, hurts = (mark.transpose("layer", "head").to_numpy().ravel() for mark in (helps, hurts))
    return helps, hurts


def _draw(
    scores: xr.Dataset,
    row: str,
    groups: dict[str, list[str]],
    frame: pd.DataFrame,
    *,
    alpha: float,
    title: str | None,
) -> go.Figure:
    n_layers, n_heads = n_cells(scores, "layer"), n_cells(scores, "head")
    cell = _cell(n_layers, n_heads)
    limits = colour_limit(frame.effect.to_numpy())
    top = 40 + (30 if title else 0)
    slots, headings, right, bottom = _place(groups, (cell[0] * n_layers, cell[1] * n_heads), top=top)
    # At least as large as the title, the caption and the colour bar.
    width = max(right + _COLOUR_BAR + _RIGHT, 620, min(WIDEST, 32 + math.ceil(_TITLE_LETTER * len(title or ""))))
    height = max(bottom, top + 230) + _BOTTOM
    canvas = Canvas(width=width, height=height)
    fig = new_figure(canvas, title=title)
    fig.update_layout(plot_bgcolor=NO_VALUE)
    add_text(fig, _caption(frame, row, alpha=alpha), canvas=canvas, at=(16, top - 28), size=12, quiet=True)
    for text, y in headings:
        add_text(fig, f"<b>{html.escape(text, quote=False)}</b>", canvas=canvas, at=(16, y), size=14)
    for slot in slots:
        axes = add_panel(fig, slot.panel, canvas=canvas, n_layers=n_layers, n_heads=n_heads, names=slot.names)
        at = (slot.panel.left, slot.panel.top - _TITLE + 3)
        letters = int((slot.room - 8) / _LETTER)
        add_text(fig, html.escape(_short(slot.name, letters), quote=False), canvas=canvas, at=at)
        here = scores.sel({row: slot.name})
        _add_traces(fig, here, frame[frame.panel == slot.name], cell=cell, limit=limits[0], axes=axes)
    # The bar stands beside the panels, not beside a heading; its name is clear of the tick at its very end.
    bar = (right + 22, slots[0].panel.top)
    add_text(fig, "effect", canvas=canvas, at=(bar[0], bar[1] - 27))
    fig.update_layout(coloraxis=signed_colour_axis(limits, at=(canvas.x(bar[0]), canvas.y(bar[1]))))
    return fig


def _cell(n_layers: int, n_heads: int) -> tuple[int, int]:
    size = max(3, min(150 // n_layers, 150 // n_heads, 60))
    return max(size, math.ceil(90 / n_layers)), max(size, math.ceil(60 / n_heads))


def _place(
    groups: dict[str, list[str]], size: tuple[int, int], *, top: int
) -> tuple[list[_Slot], list[tuple[str, int]], int, int]:
    """Slots of all panels, headings with their top, and the right and bottom end of all panels in pixels."""
    longest = max(len(name) for names in groups.values() for name in names)
    step = max(size[0] + _BETWEEN, min(200, math.ceil(longest * _LETTER) + 12))
    most = max(map(len, groups.values()))
    fit = max(1, int((WIDEST - _LEFT - _COLOUR_BAR - _RIGHT) / step))
    # As few lines as fit, then as few columns as these lines need: no panel is left alone on a line.
    columns = math.ceil(most / math.ceil(most / fit))
    slots, headings = [], []
    y = top
    for heading, names in groups.items():
        if heading:
            headings.append((heading, y))
            y += _HEADING
        for i, name in enumerate(names):
            line, column = divmod(i, columns)
            left, above = _LEFT + column * step, y + line * (_TITLE + size[1] + _TICKS) + _TITLE
            panel = Panel(left=left, top=above, width=size[0], height=size[1])
            slots.append(_Slot(name, panel, room=step, names=(i + columns >= len(names), column == 0)))
        y += math.ceil(len(names) / columns) * (_TITLE + size[1] + _TICKS) + _NAME
    # 24: the bar stands 22 to the right of this end, and a title may reach to 8 before the next panel.
    return slots, headings, _LEFT + columns * step - 24, y


def _add_traces(
    fig: go.Figure, here: xr.Dataset, frame: pd.DataFrame, *, cell: tuple[int, int], limit: float, axes: dict[str, str]
) -> None:
    effect, *others = (on_grid(here[n].astype("float32"), fill=np.float32(np.nan)) for n in NUMBERS)
    name = str(frame.panel.iloc[0])
    # Empty for the many that are neither: at 80 x 64 heads and 30 tasks the word alone would be over a megabyte.
    words = {"helps": ": helps", "hurts": ": hurts", "below noise": ": below the noise of 16-bit numbers"}
    spoken = frame.set_index(["layer", "head"]).outcome.map(words).fillna("")
    outcomes = on_grid(spoken.to_xarray(), fill="")
    fig.add_trace(
        go.Heatmap(
            z=effect,
            x0=0,
            dx=1,
            y0=0,
            dy=1,
            coloraxis="coloraxis",
            xgap=1 if min(cell) >= 8 else 0,
            ygap=1 if min(cell) >= 8 else 0,
            hoverongaps=False,
            text=outcomes,
            customdata=np.stack(others, axis=-1),
            hovertemplate=(
                f"<b>L%{{x}}H%{{y}}</b> {html.escape(name, quote=False)}%{{text}}<br>"
                "effect %{z:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}], q %{customdata[2]:.2g}"
                f"{screen_hover(here)}<extra></extra>"
            ),
            name=name,
            **axes,
        )
    )
    for outcome, symbol in _SYMBOLS.items():
        marked = frame[frame.outcome == outcome]
        if len(marked):
            fig.add_trace(
                go.Scatter(
                    x=marked.layer.to_numpy(),
                    y=marked["head"].to_numpy(),
                    mode="markers",
                    opacity=0.35 if outcome == "below noise" else 1,  # there may be many, and they are the least
                    marker={"symbol": symbol, **_marker(marked.effect.to_numpy(), min(cell), limit=limit)},
                    name=outcome,
                    hoverinfo="skip",
                    showlegend=False,
                    **axes,
                )
            )


def _marker(effect: np.ndarray, cell: int, *, limit: float) -> dict[str, object]:
    if np.isnan(effect).all():
        return {"size": max(3.0, 0.4 * cell), "line": {"color": QUIET_TEXT, "width": 1}}
    if cell < 6:
        # A mark inside so small a cell cannot be seen and over it would hide the colour: it takes the cell's colour.
        return {"size": 5, "color": effect, "coloraxis": "coloraxis", "line": {"color": ON_LIGHT, "width": 0.6}}
    # The ends of the scale are dark: white marks there.
    return {"size": min(9.0, 0.45 * cell), "color": np.where(np.abs(effect) > 0.55 * limit, ON_DARK, ON_LIGHT)}


def _caption(frame: pd.DataFrame, row: str, *, alpha: float) -> str:
    if row == "task":
        parts = [f"● helps: q ≤ {alpha:g} and interval above 0", f"▼ hurts: q ≤ {alpha:g} and interval below 0"]
    else:
        parts = ["● in the category", "▼ suppressing"]
    if (frame.outcome == "no value").any():
        parts.append("× no value")
    if (frame.outcome == "below noise").any():
        parts.append("○ below 16-bit noise")
    if not frame.outcome.isin(["helps", "hurts"]).any():
        parts.append("no head is marked")
    return "&nbsp;&nbsp;&nbsp;".join(parts)


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
