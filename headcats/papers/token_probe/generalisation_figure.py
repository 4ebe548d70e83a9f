"""Probes of one data set judged on another, and of kinds of error in several: a table of AUCs."""

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import DataError, UnknownNameError
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.figures.panels.colour_scale import ColourScale, fixed_scale, signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import MISSING, SMALL, escaped
from headcats.figures.tables import require
from headcats.registry import unknown_name_message

_TABLE = "hc.papers.token_probe.generalisation(model, datasets, at=(layer, role)), or error_type_probes(...)"
_CELL = (92, 42)  # pixels; holds "[0.55, 0.65]"
AUC, GAIN = "auc", "gain"
DETECTOR = "log_prob_mean_exact"


@figure
def generalisation_matrix(
    matrix: xr.Dataset, *, variable: str = AUC, detector: str = DETECTOR, title: str | None = None
) -> PanelGrid:
    """How well a probe of one data set does on every other: AUC in each cell, with its interval below.

    Row: the set to which the probe was fitted; column: the set on whose held-out answers it is judged, so that the
    diagonal is held out as well. Blues from 0.5 (and below) to 1.0. With `variable="gain"`, the AUC minus that of a
    detector that needs no training, such as the mean log-probability of the exact answer: blue = the probe gains, red =
    it loses, as in the paper's second panel. Bold: the interval excludes chance (0.5), or no gain (0).

    Also of kinds of error: row: the data set; column: the type that a probe tells from all others.

    Args:
        matrix: `auc, low, high (train, test)`, and for gains `gain, gain_low, gain_high (detector, train, test)`, as
            `hc.papers.token_probe.generalisation` returns them; or `auc, low, high (dataset, error_type)`, as
            `hc.papers.token_probe.error_type_probes` does.
        variable: "auc" or "gain".
        detector: What gains are measured against, of the coordinate `detector`.
        title: Written above the table.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per cell: `row` and `column` (names), `variable`, `detector` (""
        for AUCs), `value, low, high`, and `mark` ("above", "below", "neither", "no value").

    Raises:
        DataError: a variable or dimension is missing.
        UnknownNameError: another `variable` or `detector`.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> sets, cells = ["TriviaQA", "Math", "Movies"], ("train", "test")
        >>> auc = np.array([[0.82, 0.61, 0.78], [0.55, 0.93, 0.52], [0.76, 0.58, 0.84]])  # as generalisation() gives it
        >>> matrix = xr.Dataset(
        ...     {"auc": (cells, auc), "low": (cells, auc - 0.04), "high": (cells, auc + 0.04)},
        ...     {"train": sets, "test": sets},
        ... )
        >>> fig = hc.figures.generalisation_matrix(matrix)
        >>> numbers = hc.figures.data(fig)
        >>> numbers[numbers.mark == "neither"][["row", "column"]].values.tolist()
        [['Math', 'Movies']]

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707, the figure of section 4 and the table of
        section 5.
    """
    if variable not in (AUC, GAIN):
        raise UnknownNameError(unknown_name_message("variable of generalisation_matrix", variable, (AUC, GAIN)))
    of_types = isinstance(matrix, xr.Dataset) and "error_type" in matrix.dims
    dims = ("dataset", "error_type") if of_types else ("train", "test")
    needed: dict[str, tuple[str, ...]] = dict.fromkeys((AUC, "low", "high"), dims)
    if variable == GAIN:
        needed |= dict.fromkeys((GAIN, "gain_low", "gain_high"), ("detector", *dims))
    require(matrix, needed, figure="generalisation_matrix", table=_TABLE, counted=False)
    names = [[str(label) for label in matrix[dim].values] if dim in matrix.coords else [] for dim in dims]
    if not all(names) or any(len(set(labels)) < len(labels) for labels in names):
        raise DataError(f"generalisation_matrix expects distinct names along {' and '.join(dims)}. Pass {_TABLE}.")
    frame = _frame(matrix, dims, variable, detector)
    values = frame["value"].to_numpy()
    scale = signed_scale(values, name="AUC gained", quantile=1.0) if variable == GAIN else _auc_scale(values)
    rows, columns = names
    x, y = (
        Axis("column", len(columns), labels=columns, slanted=True),
        Axis("row", len(rows), labels=rows, reverse=True),
    )
    cells = Cells(x, y, _CELL)
    panel = Panel("", [_plot(cells, frame, scale, of_types=of_types)])
    return PanelGrid([panel], frame, title, _caption(matrix, frame, of_types=of_types), beside=scale, grey=True)


def _auc_scale(values: np.ndarray) -> ColourScale:
    clipped = (bool(np.nanmin(values, initial=1.0) < 0.5), False)
    return fixed_scale((0.5, 1.0), clipped=clipped, colours="Blues", name="ROC-AUC")


def _frame(matrix: xr.Dataset, dims: tuple[str, str], variable: str, detector: str) -> pd.DataFrame:
    table, sources = matrix, {"value": AUC, "low": "low", "high": "high"}
    if variable == GAIN:
        known = [str(name) for name in matrix["detector"].values]
        if detector not in known:
            raise UnknownNameError(unknown_name_message("detector", detector, known))
        table = matrix.isel(detector=known.index(detector))
        sources = {"value": GAIN, "low": "gain_low", "high": "gain_high"}
    chosen = xr.Dataset({column: table[name].reset_coords(drop=True) for column, name in sources.items()}).astype(float)
    frame = chosen.to_dataframe(dim_order=list(dims)).reset_index()
    frame = frame.rename(columns=dict(zip(dims, ("row", "column"), strict=True)))
    frame.insert(2, "variable", variable)
    frame.insert(3, "detector", detector if variable == GAIN else "")
    chance = 0.0 if variable == GAIN else 0.5
    states = [frame["value"].isna(), frame["low"] > chance, frame["high"] < chance]
    return frame.assign(mark=np.select(states, [MISSING, "above", "below"], "neither"))


def _plot(cells: Cells, frame: pd.DataFrame, scale: ColourScale, *, of_types: bool) -> Plot:
    known = frame[frame["mark"] != MISSING]
    first, second = ("", "probe of") if of_types else ("fitted to", "judged on")
    pairs = [f"{first} {escaped(r.row)}, {second} {escaped(r.column)}".strip() for r in frame.itertuples()]
    of = frame["variable"].iloc[0] if len(frame) else AUC
    label = "gain in AUC" if of == GAIN else "AUC"
    template = f"<b>%{{pair}}</b><br>{label} %{{value:.3f}} [%{{low:.3f}}, %{{high:.3f}}]"
    traces = [
        cells.heatmap(frame.assign(pair=pairs), "value", name=label, template=template),
        cells.texts(known, [_text(row) for row in known.itertuples()], scale.ink(known["value"]), name="numbers",
                    size=SMALL),
        cells.crosses(frame[frame["mark"] == MISSING]),
    ]  # fmt: skip
    return cells.plot(traces)


def _text(row: Any) -> str:
    sign = "+" if row.variable == GAIN else ""
    # Without the sign of a number that rounds to 0.
    value, low, high = (round(number, 2) + 0.0 for number in (row.value, row.low, row.high))
    value = f"{value:{sign}.2f}"
    bold = f"<b>{value}</b>" if row.mark in ("above", "below") else value
    return bold if math.isnan(low + high) else f"{bold}<br>[{low:.2f}, {high:.2f}]"


def _caption(matrix: xr.Dataset, frame: pd.DataFrame, *, of_types: bool) -> list[str]:
    chance = "0" if (frame["variable"] == GAIN).all() else "0.5"
    if of_types:
        parts = ["row: data set; column: type of error, which a probe tells from all others"]
    else:
        parts = ["row: the probe was fitted to; column: judged on held-out answers of"]
    if chance == "0":
        parts.append(f"AUC of the probe minus that of {escaped(frame['detector'].iloc[0])}")
    if "layer" in matrix.coords and "role" in matrix.coords and not matrix["layer"].ndim:
        parts.append(f"layer {int(matrix['layer'])}, {escaped(str(matrix['role'].item()))}")
    return [*parts, f"bold: the 95 % interval below it excludes {chance}"]
