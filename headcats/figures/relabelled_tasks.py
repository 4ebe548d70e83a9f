"""Statistics of the categories beside those that relabelled tasks give."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, pluralize
from headcats.figures.colours import HATCH, OUTLINE, TEXT, named_palette, suite_colours
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, scale_over
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import require

_VARIABLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("combined", "p", "verdict"), ("category",)),
    **dict.fromkeys(("maximum", "supported_in_turn"), ("relabelling",)),
}
_TITLE = "Alike effects and damage of its own, together"
_LEVEL = 0.95
RELABELLED = "relabelled"
_HEIGHT, _CELL = 260, 70  # pixels
_SPREAD = 0.38  # of the dots, in cells


@figure
def relabelled_tasks(relabelling: xr.Dataset, *, palette: str = "headcats", title: str | None = None) -> PanelGrid:
    """Statistic of every category, beside the largest ones that relabelled tasks have in any category.

    First column: a dot for every relabelling, at the largest statistic of any of its categories; dark where the
    procedure would have called one of them supported. Dotted line: 5 % of these lie above it. Then the true labels of
    each category, in its colour: filled where it is supported. `p` can exceed .05 above the dotted line, as it is
    counted also among labellings that go most with a property.

    Args:
        relabelling: As `hc.run_evidence(...)["relabelling"]` holds it, or `evidence/relabelling.nc` of a results
            folder: `combined, p, verdict (category)`, `maximum, supported_in_turn (relabelling)`. 1 to 8 categories,
            coloured by the attribute `categories`, or without it as in a suite.
        palette: As in `overlap_map`.
        title: Written above the panel.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per dot: `label` (the category, or "relabelled"), `statistic`,
        `p` (family-wise; NaN for relabelled tasks), `supported`.

    Raises:
        DataError: a variable or dimension is missing, or no category.
        UnknownNameError: unknown palette.

    Example:
        >>> import xarray as xr
        >>> import headcats as hc
        >>> relabelling = xr.load_dataset("results/mini-icl/evidence/relabelling.nc")
        >>> fig = hc.figures.relabelled_tasks(relabelling)
        >>> len(hc.figures.data(fig)) == relabelling.sizes["relabelling"] + relabelling.sizes["category"]
        True

    References:
        Westfall & Young (1993), Resampling-Based Multiple Testing, for the largest statistics; the figure is headcats'
        own.
    """
    node = 'hc.run_evidence(model, results)["relabelling"].to_dataset()'
    table = f'{node}, or xarray.load_dataset("DIR/evidence/relabelling.nc")'
    require(relabelling, _VARIABLES, figure="relabelled_tasks", table=table, counted=False)
    if not relabelling.sizes["category"]:
        raise DataError(f"relabelled_tasks expects at least one category; got none. Pass {table}.")
    colours = named_palette(palette, suite_colours(relabelling)).categories
    frame = _frame(relabelling.sel(category=list(colours)))
    x = Axis("place", 1 + len(colours), labels=[RELABELLED, *colours], slanted=True)
    y = scale_over(frame["statistic"].min(), frame["statistic"].max(), "statistic", default=(-1.0, 1.0))
    panel = Panel(_TITLE, [Plot(x, y, (_CELL * x.n, _HEIGHT), list(_traces(frame, colours)))])
    return PanelGrid([panel], frame, title, [*_caption(relabelling), *_left_out(frame)])


def _frame(relabelling: xr.Dataset) -> pd.DataFrame:
    drawn = {
        "label": RELABELLED,
        "statistic": relabelling["maximum"].to_numpy(),
        "p": math.nan,
        "supported": relabelling["supported_in_turn"],
    }
    observed = {
        "label": [str(name) for name in relabelling["category"].values],
        "statistic": relabelling["combined"].to_numpy(),
        "p": relabelling["p"].to_numpy(),
        "supported": (relabelling["verdict"] == "supported").to_numpy(),
    }
    return pd.concat(map(pd.DataFrame, (drawn, observed)), ignore_index=True).astype({"supported": bool})


def _traces(rows: pd.DataFrame, colours: dict[str, str]) -> Iterator[go.Scatter]:
    rows = rows[np.isfinite(rows["statistic"])]
    drawn, observed = rows[rows["label"] == RELABELLED], rows[rows["label"] != RELABELLED]
    if len(drawn):
        outcomes = "would have had a supported category", "no category would have been supported"
        template = "<b>relabelled tasks</b>, largest statistic %{statistic:.3f}<br>%{meaning}"
        shown = hover(template, drawn.assign(meaning=np.where(drawn["supported"], *outcomes)), y="statistic")
        marker = {"size": 5, "color": np.where(drawn["supported"], TEXT, OUTLINE)}
        places = np.linspace(-_SPREAD, _SPREAD, len(drawn))
        values = drawn["statistic"].to_numpy()
        yield go.Scatter(x=places, y=values, mode="markers", marker=marker, name="relabelled tasks", **shown)
        level = float(np.quantile(drawn["statistic"], _LEVEL))
        line = {"color": HATCH, "width": 1, "dash": "dot"}
        yield go.Scatter(x=[-0.5, len(colours) + 0.5], y=[level] * 2, mode="lines", line=line, name="5 % above")
    if len(observed):
        places = 1 + pd.Index(list(colours)).get_indexer(observed["label"])
        supported = observed["supported"].to_numpy()
        template = "<b>%{label}</b>, true labels<br>statistic %{statistic:.3f}, family-wise p %{p:.3g}"
        marker = {
            "size": 13,
            "symbol": np.where(supported, "diamond", "diamond-open"),
            # An open symbol is drawn in its colour alone, which may be faint on the page.
            "color": np.where(supported, observed["label"].map(colours), TEXT),
            "line": {"color": TEXT, "width": 1.5},
        }
        shown = hover(template, observed.assign(label=observed["label"].map(escaped)), y="statistic")
        values = observed["statistic"].to_numpy()
        yield go.Scatter(
            x=places, y=values, mode="markers", marker=marker, name="true labels", cliponaxis=False, **shown
        )


def _left_out(frame: pd.DataFrame) -> Iterator[str]:
    """Name relabellings and categories without a statistic."""
    counted = frame.loc[frame["statistic"].isna(), "label"].value_counts(sort=False)
    if len(counted):
        names = [pluralize(n, "relabelling") if label == RELABELLED else escaped(label) for label, n in counted.items()]
        yield f"without a statistic: {', '.join(names)}"


def _caption(relabelling: xr.Dataset) -> list[str]:
    n, turns = relabelling.sizes["relabelling"], int(relabelling["supported_in_turn"].sum())
    return [
        f"dots: largest statistic of any category in each of {n} relabellings of the tasks",
        "dotted: 5 % of them lie above",
        "◆ true labels, supported; ◇ not",
        f"dark dots: {turns} of {n} relabellings would have had a supported category",
    ]
