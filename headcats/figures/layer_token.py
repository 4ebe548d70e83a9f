"""Layer x token role: where a probe sees that an answer is wrong, what patching does there, where attention goes."""

import html
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import OptionError, UnknownNameError
from headcats.figures.axes import Axis, Canvas, add_axes, add_text, ticks_every
from headcats.figures.cells import chosen, n_cells
from headcats.figures.colours import FRAME, ON_DARK, ON_LIGHT
from headcats.figures.figure import figure
from headcats.figures.layer_token_caption import EXACT, caption, title_of
from headcats.figures.layer_token_scale import QUANTITIES, quantity_colour_axis
from headcats.figures.marks import add_crosses, add_symbols, heatmap
from headcats.figures.panel_order import panel_names
from headcats.figures.placing import WIDEST, below_caption, captioned_figure, even_columns, folded, in_rows, title_width
from headcats.registry import unknown_name_message

PANELS = ("representation", "task", "category", "function", "method")
TICKS = 2
# The same quantity of labels that say nothing.
_CONTROLS = {"auc": "shuffled", "within_task": "shuffled_within"}

_SIZE = (440, 420)  # pixels of a panel, about
_LEFT, _RIGHT, _BOTTOM, _BAR = 62, 26, 12, 96
_BETWEEN, _NAME, _LABELS = 56, 40, 0.74  # the last: height of a letter's width at 45 degrees
_ROLE_LETTER = 6.4
_CAPTION = 760  # pixels that keep the caption to a few lines above a small map


@figure
def layer_token(
    token_map: xr.Dataset,
    *,
    variable: str | None = None,
    highlight: Sequence[str] | None = None,
    title: str | None = None,
) -> tuple[go.Figure, pd.DataFrame]:
    """A quantity of every layer at every token role, a black rectangle around the exact answer.

    x = Token, its roles named above the map; y = Layer, layer 0 on top, ticks every 2, as in the paper (on every
    layer of up to 16, whose numbers have room).
    AUCs: Blues from 0.5 (and below) to 1.0. Effects of patches: one signed scale, blue = helps, red = hurts, as far as
    the largest of them. Attention: Blues from 0, clipped at the 99th percentile, with "+" behind the last tick where
    values lie beyond. Dots mark cells whose interval lies above chance (.5 for AUCs, 0 for effects), triangles below
    it; a ring the largest value of the map, which the line above it names. The rectangle holds, as in the paper, the
    token before the exact answer and the one after it, too; the caption says what it holds, and what roles mean.

    Args:
        token_map: `auc (layer, role)` with `low, high`, as `hc.methods.token_probe` returns it; or `effect` with `low,
            high`; or `attention`: the first that is there. With one further dimension (`representation`, `task`,
            `category`, `function`, `method`): one panel each. Roles stand in their order.
        variable: Another of the dataset's variables: `"within_task"` or `"shuffled"` (AUCs, too).
        highlight: Roles inside the rectangle (or one of them); if not given, those of the attribute `exact_roles` (one
            per line), or without it those whose names begin with `exact_answer_`. Roles that are not neighbours get
            several.
        title: Written above the map; if none is given, what the map shows, and of which task and model.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel, layer and role: `panel, layer, role, variable, value,
        low, high` (NaN without an interval), `mark` ("above", "below", "neither", "no value"), `highlighted, largest`,
        and `within_task`, `shuffled` where the probe has them.

    Raises:
        DataError: no such variable over layer and role.
        OptionError: another `variable`.
        UnknownNameError: a highlighted role that the map does not have.

    References:
        Layout after Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707.

    Example:
        >>> import headcats as hc
        >>> import xarray as xr
        >>> roles = ["last_q", "exact_answer_first", "exact_answer_last"]
        >>> auc = [[0.5, 0.6, 0.7], [0.55, 0.8, 0.9]]  # as hc.methods.token_probe returns it
        >>> token_map = xr.Dataset({"auc": (("layer", "role"), auc)}, {"layer": [0, 1], "role": roles})
        >>> numbers = hc.figures.data(hc.figures.layer_token(token_map))
        >>> numbers[numbers.largest][["layer", "role", "value"]].values.tolist()
        [[1, 'exact_answer_last', 0.9]]
    """
    if variable is not None and variable not in QUANTITIES:
        raise OptionError(f"layer_token shows one of {', '.join(QUANTITIES)}; got variable={variable!r}.")
    names = (variable,) if variable else ("auc", "effect", "attention")
    name, row = chosen(
        token_map,
        names,
        grid=("layer", "role"),
        rows=PANELS,
        figure="layer_token",
        source="hc.methods.token_probe",
        table='hc.suite_blocks(results)["token_probe"]',
    )
    roles = [str(role) for role in token_map["role"].values]
    inside = _inside(token_map, roles, highlight)
    frame = _frame(token_map, name, row, inside)
    title = title_of(token_map, name) if title is None else title
    return _draw(token_map, frame, name, roles, inside, title=title), frame


def _inside(token_map: xr.Dataset, roles: list[str], highlight: Sequence[str] | None) -> list[str]:
    if highlight is None:
        stored = str(token_map.attrs.get("exact_roles", "")).splitlines()
        return [role for role in roles if (role in stored if stored else role.startswith(EXACT))]
    highlight = [highlight] if isinstance(highlight, str) else highlight
    for role in highlight:
        if role not in roles:
            raise UnknownNameError(unknown_name_message("token role", str(role), roles))
    return [role for role in roles if role in highlight]


def _frame(token_map: xr.Dataset, name: str, row: str | None, inside: list[str]) -> pd.DataFrame:
    quantity = QUANTITIES[name]
    ends = quantity.interval if quantity.interval and set(quantity.interval) <= set(token_map.data_vars) else None
    columns = {"value": name, **dict(zip(("low", "high"), ends or (), strict=False))}
    columns |= {"within_task": "within_task"} if name == "auc" and "within_task" in token_map else {}
    columns |= {"shuffled": _CONTROLS[name]} if _CONTROLS.get(name) in token_map else {}
    table = token_map[list(columns.values())].reset_coords(drop=True)
    if "seed" in table.dims:
        table = table.mean("seed")
    if row is None:
        row, table = "panel", table.expand_dims(panel=[""])
    panels = []
    for panel in panel_names(table[name], row, categories=token_map.attrs.get("categories"), figure="layer_token"):
        here = table.isel({row: [str(label) for label in table[row].values].index(panel)}).transpose("layer", "role")
        one = pd.DataFrame({"panel": panel, "layer": np.repeat(here["layer"].values, here.sizes["role"])})
        one["role"] = np.tile(here["role"].values.astype(str), here.sizes["layer"])
        one["variable"] = name
        for column in ("value", "low", "high", *list(columns)[3 if ends else 1 :]):
            known = column in columns
            one[column] = here[columns[column]].to_numpy().ravel().astype(float) if known else np.nan
        above, below = one["low"] > quantity.chance, one["high"] < quantity.chance
        one["mark"] = np.select([one["value"].isna(), above, below], ["no value", "above", "below"], "neither")
        one["highlighted"] = one["role"].isin(inside)
        one["largest"] = one.index == (one["value"].idxmax() if one["value"].notna().any() else -1)
        panels.append(one)
    return pd.concat(panels, ignore_index=True)


def _draw(
    token_map: xr.Dataset, frame: pd.DataFrame, name: str, roles: list[str], inside: list[str], *, title: str
) -> go.Figure:
    n_layers, panels = n_cells(token_map, "layer"), list(dict.fromkeys(frame["panel"]))
    cell = _cell(len(roles), n_layers)
    size = (cell[0] * len(roles), cell[1] * n_layers)
    labels = math.ceil(_ROLE_LETTER * _LABELS * max(map(len, roles))) + 16
    # The last names lean over the right edge of their panel.
    widths = [math.ceil(_ROLE_LETTER * _LABELS * len(role)) for role in roles]
    lean = max(0, *(width - (len(roles) - i - 1) * cell[0] for i, width in enumerate(widths)))
    named = any(panels)
    above_panel = labels + 20 + (22 if named else 0)
    step = (max(size[0] + max(_BETWEEN, lean + 46), 260), above_panel + size[1] + _NAME)
    columns = even_columns(len(panels), at_most=max(1, (WIDEST - _LEFT - _BAR - _RIGHT) // step[0]))
    n_rows = math.ceil(len(panels) / columns)

    right = _LEFT + (columns - 1) * step[0] + size[0]
    width = max(right + max(22, lean + 6) + _BAR + _RIGHT, _CAPTION, title_width(title))
    lines = folded(caption(token_map, frame, name, inside=inside), width=width - 32)
    top = below_caption(title, lines)
    bar = max((n_rows - 1) * step[1] + size[1], 120)
    height = max(top + n_rows * step[1], top + above_panel + bar + 16) + _BOTTOM
    canvas = Canvas(width=width, height=height)

    fig = captioned_figure(canvas, title=title, lines=lines)
    spots = in_rows(len(panels), columns=columns, size=size, step=step, at=(_LEFT, top + above_panel))
    at = (canvas.x(right + max(22, lean + 6)), canvas.y(spots[0].panel.top))
    scale, middle = quantity_colour_axis(frame["value"].to_numpy(), QUANTITIES[name], at=at, length=bar)
    fig.update_layout(coloraxis=scale)
    for name_of_panel, spot in zip(panels, spots, strict=True):
        panel, here = spot.panel, frame[frame["panel"] == name_of_panel]
        across = Axis(len(roles), "", range(len(roles)), labels=_escaped(roles), side="top", angle=-45)
        down = Axis(
            n_layers, "Layer" if spot.outer[1] else "", ticks_every(TICKS, n_layers, cell=cell[1]), reverse=True
        )
        axes = add_axes(fig, panel, canvas=canvas, x=across, y=down)
        centre = panel.left + size[0] // 2
        if named:
            text = html.escape(name_of_panel, quote=False)
            add_text(fig, text, canvas=canvas, at=(panel.left, panel.top - above_panel + 2), size=14)
        add_text(fig, _largest(here), canvas=canvas, at=(panel.left, panel.top - labels - 18), size=11, quiet=True)
        add_text(fig, "Token", canvas=canvas, at=(centre, panel.top + size[1] + 6), anchor="center")
        _add_panel(fig, here, roles, n_layers, cell=cell, middle=middle, axes=axes)
        _add_rectangles(fig, [roles.index(role) for role in inside], n_layers, axes=axes)
    return fig


def _cell(n_roles: int, n_layers: int) -> tuple[int, int]:
    """Width and height of a cell in pixels: wide enough for a slanted name, the map neither flat nor endless."""
    width, height = max(16, min(40, _SIZE[0] // n_roles)), max(4, min(26, _SIZE[1] // n_layers))
    return max(width, math.ceil(100 / n_roles)), max(height, math.ceil(80 / n_layers))


def _add_panel(
    fig: go.Figure,
    here: pd.DataFrame,
    roles: list[str],
    n_layers: int,
    *,
    cell: tuple[int, int],
    middle: tuple[float, float],
    axes: dict[str, str],
) -> None:
    values = _grid(here, "value", roles, n_layers)
    name, panel = str(here["variable"].iloc[0]).replace("_", " "), html.escape(str(here["panel"].iloc[0]), quote=False)
    others = [column for column in ("low", "high", "within_task", "shuffled") if column in here]
    interval = " [%{customdata[0]:.3f}, %{customdata[1]:.3f}]" if here["low"].notna().any() else ""
    more = "".join(f"<br>{n.replace('_', ' ')} %{{customdata[{i}]:.3f}}" for i, n in enumerate(others) if i > 1)
    fig.add_trace(
        heatmap(
            values,
            cell=cell,
            text=np.tile(np.array(_escaped(roles), dtype=object), (n_layers, 1)),
            customdata=np.stack([_grid(here, column, roles, n_layers) for column in others], axis=-1),
            hovertemplate=f"<b>layer %{{y}}, %{{text}}</b> {panel}<br>{name} %{{z:.3f}}{interval}{more}<extra></extra>",
            name=str(here["panel"].iloc[0]),
            axes=axes,
        )
    )
    marked = here.assign(**{mark: here["mark"] == mark for mark in ("above", "below")})
    sizes = {
        "above": ("circle", 0.28, 2.5),
        "below": ("triangle-down", 0.36, 3.0),
        "largest": ("circle-open", 0.7, 8.0),
    }
    for mark, (symbol, share, least) in sizes.items():
        where = _grid(marked, mark, roles, n_layers) == 1
        light = (values[where] >= middle[0]) & (values[where] <= middle[1])
        size = min(16.0, max(least, share * min(cell)))
        marker = {"symbol": symbol, "size": size, "color": np.where(light, ON_LIGHT, ON_DARK), "line": {"width": 1.6}}
        if mark != "largest":
            del marker["line"]
        add_symbols(fig, where, name=mark, marker=marker, axes=axes)
    add_crosses(fig, np.isnan(values), cell=cell, axes=axes)


def _add_rectangles(fig: go.Figure, inside: list[int], n_layers: int, *, axes: dict[str, str]) -> None:
    """Black lines around neighbouring columns; drawn over the edge of the panel, not cut at it."""
    runs = [run for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if len(run)]
    for run in runs:
        left, right, bottom = run[0] - 0.5, run[-1] + 0.5, n_layers - 0.5
        fig.add_trace(
            go.Scatter(
                x=[left, right, right, left, left],
                y=[-0.5, -0.5, bottom, bottom, -0.5],
                mode="lines",
                line={"color": FRAME, "width": 2.5},
                cliponaxis=False,
                hoverinfo="skip",
                showlegend=False,
                name="exact answer",
                **axes,
            )
        )


def _grid(frame: pd.DataFrame, column: str, roles: list[str], n_layers: int) -> np.ndarray:
    wide = frame.pivot(index="layer", columns="role", values=column)
    return wide.reindex(index=range(n_layers), columns=roles).to_numpy(dtype=np.float32)


def _largest(here: pd.DataFrame) -> str:
    best = here[here["largest"]]
    if not len(best):
        return "no value"
    one = best.iloc[0]
    interval = "" if np.isnan(one["low"]) else f" [{one['low']:.3f}, {one['high']:.3f}]"
    return f"largest: {one['value']:.3f}{interval}, layer {one['layer']}, {html.escape(one['role'], quote=False)}"


def _escaped(roles: Sequence[str]) -> list[str]:
    return [html.escape(role, quote=False) for role in roles]
