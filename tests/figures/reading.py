"""Traces, axes and texts of a figure."""

from typing import Any

import plotly.graph_objects as go


def traces(fig: go.Figure, name: str) -> list[Any]:
    return [trace for trace in fig.data if trace.name == name]


def cells(fig: go.Figure) -> list[go.Heatmap | go.Image]:
    """Traces of a number for every head or layer, without a square that explains their colours."""
    return [trace for trace in fig.data if trace.type in ("heatmap", "image") and trace.name != "colours"]


def axes(fig: go.Figure, letter: str) -> list[Any]:
    """Axes of panels in their order, without those of a square of colours."""
    keys = sorted((key for key in fig.layout if key.startswith(f"{letter}axis")), key=lambda key: int(key[5:] or 1))
    return [fig.layout[key] for key in keys if not fig.layout[key].ticktext or "0.5" not in fig.layout[key].ticktext]


def ticks(fig: go.Figure, letter: str) -> set[tuple[int, ...]]:
    return {tuple(axis.tickvals) for axis in axes(fig, letter)}


def heatmaps(fig: go.Figure) -> list[go.Heatmap]:
    return [trace for trace in fig.data if trace.type == "heatmap"]


def texts_of(fig: go.Figure) -> list[str]:
    """Caption, names of panels and their notes, with usual blanks."""
    return [note.text.replace("&nbsp;", " ") for note in fig.layout.annotations]


def caption(fig: go.Figure) -> str:
    return " ".join(texts_of(fig))
