"""Attention heads and their names."""

import re
from typing import NamedTuple

from headcats.errors import DataError

_PATTERN = re.compile(r"L?(\d+)[H.](\d+)", re.IGNORECASE)


class Head(NamedTuple):
    """Head `head` of layer `layer`, both counted from 0; prints as `L9H6`, sorts by layer and then by head.

    Attributes:
        layer: Block number, from 0.
        head: Query-head number within the layer, from 0.

    Example:
        >>> import headcats as hc
        >>> print(hc.Head(9, 6))
        L9H6
        >>> hc.Head.parse("9.6") == hc.Head(9, 6)
        True
        >>> sorted([hc.Head(1, 0), hc.Head(0, 7)])
        [Head(layer=0, head=7), Head(layer=1, head=0)]
    """

    layer: int
    head: int

    def __str__(self) -> str:
        return f"L{self.layer}H{self.head}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """Parse `L9H6`, or `9.6` as in papers.

        Args:
            text: The name; surrounding spaces and case are ignored.

        Raises:
            DataError: `text` is in neither form.
        """
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise DataError(f"Expected a head such as 'L9H6' or '9.6' (layer, then head, from 0); got {text!r}.")
        return cls(int(match[1]), int(match[2]))
