"""Arrays of a figure, which plotly keeps as they are or as text."""

import base64
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped


def unpacked(value: Any) -> Shaped[np.ndarray, "..."]:
    """An array, or a list, or the text that plotly makes of an array (`bdata`)."""
    if isinstance(value, dict):
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
        shape = value.get("shape")
        return flat.reshape([int(part) for part in str(shape).split(",")]) if shape else flat
    # Texts and None beside numbers stay what they are.
    mixed = not isinstance(value, np.ndarray) and any(entry is None or isinstance(entry, str) for entry in value)
    return np.array(value, dtype=object) if mixed else np.asarray(value)


def numbers(value: Any) -> Float[np.ndarray, "..."]:
    """The same as numbers; NaN for None."""
    return unpacked(value).astype(float)


def each(value: Any, n: int) -> list[Any]:
    """One entry per mark, of an array or of one value for all."""
    return unpacked(value).tolist() if isinstance(value, dict | tuple | list | np.ndarray) else [value] * n
