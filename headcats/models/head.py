"""Attention heads and their names."""

import re
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

from headcats.base.errors import DataError

_PATTERN = re.compile(r"L?(\d+)[H.](\d+)", re.IGNORECASE)
_GROUP = re.compile(r"L\d+G\d+", re.IGNORECASE)


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
    def parse(cls, head: Any) -> "Head":
        """A head from its name, `L9H6` or `9.6` as in papers, or from a pair of layer and head.

        Args:
            head: Name, with spaces and case ignored; or two integers, such as a `Head`.

        Raises:
            DataError: Neither form.
        """
        if isinstance(head, str) and (match := _PATTERN.fullmatch(head.strip())):
            return cls(int(match[1]), int(match[2]))
        if isinstance(head, tuple | list) and len(head) == 2 and all(isinstance(number, Integral) for number in head):
            return cls(*map(int, head))
        is_group = isinstance(head, str) and _GROUP.fullmatch(head.strip())
        raise DataError(
            f"Expected a head as 'L9H6', '9.6', hc.Head(9, 6) or (9, 6): layer, then head, from 0; got {head!r:.60}"
            f"{', which is a group of heads: name its heads' if is_group else ''}."
        )


def distinct(heads: Any, find: Callable[[Any], Head] = Head.parse) -> list[Head]:
    """Heads of a list, each found by `find`; a DataError for no list, for none, and for one that is named twice."""
    if isinstance(heads, str | Head) or not hasattr(heads, "__len__") or not len(heads):
        raise DataError(f"Expected a list of at least one head, such as ['L9H6']; got {heads!r}.")
    parsed = list(map(find, heads))
    if twice := next((head for head in parsed if parsed.count(head) > 1), None):
        raise DataError(f"Head {twice} is named twice; name each once.")
    return parsed
