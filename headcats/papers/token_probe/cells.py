"""Texts, lists of right answers and labels, from the cells of tables of answers.

A ValueError says why a cell cannot be used, with what it holds behind a colon.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headcats.tasks.files.questions import LIST, read_list

_RIGHT = {"1", "1.0", "true", "right", "correct", "yes"}
_WRONG = {"0", "0.0", "false", "wrong", "incorrect", "no"}
# How pandas and CSV write that a cell is empty.
_NOTHING = {"", "nan", "none", "null", "<na>"}
# A list of texts, rather than a text that starts with a bracket, such as "[1] Rome".
_QUOTED = re.compile(r"""\[\s*['"]""")


def text_of(cell: Any) -> str:
    """A cell as text; "" for none."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return cell if isinstance(cell, str) else str(cell)


def answers_of(cell: Any) -> list[str]:
    """The right answers of a cell, each once: a text, a number, a list, a list as text, or `{value, aliases}`."""
    if isinstance(cell, Mapping):
        fields = {str(name).casefold().replace("_", ""): value for name, value in cell.items()}
        parts = [fields.get("value"), *_listed(fields.get("aliases"))]
        return _distinct(parts)
    return _distinct(_listed(cell))


def _listed(cell: Any) -> list[Any]:
    if isinstance(cell, str) and cell.strip().startswith("["):
        text = cell.strip()
        if text.endswith("]"):
            return read_list(text)
        if _QUOTED.match(text) or text.count("[") > text.count("]"):
            raise ValueError(f"{LIST}: {text!r:.80}, without its end")
    return list(cell) if isinstance(cell, list | tuple) else [cell]


def _distinct(cells: Sequence[Any]) -> list[str]:
    texts: dict[str, None] = {}
    for cell in cells:
        if isinstance(cell, Mapping | list | tuple):
            raise ValueError(f"{LIST}: {cell!r:.80}")
        number = isinstance(cell, float) and not math.isnan(cell)
        if number and cell.is_integer():
            texts[str(int(cell))] = None
        if text_of(cell).strip():
            texts[text_of(cell).strip()] = None
    return list(texts)


def label_of(cell: Any) -> bool | None:
    """True for right, False for wrong, None for an empty cell."""
    text = text_of(cell).strip().casefold()
    if text in _NOTHING:
        return None
    if text not in _RIGHT | _WRONG:
        raise ValueError(f"label that is neither right nor wrong: {cell!r:.40}")
    return text in _RIGHT
