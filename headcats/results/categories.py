"""Categories of the bundled suites: their names, order and colours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headcats.base.errors import LONGEST_NAME, DataError, unstorable
from headcats.results.colour import as_hex

# As many as the overlap map has room for, distinct from each other, the standard categories, the map's greys and its
# colours for several categories (headcats/figures/colours.py).
SPARE_COLOURS = ("#00eebb", "#990044", "#ffcc88", "#445500", "#bbbbff", "#996600", "#ff8888", "#77aa77")


@dataclass(frozen=True)
class Category:
    """A kind of task.

    Attributes:
        name: Name in figures; any text that is not blank.
        colour: `#rrggbb`, `#rgb`, `rgb(r, g, b)` or a name of CSS.

    Raises:
        DataError: A blank name, or one that results cannot hold; or what is no colour.
    """

    name: str
    colour: str

    def __post_init__(self) -> None:
        blank = not isinstance(self.name, str) or not self.name.strip()
        if problem := "which is blank" if blank else unstorable(self.name, most=LONGEST_NAME):
            raise DataError(f"A category needs a name that results can hold; got {self.name!r:.80}, {problem}.")
        as_hex(self.colour, category=self.name)


STANDARD_CATEGORIES = (
    Category("Algorithmic", "#1f77b4"),
    Category("Knowledge", "#ff7f0e"),
    Category("Linguistic", "#2ca02c"),
    Category("Translation", "#d62728"),
)

FUNCTIONS = (
    "Knowledge Recall",
    "Retrieval",
    "Logical Reasoning",
    "Decision-making",
    "Semantic Understanding",
    "Syntactic Understanding",
    "Inference",
    "Math Calculation",
)
"""Functions in the row order of the figure. Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978."""


def coloured(names: Iterable[str], categories: Sequence[Category] = ()) -> tuple[Category, ...]:
    """Categories of these names, in their order after those given: standard colours, then spare ones."""
    by_name = {category.name.casefold(): category for category in categories}
    for name in names:
        used = {category.colour for category in by_name.values()}
        spare = next((colour for colour in SPARE_COLOURS if colour not in used), SPARE_COLOURS[-1])
        standard = (category for category in STANDARD_CATEGORIES if category.name.casefold() == name.casefold())
        by_name.setdefault(name.casefold(), next(standard, Category(name, spare)))
    return tuple(by_name.values())
