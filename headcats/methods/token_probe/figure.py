"""Layer x token role: where a probe sees that an answer is wrong, what patching does there, where attention goes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import OptionError, UnknownNameError
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import MISSING, escaped
from headcats.figures.tables import n_cells, panel_names, pick_variable
from headcats.methods.token_probe.figure_caption import EXACT, caption, title_of
from headcats.methods.token_probe.figure_scale import QUANTITIES, quantity_scale
from headcats.registry import unknown_name_message

PANELS = ("representation", "task", "category", "function", "method")
TICKS = 2
# The same quantity of labels that say nothing.
_CONTROLS = {"auc": "shuffled", "within_task": "shuffled_within"}
_SIZE = (440, 420)  # pixels of a panel, about
# Mark -> symbol, size in shares of a cell and in pixels at least.
_SYMBOLS = {"above": ("circle", 0.28, 2.5), "below": ("triangle-down", 0.36, 3.0)}


@figure
def layer_token(
    token_map: xr.Dataset,
    *,
    variable: str | None = None,
    highlight: Sequence[str] | None = None,
    title: str | None = None,
) -> PanelGrid:
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
    name, row = pick_variable(
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
    frames = _frames(token_map, name, row, inside)
    frame = pd.concat(frames, ignore_index=True)
    scale = quantity_scale(frame["value"].to_numpy(), QUANTITIES[name])
    layers = n_cells(token_map, "layer")
    # Wide enough for a slanted name, the map neither flat nor endless.
    width, height = max(16, min(40, _SIZE[0] // len(roles))), max(4, min(26, _SIZE[1] // layers))
    size = max(width, math.ceil(100 / len(roles))), max(height, math.ceil(80 / layers))
    x = Axis("role", len(roles), "Token", labels=roles, slanted=True)
    cells = Cells(x, Axis("layer", layers, "Layer", reverse=True).every(TICKS, size[1]), size)
    places = [roles.index(role) for role in inside]
    panels = [
        Panel(str(panel_rows["panel"].iloc[0]), [_plot(cells, panel_rows, scale, places)], notes=[_largest(panel_rows)])
        for panel_rows in frames
    ]
    title = title_of(token_map, name) if title is None else title
    return PanelGrid(panels, frame, title, caption(token_map, frame, name, inside=inside), beside=scale, grey=True)


def _inside(token_map: xr.Dataset, roles: list[str], highlight: Sequence[str] | None) -> list[str]:
    if highlight is None:
        stored = str(token_map.attrs.get("exact_roles", "")).splitlines()
        return [role for role in roles if (role in stored if stored else role.startswith(EXACT))]
    highlight = [highlight] if isinstance(highlight, str) else highlight
    for role in highlight:
        if role not in roles:
            raise UnknownNameError(unknown_name_message("token role", str(role), roles))
    return [role for role in roles if role in highlight]


def _frames(token_map: xr.Dataset, name: str, row: str | None, inside: list[str]) -> list[pd.DataFrame]:
    quantity = QUANTITIES[name]
    columns = {"value": name}
    if quantity.interval and set(quantity.interval) <= set(token_map.data_vars):
        columns |= dict(zip(("low", "high"), quantity.interval, strict=True))
    columns |= {"within_task": "within_task"} if name == "auc" and "within_task" in token_map else {}
    columns |= {"shuffled": _CONTROLS[name]} if _CONTROLS.get(name) in token_map else {}
    table = token_map[list(columns.values())].reset_coords(drop=True)
    if "seed" in table.dims:
        table = table.mean("seed")
    if row is None:
        row, table = "panel", table.expand_dims(panel=[""])
    labels = [str(label) for label in table[row].values]
    frames = []
    for panel in panel_names(table[name], row, categories=token_map.attrs.get("categories"), figure="layer_token"):
        panel_rows = table.isel({row: labels.index(panel)}).transpose("layer", "role")
        rows = pd.DataFrame({"panel": panel, "layer": np.repeat(panel_rows["layer"].values, panel_rows.sizes["role"])})
        rows["role"] = np.tile(panel_rows["role"].values.astype(str), panel_rows.sizes["layer"])
        rows["variable"] = name
        for column in dict.fromkeys(("value", "low", "high", *columns)):
            rows[column] = panel_rows[columns[column]].to_numpy().ravel().astype(float) if column in columns else np.nan
        above, below = rows["low"] > quantity.chance, rows["high"] < quantity.chance
        rows["mark"] = np.select([rows["value"].isna(), above, below], [MISSING, "above", "below"], "neither")
        rows["highlighted"] = rows["role"].isin(inside)
        rows["largest"] = rows.index == (rows["value"].idxmax() if rows["value"].notna().any() else -1)
        frames.append(rows)
    return frames


def _plot(cells: Cells, here: pd.DataFrame, scale: ColourScale, inside: list[int]) -> Plot:
    name, panel = str(here["variable"].iloc[0]).replace("_", " "), str(here["panel"].iloc[0])
    controls = "".join(
        f"<br>{column.replace('_', ' ')} %{{{column}:.3f}}" for column in ("within_task", "shuffled") if column in here
    )
    interval = " [%{low:.3f}, %{high:.3f}]" if here["low"].notna().any() else ""
    template = f"<b>layer %{{layer}}, %{{token}}</b> {escaped(panel)}<br>{name} %{{value:.3f}}{interval}{controls}"
    pointed = here.assign(token=here["role"].map(escaped))
    traces = [cells.heatmap(pointed, "value", name=panel, template=template)]
    for mark, (symbol, share, least) in _SYMBOLS.items():
        marked = here[here["mark"] == mark]
        ink = scale.ink(marked["value"])
        traces.append(cells.symbols(marked, name=mark, symbol=symbol, share=share, least=least, colour=ink))
    best = here[here["largest"]]
    ring: dict[str, Any] = {"symbol": "circle-open", "share": 0.7, "least": 8, "line": {"width": 1.6}}
    traces.append(cells.symbols(best, name="largest", colour=scale.ink(best["value"]), **ring))
    traces.append(cells.crosses(here[here["mark"] == MISSING]))
    runs = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1)
    traces += [cells.box(int(run[0]), int(run[-1]), name="exact answer") for run in runs if len(run)]
    return Plot(cells.x, cells.y, cells.pixels, traces)


def _largest(here: pd.DataFrame) -> str:
    for cell in here[here["largest"]].itertuples():
        interval = "" if math.isnan(cell.low) else f" [{cell.low:.3f}, {cell.high:.3f}]"
        return f"largest: {cell.value:.3f}{interval}, layer {cell.layer}, {escaped(cell.role)}"
    return "no value"
