"""Texts of a figure, which plotly reads as HTML, as SVG."""

import html
import re
from collections.abc import Iterator

from headcats.figures.panels.text import text_width

_TAG = re.compile(r"(</?\w+[^>]*>)")
_BREAK = re.compile(r"<br\s*/?>")
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_LINE, _BASELINE = 1.3, 0.95  # in shares of the size, as plotly sets lines
_MINUS = 0.15  # what a minus sign takes beyond other letters, in shares of the size: .03 in Arial, .29 in DejaVu


def svg_text(
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


def label_width(label: str, size: int) -> float:
    """Pixels that the label of a tick takes."""
    return text_width(label, size) + _MINUS * size * label.count("−")


def plain_text(text: str) -> str:
    """HTML as the text that is read."""
    return html.unescape(_TAG.sub("", _BREAK.sub(" ", text)))


def _spans(line: str) -> Iterator[str]:
    bold = False
    for piece in _TAG.split(line):
        if piece in ("<b>", "</b>"):
            bold = piece == "<b>"
        elif piece and not _TAG.fullmatch(piece):
            content = html.escape(html.unescape(piece), quote=False)
            yield f'<tspan font-weight="bold">{content}</tspan>' if bold else content
