"""Ways to see that an answer is wrong, side by side."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import DataError
from headcats.figures.colours import HATCH, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import MISSING, escaped, hover
from headcats.figures.tables import require

_TABLE = "hc.papers.token_probe.baselines(model, questions)"
_HEIGHT, _CELL = 280, 38  # pixels
# Kind -> symbol, and how the caption says it.
_SYMBOLS = {
    "probe": ("diamond", "◆ probe"),
    "answer": ("circle", "● tokens of the answer"),
    "exact": ("square", "■ tokens of the exact answer"),
    "asked": ("triangle-up", "▲ the model is asked"),
    "task": ("triangle-down", "▼ the task alone"),
}


@figure
def probe_baselines(detectors: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """AUC of the probe beside that of the answer's own probabilities, of asking the model, and of the task alone.

    y = AUC with its 95 % interval, one column per detector, all judged on the same held-out answers. Dotted lines:
    chance, and the probe. Symbols tell kinds of detectors apart. A detector that has no score for some answer, such as
    p(True) of a model that cannot be asked, is crossed.

    Args:
        detectors: `auc, low, high, gain, gain_low, gain_high (detector)`, as `hc.papers.token_probe.baselines` returns
            them.
        title: Written above the panel.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per detector: `detector`, `kind` ("probe", "answer", "exact",
        "asked", "task"), `auc, low, high`, and `gain, gain_low, gain_high` of the probe over it.

    Raises:
        DataError: a variable or dimension is missing, or no detector.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> names = ["probe", "log_prob_mean", "log_prob_mean_exact", "p_true", "task"]
        >>> auc = np.array([0.81, 0.64, 0.72, 0.6, 0.5])  # as hc.papers.token_probe.baselines returns it
        >>> parts = {"auc": auc, "low": auc - 0.05, "high": auc + 0.05}
        >>> parts |= {"gain": 0.81 - auc, "gain_low": 0.75 - auc, "gain_high": 0.87 - auc}
        >>> detectors = xr.Dataset({key: ("detector", part) for key, part in parts.items()}, {"detector": names})
        >>> fig = hc.figures.probe_baselines(detectors)
        >>> hc.figures.data(fig).kind.tolist()
        ['probe', 'answer', 'exact', 'asked', 'task']

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, the table of section 3.
    """
    variables = dict.fromkeys(("auc", "low", "high", "gain", "gain_low", "gain_high"), ("detector",))
    require(detectors, variables, figure="probe_baselines", table=_TABLE, counted=False)
    names = [str(name) for name in detectors["detector"].values] if "detector" in detectors.coords else []
    if not names or len(set(names)) < len(names):
        raise DataError(f"probe_baselines expects detectors with distinct names; got {names!r:.60}. Pass {_TABLE}.")
    frame = pd.DataFrame({"detector": names, "kind": [_kind(name) for name in names]})
    for column in variables:
        frame[column] = detectors[column].to_numpy().astype(float)
    x = Axis("detector", len(names), labels=names, slanted=True)
    lowest = float(np.nanmin([0.4, *(frame["low"] - 0.03)]))
    y = Scale(max(-0.02, lowest), 1.03, "ROC-AUC")
    traces = [_line(0.5, len(names), name="chance"), _probe_line(frame), *_intervals(frame), _missing(frame, y.low)]
    plot = Plot(x, y, (max(180, _CELL * len(names)), _HEIGHT), traces)
    return PanelGrid([Panel("", [plot])], frame, title, _caption(detectors, frame))


def _kind(name: str) -> str:
    if name in ("probe", "task"):
        return name
    if name.startswith("p_true"):
        return "asked"
    return "exact" if name.endswith("_exact") else "answer"


def _line(level: float, n: int, *, name: str) -> go.Scatter:
    line = {"color": HATCH, "width": 1, "dash": "dot"}
    return go.Scatter(x=[-0.5, n - 0.5], y=[level, level], mode="lines", line=line, name=name, hoverinfo="skip")


def _probe_line(frame: pd.DataFrame) -> go.Scatter | None:
    probe = frame.loc[frame["kind"] == "probe", "auc"]
    if not len(probe) or math.isnan(probe.iloc[0]):
        return None
    return _line(float(probe.iloc[0]), len(frame), name="level of the probe")


def _intervals(frame: pd.DataFrame) -> list[go.Scatter]:
    """The interval of every detector as a line, and its AUC as a symbol of its kind."""
    traces = []
    for kind, (symbol, _) in _SYMBOLS.items():
        rows = frame[(frame["kind"] == kind) & frame["auc"].notna()]
        if not len(rows):
            continue
        places = rows.index.to_numpy()
        xs, ys = np.repeat(places.astype(float), 3), rows[["low", "high", "auc"]].to_numpy().ravel()
        ys[2::3] = np.nan
        traces.append(
            go.Scatter(x=xs, y=ys, mode="lines", line={"color": TEXT, "width": 1.2}, name=kind, hoverinfo="skip")
        )
        template = (
            "<b>%{shown}</b><br>AUC %{auc:.3f} [%{low:.3f}, %{high:.3f}]<br>the probe gains %{gain:.3f} "
            "[%{gain_low:.3f}, %{gain_high:.3f}]"
        )
        marker = {"symbol": symbol, "size": 11 if kind == "probe" else 9, "color": TEXT}
        shown = rows.assign(shown=[escaped(name) for name in rows["detector"]])
        traces.append(
            go.Scatter(
                x=places, y=rows["auc"].to_numpy(), mode="markers", marker=marker, name=f"AUC, {kind}",
                cliponaxis=False, **hover(template, shown, y="auc"),
            )
        )  # fmt: skip
    return traces


def _missing(frame: pd.DataFrame, low: float) -> go.Scatter | None:
    rows = frame[frame["auc"].isna()]
    if not len(rows):
        return None
    marker = {"symbol": "x-thin", "size": 9, "color": HATCH, "line": {"color": HATCH, "width": 1}}
    levels = [low + 0.03] * len(rows)
    return go.Scatter(x=rows.index, y=levels, mode="markers", marker=marker, name=MISSING, hoverinfo="skip")


def _caption(detectors: xr.Dataset, frame: pd.DataFrame) -> list[str]:
    kinds = set(frame["kind"])
    parts = [text for kind, (_, text) in _SYMBOLS.items() if kind in kinds]
    if "layer" in detectors.coords and "role" in detectors.coords and not detectors["layer"].ndim:
        where = f"layer {int(detectors['layer'])}, {escaped(str(detectors['role'].item()))}"
        chosen = str(detectors.attrs.get("chosen_on", ""))
        parts[0] += f" at {where}" + (f", chosen on {chosen}" if chosen not in ("", "named") else "")
    if "n_test" in detectors and not detectors["n_test"].ndim:
        parts.append(f"{int(detectors['n_test'])} held-out answers")
    return [*parts, "lines: 95 % intervals", "dotted: chance, and the probe"]
