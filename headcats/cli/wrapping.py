"""Text on the lines of a terminal: broken at spaces, never inside a word, a path or a command."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

_COMMAND = "`[^`\n]+`"


def wrapped(text: str, width: int, *, whole: Sequence[str] = ()) -> list[str]:
    """The lines of a text, each at most `width` columns unless a single word is longer.

    Args:
        text: Lines of any length; what a line is indented by, its continuation is, too.
        width: Of the terminal.
        whole: Parts with spaces that stay in one piece, such as paths; commands in backticks do in any case.
    """
    pieces = "|".join([*map(re.escape, sorted(whole, key=len, reverse=True)), _COMMAND, r"\S"])
    words = re.compile(rf"(\s*)((?:{pieces})+)")
    return [line for paragraph in text.split("\n") for line in _wrapped(words.findall(paragraph), width)]


def _wrapped(words: Iterable[tuple[str, str]], width: int) -> list[str]:
    lines, indent = [""], ""
    for gap, word in words:
        if not lines[-1]:
            indent = gap
            lines[-1] = f"{gap}{word}"
        elif cell_len(lines[-1]) + cell_len(gap) + cell_len(word) <= width:
            lines[-1] += f"{gap}{word}"
        else:
            lines.append(f"{indent}{word}")
    return lines


def height(text: str, width: int) -> int:
    """Lines of a terminal that a line takes, broken where one is full."""
    return max(1, -(-cell_len(text) // width))


def shortened(text: str, width: int) -> str:
    """A text without its middle, where it is wider than `width`; both ends tell names apart."""
    if cell_len(text) <= width:
        return text
    kept = max(width - 1, 1)
    head, tail = text[: kept - kept // 3], text[len(text) - kept // 3 :]
    while cell_len(head) + 1 + cell_len(tail) > width and (head or tail):
        head, tail = (head[:-1], tail) if cell_len(head) >= cell_len(tail) else (head, tail[1:])
    return f"{head}…{tail}"
