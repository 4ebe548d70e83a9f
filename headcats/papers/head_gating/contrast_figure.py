"""Contrastive gates: the gate of every head, and what becomes of the texts to retain and to forget."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import pluralize
from headcats.figures.colours import ON_DARK, OUTLINE, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale, scale_over
from headcats.figures.panels.colour_scale import fixed_scale
from headcats.figures.panels.curves import band
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import layer_head_cells
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import hover
from headcats.figures.tables import head_rows, require

_GATES, _CURVES = "Gates", "Log-probability"
_VARIABLES: dict[str, tuple[str, ...]] = {
    "gate": ("seed", "layer", "head"),
    **dict.fromkeys(("retain", "forget"), ("seed", "when")),
    **dict.fromkeys(("retain_batch", "forget_batch"), ("seed", "update")),
}
# Kind -> symbol, dash, sign in the caption.
_LOOKS = {"retain": ("circle", "solid", "●"), "forget": ("square", "dash", "■")}
_SHUT = 0.5
_SIZE, _LEAST = (380, 340), (300, 220)  # pixels of a panel
_MARKERS, _TICKS = 10, 7  # of a curve, about; most of an axis


@figure
def gate_contrast(contrast: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """Which heads keep one kind of text and which the other kind needs, and the log-probability of both over the fit.

    First panel: x = layer, y = head, head 0 on top; from dark blue (gate 0) to yellow (1) the mean gate over seeds,
    hatched below .5: heads that only the texts to forget need. Second panel: x = update, y = mean log-probability of
    the targets in nats, of the batch before each update; solid with circles texts to retain, dashed with squares texts
    to forget, mean over seeds with their range in grey. Dotted lines with open symbols: held-out texts with all gates
    open.

    Args:
        contrast: What `hc.papers.head_gating.contrastive_gates` returns: `gate (seed, layer, head)` in [0, 1];
            `retain, forget (seed, when)` and `retain_batch, forget_batch (seed, update)` in nats.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per head, then one per kind of text and update: `panel, layer,
        head, name, gate` (mean over seeds), `least, most` (over seeds), `shut` (share of seeds with a gate below .5),
        `hatched, kind` ("retain", "forget"), `update, log_prob` (mean over seeds; `least, most` then are of it); where
        heads share keys and values also `kv_head`.

    Raises:
        DataError: a variable or dimension is missing.

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737, for contrastive gates; the figure is headcats' own.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> keep = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> drop = hc.methods.task_texts("plural", n_prompts=16, n_demos=0)
        >>> fit = hc.papers.head_gating.contrastive_gates(hc.load_model("mini"), keep, drop, preset=few, n_seeds=1)
        >>> fig = hc.figures.gate_contrast(fit)
        >>> hc.figures.data(fig).kind.value_counts().to_dict()
        {'retain': 5, 'forget': 5}
    """
    call = "hc.papers.head_gating.contrastive_gates(model, retain, forget)"
    require(contrast, _VARIABLES, figure="gate_contrast", table=call)
    heads, curves = _heads(contrast), _curves(contrast)
    cells = layer_head_cells(contrast, within=_SIZE, least=_LEAST)
    template = (
        "<b>%{name}</b><br>mean gate %{gate:.3f}<br>seeds %{least:.3f} to %{most:.3f}, below 0.5 in %{percent:.0f} %"
    )
    of_cells = [
        cells.heatmap(heads.assign(percent=100 * heads["shut"]), "gate", name=_GATES, template=template),
        cells.hatching(heads[heads["hatched"]], name="shut", ink=ON_DARK),
        cells.crosses(heads[heads["gate"].isna()]),
    ]
    measured = contrast["gate"].notnull().any("seed").sum()
    n_shut = int(heads["hatched"].sum())
    values = [curves["least"].min(), curves["most"].max(), *(float(contrast[kind].min()) for kind in _LOOKS)]
    y = scale_over(np.nanmin(values), np.nanmax(values), "log-probability (nats)", default=(-1.0, 0.1))
    panels = [
        Panel(_GATES, [cells.plot(of_cells)], notes=[f"{n_shut} of {int(measured)} heads below 0.5", ""]),
        Panel(_CURVES, [_plot(curves, contrast, y, cells.pixels)], notes=_notes(contrast)),
    ]
    frame = pd.concat([heads.assign(panel=_GATES), curves.assign(panel=_CURVES)], ignore_index=True)
    seeds = pluralize(contrast.sizes["seed"], "seed")
    caption = [f"gates, and lines: mean over {seeds}", "hatched: mean gate below 0.5"]
    caption += ["● texts to retain, solid", "■ texts to forget, dashed", "dotted, ○ □: held-out texts, all gates open"]
    beside = fixed_scale((0.0, 1.0), colours="Cividis", name="mean gate")
    return PanelGrid(panels, frame, title, caption, one_row=True, beside=beside)


def _heads(contrast: xr.Dataset) -> pd.DataFrame:
    gate = contrast["gate"].astype(float)
    shut = (gate < _SHUT).sum("seed") / gate.count("seed")
    columns = {"gate": gate.mean("seed"), "least": gate.min("seed"), "most": gate.max("seed"), "shut": shut}
    rows = head_rows(contrast, columns)
    return rows.assign(hatched=rows["gate"] < _SHUT)


def _curves(contrast: xr.Dataset) -> pd.DataFrame:
    parts = []
    for kind in _LOOKS:
        values = contrast[f"{kind}_batch"].transpose("seed", "update").to_numpy()
        columns = {"log_prob": values.mean(0), "least": values.min(0), "most": values.max(0)}
        parts.append(pd.DataFrame({"kind": kind, "update": contrast["update"].to_numpy()} | columns))
    return pd.concat(parts, ignore_index=True)


def _plot(curves: pd.DataFrame, contrast: xr.Dataset, y: Scale, size: tuple[int, int]) -> Plot:
    n = contrast.sizes["update"]
    # Before the first update stands nothing: cells are numbered from 0, and updates from 1.
    x = Axis("update", n + 1, "update", most=_TICKS)
    bands, lines, levels = [], [], []
    for kind, (symbol, dash, _) in _LOOKS.items():
        rows = curves[curves["kind"] == kind]
        updates = rows["update"].to_numpy()
        if contrast.sizes["seed"] > 1:
            ends = (rows[end].to_numpy() for end in ("least", "most"))
            bands.append(band(updates, *ends, name=f"seeds, {kind}", opacity=0.6))
        level = float(contrast[kind].sel(when="open").mean())
        levels.append(
            go.Scatter(
                x=[-0.5, n],
                y=[level] * 2,
                mode="lines+markers",
                line={"color": TEXT, "width": 1, "dash": "dot"},
                marker={"symbol": f"{symbol}-open", "size": [0, 8], "color": TEXT, "opacity": 1},
                name=f"open, {kind}",
                cliponaxis=False,
            )
        )
        shown = np.zeros(n)
        shown[:: max(1, round(n / _MARKERS))] = 8
        template = (
            f"<b>update %{{update}}</b>, texts to {kind}<br>log-probability %{{log_prob:.3f}} nats"
            "<br>seeds %{least:.3f} to %{most:.3f}"
        )
        lines.append(
            go.Scatter(
                x=updates,
                y=rows["log_prob"].to_numpy(),
                mode="lines+markers",
                line={"color": TEXT, "width": 1.6, "dash": dash},
                marker={"symbol": symbol, "size": shown, "color": OUTLINE, "opacity": 1}
                | {"line": {"color": TEXT, "width": 0.8}},
                name=f"texts to {kind}",
                **hover(template, rows, x="update", y="log_prob"),
            )
        )
    return Plot(x, y, size, [*bands, *levels, *lines])


def _notes(contrast: xr.Dataset) -> list[str]:
    """Held-out texts before and after, mean over seeds."""
    notes = []
    for kind, (*_, sign) in _LOOKS.items():
        opened, fitted = (float(contrast[kind].sel(when=when).mean()) for when in ("open", "fitted"))
        notes.append(f"{sign} {kind}, held out: {opened:.2f} open, {fitted:.2f} fitted")
    return notes
