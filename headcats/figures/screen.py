"""How figures say that the effects they show are estimates of a screen, not exact."""

import html

import pandas as pd
import xarray as xr

from headcats.scores import screen_label


def screen_title(title: str | None, table: xr.Dataset) -> str | None:
    """The title, which says so first where it does not say so itself; unchanged for exact effects."""
    label = screen_label(table)
    if not label or (title and label in title):
        return title
    # First: the end of a long title may not fit above a small figure.
    said = html.escape(f"{label[0].upper()}{label[1:]}", quote=False)
    return f"{said}: {title}" if title else said


def screen_hover(table: xr.Dataset) -> str:
    """A line for a hover template; "" for exact effects."""
    label = screen_label(table)
    return f"<br>{html.escape(label, quote=False)}: estimated" if label else ""


def with_approximation(frame: pd.DataFrame, table: xr.Dataset) -> pd.DataFrame:
    """The numbers behind a figure, with a column `approximation` where they are estimates."""
    kind = table.attrs.get("approximation")
    return frame.assign(approximation=kind) if kind else frame
