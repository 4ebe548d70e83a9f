"""JSON that a person can read and compare line by line."""

import json
from collections.abc import Mapping
from typing import Any


def in_lines(value: Any, *, levels: int = 3) -> str:
    """JSON with a line for every entry of the upper levels, such as a block; `indent` would take 20 times as long."""
    if not levels or not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = (f"{json.dumps(key, ensure_ascii=False)}: {in_lines(of, levels=levels - 1)}" for key, of in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"
