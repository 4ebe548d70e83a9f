"""Elements of SVG: texts, marks, rectangles; and numbers as colours of a scale."""

import html
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.colors
from jaxtyping import Float, UInt8

from headcats.figures.panels.text import text_width
from headcats.results.categories import as_hex

_TAG = re.compile(r"(</?\w+[^>]*>)")
_BREAK = re.compile(r"<br\s*/?>")
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_LINE, _BASELINE = 1.3, 0.95  # in shares of the size, as plotly sets lines
_MINUS = 0.15  # what a minus sign takes beyond other letters, in shares of the size: .03 in Arial, .29 in DejaVu
_HATCH = 5.0  # pixels between the lines of hatching
# Corners in shares of the radius, as plotly draws them.
_POLYGONS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle-down": ((-1.15, -0.5), (1.15, -0.5), (0, 1)),
    "triangle-up": ((-1.15, 0.5), (1.15, 0.5), (0, -1)),
    "cross": (
        (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4),
        (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
    ),
}  # fmt: skip
_LINES = {"x-thin": (((-1, -1), (1, 1)), ((-1, 1), (1, -1))), "line-ew": (((-1.4, 0), (1.4, 0)),)}


def text_svg(
    text: str,
    at: tuple[float, float],
    *,
    size: float,
    colour: str,
    anchor: str = "left",
    valign: str = "top",
    angle: float = 0,
    shadow: str | None = None,
) -> str:
    """Element with a line for each line of HTML, as plotly reads it: `<b>` and `<br>`; other tags are left out.

    Its left, "center" or "right" (`anchor`) and its top, "middle" or "bottom" (`valign`) are `at` a place in pixels,
    around which it turns by an `angle` in degrees clockwise. The `shadow` of its letters is CSS.
    """
    lines = _BREAK.split(text)
    x, y = at
    height = _LINE * size
    up = {"top": 0.0, "middle": height * len(lines) / 2, "bottom": height * len(lines)}[valign]
    first = y - up + _BASELINE * size
    turn = f' transform="rotate({angle:g} {x:.2f} {y:.2f})"' if angle else ""
    spans = "".join(
        f'<tspan x="{x:.2f}" y="{first + place * height:.2f}">{"".join(_spans(line))}</tspan>'
        for place, line in enumerate(lines)
    )
    around = f' style="text-shadow:{shadow}"' if shadow else ""
    look = f'font-size="{size:g}" fill="{colour}" text-anchor="{_ANCHORS[anchor]}"{turn}{around} xml:space="preserve"'
    return f"<text {look}>{spans}</text>"


def _spans(line: str) -> Iterator[str]:
    bold = False
    for piece in _TAG.split(line):
        if piece in ("<b>", "</b>"):
            bold = piece == "<b>"
        elif piece and not _TAG.fullmatch(piece):
            content = html.escape(html.unescape(piece), quote=False)
            yield f'<tspan font-weight="bold">{content}</tspan>' if bold else content


def label_width(label: str, size: int) -> float:
    """Pixels that the label of a tick takes."""
    return text_width(label, size) + _MINUS * size * label.count("−")


def plain_text(text: str) -> str:
    """HTML as the text that is read."""
    return html.unescape(_TAG.sub("", _BREAK.sub(" ", text)))


def mark_svg(symbol: str, at: tuple[float, float], size: float) -> str:
    """Path of a plotly symbol of that diameter around a place; a circle for symbols without a shape here."""
    (x, y), radius, name = at, size / 2, _shape(symbol)
    if name in _LINES:
        return "".join(
            f"M{x + radius * x0:.2f} {y + radius * y0:.2f}L{x + radius * x1:.2f} {y + radius * y1:.2f}"
            for (x0, y0), (x1, y1) in _LINES[name]
        )
    if name in _POLYGONS:
        return "M" + "L".join(f"{x + radius * px:.2f} {y + radius * py:.2f}" for px, py in _POLYGONS[name]) + "Z"
    half = f"a{radius:.2f} {radius:.2f} 0 1 0"
    return f"M{x - radius:.2f} {y:.2f}{half}{size:.2f} 0{half}-{size:.2f} 0"


def mark_look(symbol: str, *, colour: str, edge: str, width: float) -> str:
    """Attributes of the path of a mark: `edge` is drawn around it where its `width` is above 0."""
    if _shape(symbol) in _LINES:
        return f'stroke="{edge if width else colour}" stroke-width="{width or 1:g}"'
    if symbol.endswith("-open"):
        return f'fill="none" stroke="{colour}" stroke-width="{width or 1:g}"'
    return f'fill="{colour}"' + (f' stroke="{edge}" stroke-width="{width:g}"' if width else "")


def _shape(symbol: str) -> str:
    return symbol.removesuffix("-dot").removesuffix("-open")


def corners_svg(left: float, top: float, width: float, height: float) -> str:
    """Attributes of a rectangle."""
    return f'x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}"'


def area_svg(
    corners: tuple[float, float, float, float], colour: str, ink: str, edge: str | None = None, width: float | None = 0
) -> str:
    """Rectangle (left, top, width, height) with hatching in that `ink` and an edge, where it has them."""
    left, top, wide, high = corners
    line = f' stroke="{edge}" stroke-width="{width:g}"' if width else ""
    area = f'<rect {corners_svg(*corners)} fill="{colour}"{line}/>'
    if not ink:
        return area
    path = ""
    for start in np.arange(_HATCH, wide + high, _HATCH):
        x0, y0 = max(0.0, start - high), min(high, start)
        x1, y1 = min(wide, start), max(0.0, start - wide)
        path += f"M{left + x0:.2f} {top + y0:.2f}L{left + x1:.2f} {top + y1:.2f}"
    return f'{area}<path d="{path}" stroke="{ink}"/>' if path else area


def scale_colours(
    values: Float[np.ndarray, "*shape"], scale: Any, ends: tuple[float, float]
) -> UInt8[np.ndarray, "*shape rgba"]:
    """Colours of numbers on a scale (its name, or stops from 0 to 1) between two `ends`; NaN is transparent."""
    stops = plotly.colors.get_colorscale(scale) if isinstance(scale, str) else scale
    # Where two stops stand at one place the second one begins there, as plotly has it.
    places = np.array([float(place) for place, _ in stops]) + 1e-9 * np.arange(len(stops))
    colours = [[*bytes.fromhex(as_hex(colour, category="a figure")[1:]), 255] for _, colour in stops]
    low, high = ends
    share = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
    rgba = np.stack([np.interp(share, places, channel) for channel in zip(*colours, strict=True)], -1)
    rgba[~np.isfinite(values)] = 0
    return np.rint(rgba).astype(np.uint8)
