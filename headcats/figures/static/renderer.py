"""Static pictures beside interactive figures in notebooks, for those who see the notebook elsewhere."""

import sys
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
from plotly.io.base_renderers import MimetypeRenderer

from headcats.figures.static.svg import svg

NAME = "headcats_static"


class StaticRenderer(MimetypeRenderer):
    """Adds the picture to what a notebook stores; one with plotly's extension shows the interactive figure."""

    def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, str]:
        """As plotly asks it of a renderer; {} for a figure that headcats cannot draw."""
        picture = svg(go.Figure(fig_dict, skip_invalid=True))
        return {} if picture is None else {"image/svg+xml": picture}


def show_pictures() -> None:
    """In a notebook, add the pictures to what plotly shows there by default; elsewhere do nothing."""
    if "ipykernel" not in sys.modules or NAME in pio.renderers:
        return
    pio.renderers[NAME] = StaticRenderer()
    default = str(pio.renderers.default or "")
    if default:
        pio.renderers.default = f"{default}+{NAME}"
