"""Legend of a figure, and the letters on cells by which a category is told without its colour."""

import itertools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headcats.figures.colours import MARK
from headcats.figures.panels.layout import Placed
from headcats.figures.panels.text import escaped, text_width
from headcats.results.visible import shortened, visible

_SWATCH = 44  # pixels of a swatch and the spaces around it
_ENTRY = 20
_LONGEST = 3  # letters on a cell
# Pixels: height of a cell that holds a readable letter, and width of a letter at that size.
_HEIGHT, _WIDTH = 13, 7


@dataclass(frozen=True)
class Entry:
    """One line of the legend."""

    name: str
    colour: str = MARK
    hatch: str = ""  # colour of the lines over its swatch, if any
    symbol: str = ""  # symbol in place of a swatch, as plotly calls it
    outlined: bool = False  # true if a thin line goes around the swatch


@dataclass(frozen=True)
class Legend:
    """Entries from top to bottom."""

    entries: Sequence[Entry]
    letters: Mapping[str, str] = field(default_factory=dict)
    """Entry -> what is written on its cells, in bold."""

    def size(self, length: int = 0) -> tuple[int, int]:
        """Size as `Beside` says; the same beside plots of any height."""
        widest = max(text_width(shortened(entry.name)) for entry in self.entries)
        return _SWATCH + widest, _ENTRY * len(self.entries)

    def unmarked(self) -> "Legend":
        """Leave out all but colours."""
        return Legend([entry for entry in self.entries if not entry.hatch and not entry.symbol])

    def placed(self, at: tuple[int, int], length: int) -> list[Placed]:
        """Place it as `Beside` says."""
        return [Placed(self, (at[0], at[1] - 4))]

    @property
    def lines(self) -> list[tuple[Entry, str]]:
        """Every entry with its text as HTML."""
        return [(each, with_letter(shortened(each.name), self.letters.get(each.name, ""))) for each in self.entries]


def category_letters(names: Sequence[str]) -> dict[str, str]:
    """Category -> its shortest unique prefix, or a letter by its place where three letters do not suffice.

    Example:
        >>> category_letters(["Knowledge", "Linguistic", "Logical Reasoning"])
        {'Knowledge': 'K', 'Linguistic': 'Li', 'Logical Reasoning': 'Lo'}
        >>> category_letters(["category 1", "category 2"])
        {'category 1': 'a', 'category 2': 'b'}
    """
    shown = {name: visible(name) for name in names}
    letters = {name: _prefix(shown[name], [shown[rival] for rival in names if rival != name]) for name in names}
    if all(letter and not letter.isspace() for letter in letters.values()):
        return letters
    places = [*string.ascii_lowercase, *("".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2))]
    return dict(zip(names, places, strict=False))


def fits(letters: Mapping[str, str], cell: tuple[float, float]) -> bool:
    """True if every letter can be read on a cell of that width and height in pixels."""
    return cell[1] >= _HEIGHT and cell[0] >= 4 + _WIDTH * max(map(len, letters.values()))


def with_letter(label: str, letter: str) -> str:
    """Legend entry as HTML with its letter, if any, in bold: its beginning, or in front of it."""
    if not letter:
        return escaped(label)
    after_letter = label[len(letter) :] if label.startswith(letter) else f" {label}"
    return f"<b>{escaped(letter)}</b>{escaped(after_letter)}"


def _prefix(name: str, rivals: Sequence[str]) -> str:
    starts = (name[:n] for n in range(1, _LONGEST + 1))
    return next((s for s in starts if not any(rival.casefold().startswith(s.casefold()) for rival in rivals)), "")
