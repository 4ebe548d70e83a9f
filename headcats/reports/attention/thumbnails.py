"""Small pictures of attention patterns, for the panel of a head in a report."""

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np

from headcats.models.head import Head
from headcats.reports.attention.examples import Example, Side

_TOKENS = 32
_SHADES = 255
_MOST_LOOKS, _LEAST_WEIGHT = 3, 0.05


def thumbnails(example: Example, heads: Iterable[Head]) -> dict[str, dict[str, Any]]:
    """Name of a head -> its pattern in a prompt, clean and corrupted, as JSON holds it.

    Each pattern is of the last 32 tokens at most: a byte per pair of tokens, row by row (from, then to), from 0 for no
    attention to 255 for `darkest` and above, in base64; `n` is the number of rows. `from` is the last token, after
    which the answer is read, and `looks` the tokens that it gives the most weight, with their roles and this weight:
    three at most, each at least .05.
    """
    return {str(head): _thumbnail(example, head) for head in heads}


def _thumbnail(example: Example, head: Head) -> dict[str, Any]:
    darkest = example.darkest(head)
    about: dict[str, Any] = {"task": example.task, "item": example.item, "darkest": round(darkest, 3)}
    for name, side in (("clean", example.clean), ("corrupted", example.corrupted)):
        pattern = side.patterns[head][-_TOKENS:, -_TOKENS:]
        shades = np.rint(_SHADES * np.minimum(pattern / darkest, 1)).astype(np.uint8)
        weights = side.patterns[head][-1]
        largest = np.argsort(-weights, kind="stable")[:_MOST_LOOKS].tolist()
        about[name] = {
            "n": len(shades),
            "shades": base64.b64encode(shades.tobytes()).decode("ascii"),
            "from": side.tokens[-1],
            "looks": [
                [_named(side, place), round(float(weights[place]), 2)]
                for place in largest
                if weights[place] >= _LEAST_WEIGHT
            ],
        }
    return about


def _named(side: Side, place: int) -> str:
    """A token with its role, as the same token may come several times."""
    return f"{side.tokens[place]} ({side.roles[place]})" if side.roles else side.tokens[place]
