"""The legend of the overlap map: what its colours, its hatch and its triangles mean."""

import html
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from headcats.figures.cell_letters import category_letters, with_letter
from headcats.figures.colours import HATCH, MARK, Palette

UNCLASSIFIED = "Unclassified"
UNDECIDED = "Undecided"
SUPPRESSING = "Suppressing"


def legend_labels(colours: Palette) -> dict[str, str]:
    """Legend entry -> colour, from top to bottom: most categories first, then the categories from last to first."""
    counts = {f"{k} categories": colours.counts[k] for k in sorted(colours.counts, reverse=True)}
    single = {name: colours.categories[name] for name in reversed(colours.categories)}
    return {**counts, **single, UNCLASSIFIED: colours.unclassified}


def legend_letters(colours: Palette) -> dict[str, str]:
    """Legend entry of a colour -> what is written on cells of that colour: a category's letter, or a number of them."""
    return {f"{k} categories": str(k) for k in colours.counts} | category_letters(list(colours.categories))


def add_legend(
    fig: go.Figure, labels: dict[str, str], *, letters: Mapping[str, str], suppressed: bool, at: tuple[float, float]
) -> None:
    """Add the legend beside the first panel.

    Args:
        fig: Changed in place.
        labels: Entry -> colour, from top to bottom.
        letters: Entry -> what is written on its cells; empty where nothing is.
        suppressed: Whether triangles are explained, too.
        at: The upper left corner in shares of the figure.
    """
    grey = labels[UNCLASSIFIED]
    hatched = {"shape": "/", "fgcolor": HATCH, "bgcolor": grey, "size": 5, "solidity": 0.2}
    swatches: dict[str, dict[str, Any]] = {name: {"color": colour} for name, colour in labels.items()}
    swatches[UNDECIDED] = {"color": grey, "pattern": hatched}
    for name, marker in swatches.items():
        shown = with_letter(name, letters[name]) if name in letters else html.escape(name, quote=False)
        fig.add_trace(go.Bar(x=[None], y=[None], name=shown, marker=marker, showlegend=True, hoverinfo="skip"))
    if suppressed:
        marker = {"symbol": "triangle-down", "size": 9, "color": MARK}
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
