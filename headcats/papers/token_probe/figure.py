"""Layer x token role: where a probe sees that an answer is wrong, and what a patch does there."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import OptionError, pluralize
from headcats.figures.colours import FRAME
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import ColourScale, signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import LAYERS_ACROSS, PAPER, check_layout, for_publication
from headcats.figures.panels.layout import MARKED, Panel, Plot
from headcats.figures.panels.text import MISSING, escaped
from headcats.figures.tables import n_cells
from headcats.papers.panels import fixed_scale, panel_names, pick_variable
from headcats.papers.token_probe.settings import EXACT_ROLES, LAST_Q
from headcats.papers.token_probe.summary import coincidences, explained_prompt_roles, probe_name

PANELS = ("representation", "task", "category", "function", "method")
TICKS = 2
_SIZE, _ROLE = (440, 420), 22  # pixels of a panel, about, and of a token where layers are across
# Mark -> symbol, size in shares of a cell and in pixels at least.
_SYMBOLS = {"above": ("circle", 0.28, 2.5), "below": ("triangle-down", 0.36, 3.0)}
EXACT = "exact_answer_"


@dataclass(frozen=True)
class Quantity:
    """Presentation of a variable."""

    label: str
    """Along the colour bar."""
    title: str
    """Title of a map without another one."""
    scale: str
    """"auc": Blues from .5 to 1; "signed": red below 0, blue above."""
    interval: tuple[str, str] = ("", "")
    """Variables that hold its interval."""
    control: str = ""
    """Variable that holds the same for shuffled labels."""

    @property
    def chance(self) -> float:
        """Value that its interval is compared with."""
        return 0.5 if self.scale == "auc" else 0.0


_PROBE = "Probe for wrong answers"
_WITHIN, _SHUFFLED = ("within_low", "within_high"), ("shuffled_low", "shuffled_high")
QUANTITIES = {
    "auc": Quantity("ROC-AUC", _PROBE, "auc", ("low", "high"), "shuffled"),
    "within_task": Quantity("ROC-AUC within tasks", f"{_PROBE}, within tasks", "auc", _WITHIN, "shuffled_within"),
    "shuffled": Quantity("ROC-AUC, shuffled labels", f"{_PROBE}, shuffled labels", "auc", _SHUFFLED),
    "effect": Quantity("effect (share of the gap)", "Effect of patching", "signed", ("low", "high")),
}


@figure
def layer_token(
    token_map: xr.Dataset,
    *,
    variable: str | None = None,
    layout: str = LAYERS_ACROSS,
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """A quantity at every layer and token role, with a black rectangle around the exact answer.

    x = layer, y = token, by its role, from the question downwards; as in the paper x = Token, y = Layer, layer 0 on
    top. There the roles are named above the map, and every second layer is numbered (every one of up to 16), where the
    authors' code leaves both to seaborn. AUCs: Blues from 0.5 (and below) to 1.0. Effects of patches: one signed scale,
    blue = helps, red = hurts, as far as the largest of them. Dots mark cells whose interval lies above chance (.5 for
    AUCs, 0 for effects), triangles those below it, a ring the largest value, which the line above the map names. As in
    the paper, the rectangle includes the tokens before and after the exact answer.
    The caption explains it and the roles.

    Args:
        token_map: `auc (layer, role)` with `low, high`, as `hc.methods.token_probe` returns it; or `effect` with `low,
            high`: the first of these. With one further dimension (`representation`, `task`, `category`,
            `function`, `method`): one panel each. Roles stand in their order.
        variable: Another variable: `"within_task"` or `"shuffled"` (also AUCs).
        layout: `"layers"`: layer along x, as in other figures; `"paper"`: tokens along x.
        marks: `"all"`, or `"none"` for colours and the rectangle alone, and nothing below the title; with
            `layout="paper"` a copy for publication, with ticks every 2 at any size. **There colour is the only cue.**
        title: Written above the map; by default what it shows, of which task and model, or nothing without marks.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel, layer and role: `panel, layer, role, variable, value,
        low, high` (NaN without an interval), `mark` ("above", "below", "neither", "no value"), `highlighted, largest`,
        and `within_task`, `shuffled` if the probe has them.

    Raises:
        DataError: no such variable over layer and role.
        OptionError: another `variable`.
        UnknownNameError: another word for `layout` or `marks`.

    References:
        Layout after Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707.

    Example:
        >>> import headcats as hc
        >>> import xarray as xr
        >>> roles = ["last_q", "exact_answer_first", "exact_answer_last"]
        >>> auc = [[0.5, 0.6, 0.7], [0.55, 0.8, 0.9]]  # as hc.methods.token_probe returns it
        >>> token_map = xr.Dataset({"auc": (("layer", "role"), auc)}, {"layer": [0, 1], "role": roles})
        >>> fig = hc.figures.layer_token(token_map)
        >>> numbers = hc.figures.data(fig)
        >>> numbers[numbers.largest][["layer", "role", "value"]].values.tolist()
        [[1, 'exact_answer_last', 0.9]]
    """
    if variable is not None and variable not in QUANTITIES:
        raise OptionError(f"layer_token shows one of {', '.join(QUANTITIES)}; got variable={variable!r}.")
    check_layout(layout)
    name, row = pick_variable(
        token_map,
        (variable,) if variable else ("auc", "effect"),
        grid=("layer", "role"),
        rows=PANELS,
        figure="layer_token",
        table='hc.suite_blocks(results)["token_probe"]',
    )
    roles = [str(role) for role in token_map["role"].values]
    stored = str(token_map.attrs.get("exact_roles", "")).splitlines()
    inside = [role for role in roles if (role in stored if stored else role.startswith(EXACT))]
    frames = _frames(token_map, name, row, inside)
    frame = pd.concat(frames, ignore_index=True)
    scale = _scale(frame["value"].to_numpy(), QUANTITIES[name])
    layers = n_cells(token_map, "layer")
    cells = _layer_role_cells(layers, roles) if layout == LAYERS_ACROSS else _role_layer_cells(layers, roles, marks)
    places = [roles.index(role) for role in inside]
    panels = [
        Panel(str(rows["panel"].iloc[0]), [_plot(cells, rows, scale, places)], notes=[_note(rows)]) for rows in frames
    ]
    title = map_title(token_map, name) if title is None and marks == MARKED else title
    below = caption(token_map, frame, name, inside=inside)
    return PanelGrid(panels, frame, title, below, beside=scale, grey=True, marks=marks)


def _layer_role_cells(layers: int, roles: Sequence[str]) -> Cells:
    width = max(5, min(30, _SIZE[0] // layers), math.ceil(100 / layers))
    y = Axis("role", len(roles), "token", labels=roles, reverse=True)
    return Cells(Axis("layer", layers, "layer").numbered(width), y, (width, _ROLE))


def _role_layer_cells(layers: int, roles: Sequence[str], marks: str) -> Cells:
    """Cells as in the paper, wide enough for a slanted name, the map neither flat nor endless."""
    width, height = max(16, min(40, _SIZE[0] // len(roles))), max(4, min(26, _SIZE[1] // layers))
    size = max(width, math.ceil(100 / len(roles))), max(height, math.ceil(80 / layers))
    x = Axis("role", len(roles), "Token", labels=roles, slanted=True)
    y = Axis("layer", layers, "Layer", reverse=True)
    y = y.every(TICKS, size[1], few=0) if for_publication(PAPER, marks) else y.every(TICKS, size[1])
    return Cells(x, y, size)


def _scale(values: np.ndarray, quantity: Quantity) -> ColourScale:
    if quantity.scale == "auc":
        clipped = (bool(np.nanmin(values, initial=1.0) < 0.5), False)
        return fixed_scale((0.5, 1.0), clipped=clipped, colours="Blues", name=quantity.label)
    # Not clipped: a few cells of such a map hold nearly all of the effect.
    return signed_scale(values, name=quantity.label, quantile=1.0)


def _frames(token_map: xr.Dataset, name: str, row: str | None, inside: list[str]) -> list[pd.DataFrame]:
    quantity = QUANTITIES[name]
    low, high = quantity.interval
    sources = {"value": name, "low": low, "high": high, "shuffled": quantity.control}
    sources["within_task"] = "within_task" if name == "auc" else ""
    table = xr.Dataset({column: token_map[source] for column, source in sources.items() if source in token_map})
    table = table.reset_coords(drop=True).astype(float)
    if "seed" in table.dims:
        table = table.mean("seed")
    if row is None:
        row, table = "panel", table.expand_dims(panel=[""])
    labels = [str(label) for label in table[row].values]
    controls = [column for column in ("within_task", "shuffled") if column in table]
    columns = ["panel", "layer", "role", "variable", "value", "low", "high", *controls]
    frames = []
    for panel in panel_names(table.assign_attrs(token_map.attrs), row, figure="layer_token"):
        cells = table.isel({row: labels.index(panel)}, drop=True).to_dataframe(dim_order=["layer", "role"])
        rows = cells.reset_index().assign(panel=panel, variable=name).reindex(columns=columns)
        above, below = rows["low"] > quantity.chance, rows["high"] < quantity.chance
        rows["mark"] = np.select([rows["value"].isna(), above, below], [MISSING, "above", "below"], "neither")
        rows["highlighted"] = rows["role"].isin(inside)
        rows["largest"] = rows["value"].rank(ascending=False, method="first") == 1
        frames.append(rows)
    return frames


def _plot(cells: Cells, rows: pd.DataFrame, scale: ColourScale, inside: list[int]) -> Plot:
    name, panel = str(rows["variable"].iloc[0]).replace("_", " "), str(rows["panel"].iloc[0])
    controls = "".join(
        f"<br>{column.replace('_', ' ')} %{{{column}:.3f}}" for column in ("within_task", "shuffled") if column in rows
    )
    interval = " [%{low:.3f}, %{high:.3f}]" if rows["low"].notna().any() else ""
    template = f"<b>layer %{{layer}}, %{{token}}</b> {escaped(panel)}<br>{name} %{{value:.3f}}{interval}{controls}"
    pointed = rows.assign(token=rows["role"].map(escaped))
    traces = [cells.heatmap(pointed, "value", name=panel, template=template)]
    for mark, (symbol, share, least) in _SYMBOLS.items():
        marked = rows[rows["mark"] == mark]
        ink = scale.ink(marked["value"])
        traces.append(cells.symbols(marked, name=mark, symbol=symbol, share=share, least=least, colour=ink))
    best = rows[rows["largest"]]
    ring: dict[str, Any] = {"symbol": "circle-open", "share": 0.7, "least": 8, "line": {"width": 1.6}}
    traces.append(cells.symbols(best, name="largest", colour=scale.ink(best["value"]), **ring))
    traces.append(cells.crosses(rows[rows["mark"] == MISSING]))
    runs = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1)
    traces += [_box(cells, int(run[0]), int(run[-1])) for run in runs if len(run)]
    return cells.plot(traces)


def _box(cells: Cells, first: int, last: int) -> go.Scatter:
    """Rectangle around the neighbouring roles of an exact answer; drawn over the edge of the panel, not cut at it."""
    (left, right), (top, bottom) = (
        (first - 0.5, last + 0.5) if axis.column == "role" else (-0.5, axis.n - 0.5) for axis in (cells.x, cells.y)
    )
    xs, ys = [left, right, right, left, left], [top, top, bottom, bottom, top]
    line = {"color": FRAME, "width": 2.5}
    return go.Scatter(x=xs, y=ys, mode="lines", line=line, name="exact answer", cliponaxis=False)


def _note(rows: pd.DataFrame) -> str:
    for cell in rows[rows["largest"]].itertuples():
        interval = "" if math.isnan(cell.low) else f" [{cell.low:.3f}, {cell.high:.3f}]"
        return f"largest: {cell.value:.3f}{interval}, layer {cell.layer}, {escaped(cell.role)}"
    return "no value"


def map_title(token_map: xr.Dataset, name: str) -> str:
    """Title of a map: its variable, what was patched, task and model, as far as the table says so."""
    patched = str(token_map.attrs.get("quantity", "")) if name == "effect" else ""
    task, model = (str(token_map.attrs.get(key, "")) for key in ("task", "model"))
    parts = [QUANTITIES[name].title + (f" ({patched})" if patched else ""), task, f"model {model}" if model else ""]
    return escaped(", ".join(filter(None, parts)))


def caption(token_map: xr.Dataset, frame: pd.DataFrame, name: str, *, inside: Sequence[str]) -> list[str]:
    """Parts of the caption of `layer_token`, whose numbers are in `frame`, with the roles `inside` the rectangle."""
    quantity, roles = QUANTITIES[name], [str(role) for role in token_map["role"].values]
    parts = []
    if "n" in token_map and not token_map["n"].ndim:
        n = int(token_map["n"])
        wrong = f"{pluralize(n, 'answer')}, {int(token_map['n_wrong'])} wrong" if "n_wrong" in token_map else ""
        parts.append(wrong or pluralize(n, "prompt"))
    if quantity.scale == "auc":
        parts.append("AUC: how well a probe tells wrong answers from right ones (0.5 not at all, 1 always)")
    if name == "auc" and "task_baseline" in token_map and not math.isnan(baseline := float(token_map["task_baseline"])):
        ends = [float(token_map[f"task_baseline_{end}"]) for end in ("low", "high") if "task_baseline_low" in token_map]
        parts.append(
            f"knowing the task alone: AUC {baseline:.3f}" + (" [{:.3f}, {:.3f}]".format(*ends) if ends else "")
        )
    if "shuffled" in frame and frame["shuffled"].notna().any():
        parts.append(f"shuffled labels: AUC {frame['shuffled'].min():.3f} to {frame['shuffled'].max():.3f}")
    for mark, symbol in (("above", "●"), ("below", "▼")):
        if (frame["mark"] == mark).any():
            parts.append(f"{symbol} interval {mark} {quantity.chance:g}")
    neighbours = {EXACT_ROLES[0]: "the token before it", EXACT_ROLES[-1]: "the token after it"}
    beside = [phrase for role, phrase in neighbours.items() if role in inside]
    boxed = "exact answer" + (f" with {' and '.join(beside)}" if beside else "")
    parts += ["○ largest"] + ([f"rectangle: {boxed}"] if inside else [])
    parts += [f"{LAST_Q}: last token of the question"] if LAST_Q in roles else []
    if from_the_end := [role for role in roles if re.fullmatch(r"-[1-9]\d*", role)]:
        span = " … ".join(dict.fromkeys((from_the_end[0], from_the_end[-1])))
        parts.append(f"{span}: tokens counted from the end of the text, -1 is the last")
    parts += [*explained_prompt_roles(roles), *coincidences(token_map, at_most=3)]
    failed = set(str(token_map.attrs.get("not_converged", "")).splitlines())
    empty = frame[frame["value"].isna()] if quantity.scale == "auc" else frame[:0]
    names = {probe_name(row.layer, row.role, shuffled=name == "shuffled") for row in empty.itertuples()}
    if failed & names:
        cells = f"{len(failed & names)} of {pluralize(len(frame), 'cell')}"
        parts.append(f"× no value: in {cells} because the probe did not converge")
    return parts
