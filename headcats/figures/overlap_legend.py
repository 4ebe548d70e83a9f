"""The legend of the overlap map: what its colours, its hatch and its triangles mean."""

import html
from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import HATCH, Palette

UNCLASSIFIED = "Unclassified"
UNDECIDED = "Undecided"
SUPPRESSING = "Suppressing"


def legend_labels(colours: Palette) -> dict[str, str]:
    """Legend entry -> colour, from top to bottom: most categories first, then the categories from last to first."""
    counts = {f"{k} categories": colours.counts[k] for k in sorted(colours.counts, reverse=True)}
    single = {name: colours.categories[name] for name in reversed(colours.categories)}
    return {**counts, **single, UNCLASSIFIED: colours.unclassified}


def add_legend(fig: go.Figure, labels: dict[str, str], *, suppressed: bool, at: tuple[float, float]) -> None:
    """Add the legend beside the first panel, its upper left corner at a place in shares of the figure."""
    grey = labels[UNCLASSIFIED]
    hatched = {"shape": "/", "fgcolor": HATCH, "bgcolor": grey, "size": 5, "solidity": 0.2}
    swatches: dict[str, dict[str, Any]] = {name: {"color": colour} for name, colour in labels.items()}
    swatches[UNDECIDED] = {"color": grey, "pattern": hatched}
    for name, marker in swatches.items():
        shown = html.escape(name, quote=False)
        fig.add_trace(go.Bar(x=[None], y=[None], name=shown, marker=marker, showlegend=True, hoverinfo="skip"))
    if suppressed:
        marker = {"symbol": "triangle-down", "size": 9, "color": "black"}
        fig.add_trace(go.Scatter(x=[None], y=[None], mode="markers", name=SUPPRESSING, marker=marker, hoverinfo="skip"))
    fig.update_layout(
        legend={
            "x": at[0],
            "y": at[1],
            "xanchor": "left",
            "yanchor": "top",
            "traceorder": "normal",
            "font": {"size": 12},
            "borderwidth": 0,
            # The entries explain colours; nothing would be hidden by clicking them.
            "itemclick": False,
            "itemdoubleclick": False,
        }
    )
