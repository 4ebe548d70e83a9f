"""Names and order of the eight functions, and the verdicts on their probes."""

from headcats.errors import UnknownNameError
from headcats.registry import unknown_name_message
from headcats.tasks.cognitive import FUNCTIONS

SEPARATES_FUNCTIONS = "separates functions"
SEPARATES_TASKS = "separates tasks, not functions"
NOT_TESTED = "not tested across tasks"
NOT_ABOVE_CHANCE = "not above chance"
TOO_FEW_SEEDS = "too few seeds"
SAYING_NOTHING = (NOT_ABOVE_CHANCE, TOO_FEW_SEEDS)
"""Verdicts on probes whose importance is not to be shown."""


def function_name(text: str) -> str:
    """The function that a text names; case, spaces, hyphens and underscores make no difference.

    Raises:
        UnknownNameError: The message lists near matches.
    """
    functions = {_bare(name): name for name in FUNCTIONS}
    if _bare(text) not in functions:
        raise UnknownNameError(unknown_name_message("cognitive skill", text, FUNCTIONS))
    return functions[_bare(text)]


def in_order(names: set[str] | frozenset[str]) -> tuple[str, ...]:
    """Functions of the scheme first, in its order; other names after them, sorted."""
    return (*(name for name in FUNCTIONS if name in names), *sorted(names.difference(FUNCTIONS)))


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
