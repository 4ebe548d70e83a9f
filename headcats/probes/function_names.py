"""The eight functions of the cognitive scheme, and what a word for one of them means."""

from headcats.errors import UnknownNameError
from headcats.registry import unknown_name_message

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
"""In the order of the figure, row by row. Ma et al. (2025), arXiv 2512.10978."""


def function_name(text: str) -> str:
    """The function that a text names; case, spaces, hyphens and underscores make no difference.

    Raises:
        UnknownNameError: The message lists near matches.
    """
    known = {_bare(name): name for name in FUNCTIONS}
    if _bare(text) not in known:
        raise UnknownNameError(unknown_name_message("cognitive skill", text, FUNCTIONS))
    return known[_bare(text)]


def in_order(names: set[str] | frozenset[str]) -> tuple[str, ...]:
    """Functions of the scheme first, in its order; other names after them, sorted."""
    return (*(name for name in FUNCTIONS if name in names), *sorted(names.difference(FUNCTIONS)))


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
