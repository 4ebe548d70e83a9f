"""What stands beside the pointer, written with the names of a frame's columns."""

import re
from typing import Any

import numpy as np
import pandas as pd

_COLUMN = re.compile(r"%\{(\w+)(:[^}]*)?\}")
_PLACES = ("text", "hovertext")


def hover(template: str, frame: pd.DataFrame, **axes: str) -> dict[str, Any]:
    """`hovertemplate` and the values it names, one per row of a frame, as plotly's traces take them.

    The template has at most two columns of texts; columns that the trace has already are named as its `x`, `y`, `z`.

    Example:
        >>> hover("%{layer}: %{share:.2f}", pd.DataFrame({"layer": [0], "share": [0.5]}), x="layer")["hovertemplate"]
        '%{x}: %{customdata[0]:.2f}<extra></extra>'
    """
    places = {column: axis for axis, column in axes.items()}
    numbers: list[str] = []
    values: dict[str, Any] = {}
    for column in dict.fromkeys(name for name, _ in _COLUMN.findall(template)):
        if column in places:
            continue
        if pd.api.types.is_numeric_dtype(frame[column]):
            places[column] = f"customdata[{len(numbers)}]"
            numbers.append(column)
        else:
            places[column] = next(place for place in _PLACES if place not in values)
            values[places[column]] = frame[column].to_numpy(dtype=object)
    if numbers:
        # float32 keeps a page of 80 x 64 heads small; three digits are shown.
        values["customdata"] = frame[numbers].to_numpy(dtype=np.float32)
    text = _COLUMN.sub(lambda match: f"%{{{places[match[1]]}{match[2] or ''}}}", template)
    return values | {"hovertemplate": f"{text}<extra></extra>"}
