"""Categories of the bundled suites: their names, order and colours."""

from dataclasses import dataclass

# As many as the overlap map has room for, distinct from each other, the standard categories, the map's greys and its
# colours for several categories (headcats/figures/colours.py).
SPARE_COLOURS = ("#00eebb", "#990044", "#ffcc88", "#445500", "#bbbbff", "#996600", "#ff8888", "#77aa77")


@dataclass(frozen=True)
class Category:
    """A kind of task.

    Attributes:
        name: Name in figures.
        colour: `#rrggbb`.
    """

    name: str
    colour: str


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
"""In the row order of the figure. Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978."""
