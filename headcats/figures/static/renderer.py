"""Static pictures beside interactive figures in notebooks, for those who see the notebook elsewhere."""

import sys
from typing import Any
from weakref import WeakValueDictionary

import plotly.graph_objects as go
import plotly.io as pio
from plotly.io.base_renderers import MimetypeRenderer

from headcats.figures.panels.interactive import drawing_of
from headcats.figures.panels.layout import Drawing
from headcats.figures.static.svg import svg_of

NAME = "headcats_static"
# By what plotly writes of the figure, which is all that a renderer gets: one that was changed is not found.
_DRAWN: "WeakValueDictionary[int, Drawing]" = WeakValueDictionary()


class StaticRenderer(MimetypeRenderer):
    """Adds the picture to what a notebook stores; one with plotly's extension shows the interactive figure."""

    def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, str]:
        """Add the picture of a figure that `hc.figures` drew; {} for any other, and for one that was changed since."""
        drawing = _DRAWN.get(_key(fig_dict))
        picture = None if drawing is None else svg_of(drawing)
        return {} if picture is None else {"image/svg+xml": picture}


def show_pictures() -> None:
    """Add the pictures to what plotly shows in a notebook by default; elsewhere do nothing."""
    if "ipykernel" not in sys.modules or NAME in pio.renderers:
        return
    pio.renderers[NAME] = StaticRenderer()
    default = str(pio.renderers.default or "")
    if default:
        pio.renderers.default = f"{default}+{NAME}"


def keep_drawing(fig: go.Figure) -> None:
    """Keep what a figure was drawn from for as long as the figure lives, so that its picture is found."""
    if (drawing := drawing_of(fig)) is not None:
        _DRAWN[_key(fig)] = drawing


def _key(fig: go.Figure | dict[str, Any]) -> int:
    return hash(pio.to_json(fig, validate=False))
