"""Letters on cells, so that a category is told without its colour."""

from collections.abc import Mapping, Sequence

from headcats.errors import UnknownNameError
from headcats.figures.colours import ON_DARK, ON_LIGHT
from headcats.figures.panels.text import escaped
from headcats.registry import unknown_name_message

AUTO, NONE = "auto", "none"
_LONGEST = 3
# Pixels: height of a cell that holds a readable letter, and width of a letter at that size.
_HEIGHT, _WIDTH = 13, 7


def check_letters(letters: str, *, figure: str) -> None:
    """Accept only `"auto"` and `"none"`.

    Raises:
        UnknownNameError: another text.
    """
    if letters not in (AUTO, NONE):
        raise UnknownNameError(unknown_name_message(f"choice of letters of {figure}", letters, (AUTO, NONE)))


def category_letters(names: Sequence[str]) -> dict[str, str]:
    """Category -> its shortest unique prefix, or a letter by its place where three letters do not suffice.

    Example:
        >>> category_letters(["Knowledge", "Linguistic", "Logical Reasoning"])
        {'Knowledge': 'K', 'Linguistic': 'Li', 'Logical Reasoning': 'Lo'}
        >>> category_letters(["category 1", "category 2"])
        {'category 1': 'a', 'category 2': 'b'}
    """
    letters = {name: _prefix(name, [rival for rival in names if rival != name]) for name in names}
    if all(letter and not letter.isspace() for letter in letters.values()):
        return letters
    return {name: chr(ord("a") + place) for place, name in enumerate(names)}


def fits(letters: Mapping[str, str], cell: tuple[int, int]) -> bool:
    """Whether every letter can be read on a cell of that width and height in pixels."""
    return cell[1] >= _HEIGHT and cell[0] >= 4 + _WIDTH * max(map(len, letters.values()))


def with_letter(label: str, letter: str) -> str:
    """A legend entry as HTML with its letter in bold: its beginning, or in front of it."""
    rest = label[len(letter) :] if label.startswith(letter) else f" {label}"
    return f"<b>{escaped(letter)}</b>{escaped(rest)}"


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on `#rrggbb` (contrast as WCAG 2.2 defines it)."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    luminance = sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    # Equal contrast with both at the root of .05 * 1.05, less the .05 of stray light.
    return ON_LIGHT if luminance > 0.179 else ON_DARK


def _prefix(name: str, rivals: Sequence[str]) -> str:
    starts = (name[:n] for n in range(1, _LONGEST + 1))
    return next((s for s in starts if not any(rival.casefold().startswith(s.casefold()) for rival in rivals)), "")
