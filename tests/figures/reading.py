"""Traces and texts of a figure."""

from typing import Any

import plotly.graph_objects as go


def traces(fig: go.Figure, name: str) -> list[Any]:
    return [trace for trace in fig.data if trace.name == name]


def heatmaps(fig: go.Figure) -> list[go.Heatmap]:
    return [trace for trace in fig.data if trace.type == "heatmap"]


def texts_of(fig: go.Figure) -> list[str]:
    """Caption, names of panels and their notes, with usual blanks."""
    return [note.text.replace("&nbsp;", " ") for note in fig.layout.annotations]


def caption(fig: go.Figure) -> str:
    return " ".join(texts_of(fig))
