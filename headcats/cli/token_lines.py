"""Prompts in the terminal, token by token: in two colours, and with separators that say the same without colours."""

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len
from rich.text import Text

from headcats.base.errors import pluralize
from headcats.results.finding import Prompts
from headcats.results.visible import visible

MOST_LINES = 3
"""Lines that are shown of a prompt: those at its end."""
_BETWEEN, _CONTINUES, _SAME_CHARACTER, _COMBINES_WITH = "│", "⇒", "⋯", "◌"
_COLOURS = ("cyan", "yellow")
_INDENT, _LEAST = 2, 12

Piece = tuple[str, str]
"""Text and its style."""


def token_lines(finding: Prompts, *, width: int) -> Text:
    """The ends of the prompts, as many tokens of each, on lines of at most `width` columns."""
    column = _INDENT + max(map(len, finding.prompts)) + 1
    room = max(width - column, _LEAST)

    def blocks(n_tokens: int) -> list[list[list[Piece]]]:
        return [_wrapped(_tokens(*prompt, n_tokens), room) for prompt in finding.prompts.values()]

    # Every token takes at least two columns, so that more of them cannot fit.
    candidates = range(1, 1 + min(MOST_LINES * room // 2, max(len(prompt) for prompt, _ in finding.prompts.values())))
    n_fitting = bisect_left(candidates, True, key=lambda n: max(map(len, blocks(n))) > MOST_LINES)
    text = Text(no_wrap=True, overflow="ignore")
    for name, lines in zip(finding.prompts, blocks(max(n_fitting, 1)), strict=True):
        for number, line in enumerate(lines):
            text.append("\n" if text else "")
            text.append(f"{'' if number else ' ' * _INDENT + name:<{column}}", "bold")
            for style, pieces in groupby(line, key=itemgetter(1)):
                text.append("".join(piece for piece, _ in pieces), style)
    return text


def _tokens(prompt: Sequence[str], continuation: Sequence[str], n_tokens: int) -> list[list[Piece]]:
    """The last tokens of a prompt, and all that continue it, each with its separator in front."""
    hidden = max(len(prompt) - n_tokens, 0)
    shown = [[(f"({pluralize(hidden, 'token')} before) ", "dim")]] if hidden else []
    for place, token in enumerate([*prompt, *continuation][hidden:], start=hidden):
        before = (_CONTINUES, "bold") if place == len(prompt) else (_BETWEEN if place else "", "dim")
        last = " bold reverse" if place == len(prompt) - 1 else ""
        shown.append([before, (_shown(token), _COLOURS[place % 2] + last)])
    return shown


def _shown(token: str) -> str:
    if not token:
        return _SAME_CHARACTER
    combines = unicodedata.category(token[0]).startswith("M")
    return visible(f"{_COMBINES_WITH}{token}" if combines else token)


def _wrapped(tokens: Sequence[Sequence[Piece]], room: int) -> list[list[Piece]]:
    """On lines of so many columns; a token that is longer than a line is cut."""
    lines: list[list[Piece]] = [[]]
    used = 0
    for pieces in tokens:
        if used + sum(cell_len(piece) for piece, _ in pieces) > room and used:
            lines.append([])
            used = 0
        for char, style in ((char, style) for piece, style in pieces for char in piece):
            if used + cell_len(char) > room:
                lines.append([])
                used = 0
            lines[-1].append((char, style))
            used += cell_len(char)
    return lines
