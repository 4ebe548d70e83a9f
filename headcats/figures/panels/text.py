"""Text in figures: its width, its lines, and the texts at the pointer.

Arial's letters are at most .55 of its size wide on average.
"""

import html
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headcats.results.visible import shortened, visible

EDGE = 16
"""Pixels left and right of titles and captions."""
SMALL, MEDIUM, LARGE, TITLE = 11, 12, 14, 16
"""Sizes in pixels: notes of a panel, captions and axes, names of panels, the title."""
MISSING = "no value"
_BETWEEN = "&nbsp;&nbsp;&nbsp;"
_COLUMN = re.compile(r"%\{(\w+)(:[^}]*)?\}")


def escaped(text: object) -> str:
    """Escape any text: plotly shows it as it is, without a tag, entity, formula, place of a number or invisible letter.

    Example:
        >>> escaped("<b>%{x}</b> & $y$")
        '&lt;b&gt;&#37;{x}&lt;/b&gt; &amp; &#36;y&#36;'
    """
    return html.escape(visible(str(text)), quote=False).replace("$", "&#36;").replace("%{", "&#37;{")


def text_width(text: str, size: int = MEDIUM) -> int:
    """Pixels that a line needs."""
    return math.ceil(0.55 * size * len(visible(text)))


def line_height(size: int) -> int:
    """Pixels from one line to the next."""
    return size + 5


def fold(text: str, *, width: int, size: int = MEDIUM) -> list[str]:
    """Fold a text on as few lines of `width` pixels as hold it; a word that is longer is cut.

    Example:
        >>> fold("Syntactic Understanding", width=120, size=14)
        ['Syntactic', 'Understanding']
    """
    letters = max(4, int(width / (0.55 * size)))
    return [shortened(line, most=letters) for line in _wrap(visible(text), letters)]


def fold_caption(parts: Sequence[str], *, width: int) -> list[str]:
    """Parts of a caption side by side on lines of `width` pixels; long parts are folded at spaces, never cut."""
    letters = max(20, int(width / (0.55 * MEDIUM)))
    lines: list[list[str]] = []
    for part in parts:
        for piece in _wrap(part, letters):
            if lines and sum(map(len, lines[-1])) + 3 * len(lines[-1]) + len(piece) <= letters:
                lines[-1].append(piece)
            else:
                lines.append([piece])
    return [_BETWEEN.join(line) for line in lines]


def hover(template: str, frame: pd.DataFrame, **axes: str) -> dict[str, Any]:
    """`hovertemplate` and the values it names, one per row of a frame, as plotly's traces take them.

    The template has at most two columns of texts; columns that the trace has already are named as its `x`, `y`, `z`.

    Example:
        >>> hover("%{layer}: %{share:.2f}", pd.DataFrame({"layer": [0], "share": [0.5]}), x="layer")["hovertemplate"]
        '%{x}: %{customdata[0]:.2f}<extra></extra>'
    """
    places = {column: axis for axis, column in axes.items()}
    numbers: list[str] = []
    values: dict[str, Any] = {}
    for column in dict.fromkeys(name for name, _ in _COLUMN.findall(template)):
        if column in places:
            continue
        if pd.api.types.is_numeric_dtype(frame[column]):
            places[column] = f"customdata[{len(numbers)}]"
            numbers.append(column)
        else:
            places[column] = next(place for place in ("text", "hovertext") if place not in values)
            values[places[column]] = frame[column].to_numpy(dtype=object)
    if numbers:
        # float32 keeps a page of 80 x 64 heads small; three digits are shown.
        values["customdata"] = frame[numbers].to_numpy(dtype=np.float32)
    text = _COLUMN.sub(lambda match: f"%{{{places[match[1]]}{match[2] or ''}}}", template)
    return values | {"hovertemplate": f"{text}<extra></extra>"}


def _wrap(text: str, letters: int) -> list[str]:
    return textwrap.wrap(text, letters, break_long_words=False, break_on_hyphens=False) or [""]
