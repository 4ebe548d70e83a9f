"""An empty figure on which axes and texts are placed in pixels.

The plotting area is the whole figure (no margins), so a place in pixels is a place in paper units and nothing moves
when a font or a title changes.
"""

import plotly.graph_objects as go

from headcats.figures.colours import BACKGROUND, NO_VALUE, OUTLINE, QUIET_TEXT, TEXT
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.text import EDGE, MEDIUM, TITLE

_TITLE_TOP = 12


class Canvas:
    """A plotly figure of a size in pixels, places counted from its top left corner."""

    def __init__(self, width: int, height: int, *, title: str | None = None, grey: bool = False) -> None:
        """Make it; `title` stands at the top left, `grey` panels show where nothing is drawn on them."""
        self.width, self.height = width, height
        self.fig = go.Figure()
        self._n_axes = 0
        self.fig.update_layout(
            template="none",
            width=width,
            height=height,
            # An invisible margin of 0 and no automatic growth: pixel places stay where they were computed.
            margin={"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
            font={"family": "Arial, Helvetica, sans-serif", "size": MEDIUM, "color": TEXT},
            paper_bgcolor=BACKGROUND,
            plot_bgcolor=NO_VALUE if grey else BACKGROUND,
            modebar={"orientation": "h", "remove": ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"]},
            hoverlabel={"bgcolor": BACKGROUND, "bordercolor": OUTLINE, "font": {"color": TEXT}, "align": "left"},
        )
        if title is not None:
            x, y = self.at(EDGE, _TITLE_TOP)
            place = {"x": x, "xanchor": "left", "y": y, "yanchor": "top"}
            self.fig.update_layout(title={"text": title, "font": {"size": TITLE}, **place})

    def at(self, left: int, top: int) -> tuple[float, float]:
        """Paper x and y (0 to 1, from the bottom left) of a place in pixels."""
        return left / self.width, 1 - top / self.height

    def add_axes(
        self,
        corner: tuple[int, int],
        size: tuple[int, int],
        *,
        x: Axis,
        y: Axis | Scale,
        named: tuple[bool, bool] = (True, True),
    ) -> dict[str, str]:
        """Add two axes, named or not, over a rectangle; returns the trace keywords `xaxis` and `yaxis`."""
        self._n_axes += 1
        number = "" if self._n_axes == 1 else str(self._n_axes)
        (left, top), (right, bottom) = self.at(*corner), self.at(corner[0] + size[0], corner[1] + size[1])
        across, upwards = x.layout(named=named[0]), y.layout(named=named[1])
        self.fig.layout[f"xaxis{number}"] = across | {"domain": [left, right], "anchor": f"y{number}"}
        self.fig.layout[f"yaxis{number}"] = upwards | {"domain": [bottom, top], "anchor": f"x{number}"}
        return {"xaxis": f"x{number}", "yaxis": f"y{number}"}

    def write(
        self, text: str, *, at: tuple[int, int], size: int = MEDIUM, anchor: str = "left", quiet: bool = False
    ) -> None:
        """Write one line of HTML whose top (left, centre or right) is at that place."""
        x, y = self.at(*at)
        font = {"size": size, "color": QUIET_TEXT if quiet else TEXT}
        place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": anchor, "yanchor": "top"}
        self.fig.add_annotation(place, text=text, showarrow=False, align="left", borderpad=0, font=font)
