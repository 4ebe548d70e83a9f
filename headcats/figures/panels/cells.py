"""Unit cells of a panel, such as layers and heads, and the marks on them. Colour is never the only cue."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Shaped

from headcats.figures.colours import BACKGROUND, EDGE, EDGE_OF_DARK, HATCH, MARK, QUIET_TEXT, edge_on, ink_on
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.curves import broken_lines, hatch_lines
from headcats.figures.panels.layout import Plot
from headcats.figures.panels.text import MISSING, escaped, hover

TINY = 6  # pixels below which a symbol no longer fits into its cell
_FINE = 10  # pixels of a cell below which edges are thinner than a pixel
_WITH_GAPS = 16
"""Most cells in a row between which there are gaps: those between more are read as a texture."""
_NAN = np.float32(np.nan)


@dataclass(frozen=True)
class Cells:
    """Cells of a panel; every method takes a frame with one row per cell and returns a trace (or None)."""

    x: Axis
    y: Axis
    size: tuple[float, float]
    """Width and height of a cell in pixels."""

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height of the panel."""
        return round(self.size[0] * self.x.length), round(self.size[1] * self.y.length)

    @property
    def smallest(self) -> float:
        """Shorter side of a cell."""
        return min(self.size)

    @property
    def gap(self) -> int:
        """Pixels between two cells."""
        if self.smallest < TINY or max(self.x.n, self.y.n) > _WITH_GAPS:
            return 0
        return 1 if self.smallest < 24 else 2

    def plot(self, traces: Sequence[go.Heatmap | go.Image | go.Scatter | None]) -> Plot:
        """Traces over these cells, with gaps between groups of columns."""
        return Plot(self.x, self.y, self.pixels, [*traces, self._gaps_between_groups()])

    def _gaps_between_groups(self) -> go.Scatter | None:
        ends = np.cumsum([n for _, n in self.x.groups])[:-1] - 0.5
        if not len(ends):
            return None
        xs, ys = broken_lines((ends, -0.5), (ends, self.y.n - 0.5))
        return _lines(xs, ys, name="between groups of columns", line={"color": BACKGROUND, "width": 4})

    def places(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Row (y) and column (x) of each row's cell."""
        rows, columns = (
            frame[axis.column].map(list(map(str, axis.labels)).index) if axis.labels else frame[axis.column]
            for axis in (self.y, self.x)
        )
        return rows.to_numpy(dtype=int), columns.to_numpy(dtype=int)

    def grid(self, frame: pd.DataFrame, values: Any, *, fill: Any = _NAN) -> Shaped[np.ndarray, "y x ..."]:
        """Values, one per row of the frame, on all cells; `fill` where the frame has no row.

        A heatmap stretches its cells over missing coordinates; on the full grid every cell is one layer wide.
        """
        values = np.asarray(values)
        kind = object if isinstance(fill, str) else np.asarray(fill).dtype
        filled = np.full((self.y.n, self.x.n, *values.shape[1:]), fill, dtype=kind)
        filled[self.places(frame)] = values
        return filled

    def heatmap(
        self, frame: pd.DataFrame, column: str, *, name: str, template: str, colours: Mapping[str, str] | None = None
    ) -> go.Heatmap:
        """Cells in the colours of the figure's colour scale, or, for names, in those of `colours`; blank for NaN or "".

        `template` is what the pointer shows, as `hover` takes it.
        """
        values = frame[column]
        scale: dict[str, Any] = {"coloraxis": "coloraxis"}
        if colours is not None:
            n = len(colours)
            values = pd.Series(pd.Index(list(colours)).get_indexer(values), frame.index).replace(-1, np.nan)
            steps = [(end / n, colour) for i, colour in enumerate(colours.values()) for end in (i, i + 1)]
            scale = {"zmin": -0.5, "zmax": n - 0.5, "colorscale": steps, "showscale": False}
        return go.Heatmap(
            z=self.grid(frame, values), x0=0, dx=1, y0=0, dy=1, xgap=self.gap, ygap=self.gap, hoverongaps=False,
            name=name, **scale, **self.pointer(frame, template, z=column),
        )  # fmt: skip

    def symbols(
        self,
        frame: pd.DataFrame,
        *,
        name: str,
        symbol: str,
        share: float,
        least: float = 3.0,
        most: float = 16.0,
        colour: Any = MARK,
        **marker: Any,
    ) -> go.Scatter | None:
        """Symbol on every cell of the frame, with more of plotly's `marker`; `colour` is one, or one per row.

        Its size is a share of the cell's shorter side, from `least` to `most` pixels.
        """
        if not len(frame):
            return None
        rows, columns = self.places(frame)
        marker |= {"symbol": symbol, "size": min(most, max(least, share * self.smallest)), "color": colour}
        return go.Scatter(x=columns, y=rows, mode="markers", marker=marker, name=name)

    def crosses(self, frame: pd.DataFrame) -> go.Scatter | None:
        """Thin cross on cells without a number, which the caption then explains; a grey panel makes them grey."""
        line = {"color": QUIET_TEXT, "width": 1}
        return self.symbols(frame, name=MISSING, symbol="x-thin", share=0.4, colour=QUIET_TEXT, line=line)

    def hatching(self, frame: pd.DataFrame, *, name: str, ink: str = HATCH) -> go.Scatter:
        """Diagonal lines on every cell of the frame; faint in the ink of coloured cells (`ink_on`)."""
        mask = self.grid(frame, np.ones(len(frame), dtype=bool), fill=np.bool_(False))
        # Hatching runs downwards.
        xs, ys = hatch_lines(mask if self.y.reverse else mask[::-1], cell=self.size)
        ys = ys if self.y.reverse else self.y.n - 1 - ys
        large = self.smallest >= TINY
        line = {"color": ink, "width": 1 if large else 0.5}
        opacity = 1.0 if ink == HATCH else 0.45 if large else 0.3
        return _lines(xs, ys, name=name, line=line, opacity=opacity)

    def letters(self, frame: pd.DataFrame, letters: Mapping[str, str]) -> go.Scatter | None:
        """Letters on every cell whose `label` has some, in black or white on its `colour`."""
        marked = frame[frame["label"].isin(list(letters))]
        texts = [escaped(letters[label]) for label in marked["label"]]
        size = min(14, max(10, int(0.55 * self.smallest)))
        return self.texts(marked, texts, [*map(ink_on, marked["colour"])], name="letters", size=size)

    def texts(
        self,
        frame: pd.DataFrame,
        texts: Any,
        colours: Any,
        *,
        name: str,
        size: int,
        halo: str = "",
        right: Any = 0,
        down: float = 0,
    ) -> go.Scatter | None:
        """HTML on every cell of the frame, with a line of the colour `halo` around each letter.

        `right` and `down` are shares of a cell from its middle.
        """
        if not len(frame):
            return None
        rows, columns = self.places(frame)
        font = {"size": size, "color": colours}
        if halo:
            font["shadow"] = ", ".join(f"{x}px {y}px 1px {halo}" for x in (-1, 0, 1) for y in (-1, 0, 1))
        return go.Scatter(x=columns + right, y=rows + down, mode="text", text=texts, textfont=font, name=name)

    def areas(
        self, frame: pd.DataFrame, colour: str, *, name: str, start: Any = 0.0, stop: Any = 1.0
    ) -> go.Scatter | None:
        """Coloured cells with an edge, each from a share `start` of its width to `stop`."""
        # Thin where a wider line would cover small areas.
        line: dict[str, Any] = {"color": edge_on(colour), "width": 1.0 if self.smallest >= _FINE else 0.6}
        return self.rectangles(frame, line, name=name, colour=colour, start=start, stop=stop, inset=line["width"] / 2)

    def edges(self, frame: pd.DataFrame, *, name: str) -> list[go.Scatter | None]:
        """Edge around every cell of the frame, for its `colour`; none where cells have no room for it."""
        if self.smallest < TINY:
            return []
        edges = frame["colour"].map({colour: edge_on(colour) for colour in set(frame["colour"])})
        return [
            self.rectangles(frame[edges == edge], {"color": edge, "width": 1.0}, name=name, inset=0.5)
            for edge in (EDGE, EDGE_OF_DARK)
        ]

    def rectangles(
        self,
        frame: pd.DataFrame,
        line: Mapping[str, Any],
        *,
        name: str,
        colour: str = "",
        start: Any = 0.0,
        stop: Any = 1.0,
        inset: float = 0.0,
    ) -> go.Scatter | None:
        """Rectangle on every cell of the frame, from a share `start` of its width to `stop`.

        `line` is plotly's, `colour` inside it; `inset` are pixels between the middle of the line and the edge of its
        cell, beside the gap of cells.
        """
        if not len(frame):
            return None
        area = {"fill": "toself", "fillcolor": colour} if colour else {}
        rows, columns = self.places(frame)
        # All in one path: a trace of thousands of rectangles is drawn as fast as one.
        margin = (self.gap / 2 + inset) / np.array(self.size)
        left, right = (columns - 0.5 + margin[0] + (1 - 2 * margin[0]) * np.asarray(share) for share in (start, stop))
        top, bottom = rows - 0.5 + margin[1], rows + 0.5 - margin[1]
        xs, ys = broken_lines((left, top), (right, top), (right, bottom), (left, bottom), (left, top)).astype(
            np.float32
        )
        return _lines(xs, ys, name=name, line=dict(line), **area)

    def pointer(self, frame: pd.DataFrame, template: str, **axes: str) -> dict[str, Any]:
        """Show values at the pointer on all cells, as `hover` does; `axes` name other columns that plotly has."""
        axes |= {side: axis.column for side, axis in (("x", self.x), ("y", self.y)) if not axis.labels}
        hover_values = hover(template, frame, **axes)
        for key, fill in (("text", ""), ("hovertext", ""), ("customdata", _NAN)):
            if key in hover_values:
                hover_values[key] = self.grid(frame, hover_values[key], fill=fill)
        return hover_values


def square_cells(
    x: Axis, y: Axis, *, within: tuple[int, int], least: tuple[int, int], unit: float = 1
) -> tuple[float, float]:
    """Width and height of square cells, 3 to 60 units of so many pixels; longer where panels would be below `least`."""
    side = max(3 * unit, min(60, within[0] / x.length // unit * unit, within[1] / y.length // unit * unit))
    return max(side, math.ceil(least[0] / x.n / unit) * unit), max(side, math.ceil(least[1] / y.n / unit) * unit)


def _lines(xs: Any, ys: Any, *, name: str, line: dict[str, Any], **more: Any) -> go.Scatter:
    return go.Scatter(x=xs, y=ys, mode="lines", line=line, name=name, **more)
