"""Letters on cells, so that a category is told without its colour."""

import html
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from headcats.errors import UnknownNameError
from headcats.figures.colours import ON_DARK, ON_LIGHT
from headcats.registry import unknown_name_message

AUTO, NONE = "auto", "none"
_LONGEST = 3
# Pixels: height of a cell that holds a readable letter, and width of a letter at that size.
_HEIGHT, _WIDTH = 13, 7


def check_letters(letters: str, *, figure: str) -> None:
    """Refuse anything but `"auto"` and `"none"`.

    Raises:
        UnknownNameError: another text.
    """
    if letters not in (AUTO, NONE):
        raise UnknownNameError(unknown_name_message(f"choice of letters of {figure}", letters, (AUTO, NONE)))


def category_letters(names: Sequence[str]) -> dict[str, str]:
    """Category -> its shortest beginning that no other has, or a letter by its place where three do not suffice.

    Example:
        >>> category_letters(["Knowledge", "Linguistic", "Logical Reasoning"])
        {'Knowledge': 'K', 'Linguistic': 'Li', 'Logical Reasoning': 'Lo'}
        >>> category_letters(["category 1", "category 2"])
        {'category 1': 'a', 'category 2': 'b'}
    """
    found = {}
    for name in names:
        others = [other for other in names if other != name]
        starts = (name[:n] for n in range(1, _LONGEST + 1))
        found[name] = next((start for start in starts if not _any_begins(others, start)), "")
    if all(letter and not letter.isspace() for letter in found.values()):
        return found
    return {name: chr(ord("a") + place) for place, name in enumerate(names)}


def fits(letters: Mapping[str, str], cell: tuple[int, int]) -> bool:
    """Whether every letter can be read on a cell of that width and height in pixels."""
    return cell[1] >= _HEIGHT and cell[0] >= 4 + _WIDTH * max(map(len, letters.values()))


def with_letter(label: str, letter: str) -> str:
    """A legend entry as HTML that says its letter: in bold where it begins with it, else in front."""
    rest = label[len(letter) :] if label.startswith(letter) else f" {label}"
    return f"<b>{html.escape(letter, quote=False)}</b>{html.escape(rest, quote=False)}"


def add_letters(
    fig: go.Figure, heads: pd.DataFrame, letters: Mapping[str, str], *, cell: tuple[int, int], axes: dict[str, str]
) -> None:
    """Write its letter on every head whose label has one.

    Args:
        fig: Changed in place.
        heads: `layer, head, label, colour` of a panel.
        letters: Label -> letter.
        cell: Width and height of a cell in pixels.
        axes: The panel, as `add_axes` returns it.
    """
    marked = heads[heads["label"].isin(list(letters))]
    if not len(marked):
        return
    size = min(14, max(10, int(0.55 * min(cell))))
    fig.add_trace(
        go.Scatter(
            x=marked["layer"].to_numpy(),
            y=marked["head"].to_numpy(),
            mode="text",
            text=[html.escape(letters[label], quote=False) for label in marked["label"]],
            textfont={"size": size, "color": [ink_on(colour) for colour in marked["colour"]]},
            hoverinfo="skip",
            showlegend=False,
            name="letters",
            **axes,
        )
    )


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on `#rrggbb` (contrast as WCAG 2.2 defines it)."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    luminance = sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    # Equal contrast with both at the root of .05 * 1.05, less the .05 of stray light.
    return ON_LIGHT if luminance > 0.179 else ON_DARK


def _any_begins(names: Sequence[str], start: str) -> bool:
    return any(name.casefold().startswith(start.casefold()) for name in names)
