"""Lists and mappings that a cell of a table holds as text: JSON, or as Python or numpy writes them."""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

LIST = "list that cannot be read"
# numpy writes lists of texts without commas, which Python would read as one text.
_NO_COMMA = re.compile(r"""(?<=['"])\s+(?=['"])""")


def read_list(text: str) -> list[Any]:
    """A list; a ValueError that says why the text is none."""
    read = _read(text)
    if isinstance(read, Mapping) or not isinstance(read, list | tuple):
        raise ValueError(f"{LIST}: {text!r:.80}")
    if _NO_COMMA.search(text) and len(read) < len(_NO_COMMA.split(text)):
        raise ValueError(f"{LIST}: {text!r:.80}, without commas")
    return list(read)


def unpacked(value: Any) -> Any:
    """A text that is a list or a mapping as such; anything else, and a text that cannot be read, unchanged."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{")):
        return value
    try:
        return read_list(value.strip()) if value.strip().startswith("[") else _read(value.strip())
    except ValueError:
        return value


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"{LIST}: {text!r:.80}") from None
