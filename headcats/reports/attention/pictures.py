"""Attention patterns as pictures of circuitsvis, with its script once in a page and nothing from the network."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from headcats.base.errors import HeadcatsError

# Numbers of all pictures of one page: with the script of circuitsvis, such a page has at most some 3 MB.
_MOST_NUMBERS = 300_000
_LEAST_TOKENS = 16
# Digits of a weight: what a tooltip shows.
_DIGITS = 3
_LONGEST_LABEL = 20
_COLOUR = "#08306b"  # the dark end of the scale Blues


class Pictures(NamedTuple):
    """Script of circuitsvis that a page needs to draw patterns ("" without pictures), and a call per picture."""

    bundle: str
    calls: tuple[str, ...]


class Pattern(NamedTuple):
    """One picture, drawn into an `element` of the page; all of a token's attention has the full colour."""

    element: str
    tokens: Sequence[str]
    weights: Float[np.ndarray, "pos pos"]


def tokens_that_fit(length: int, *, pictures: int) -> int:
    """Number of last tokens of prompts of this length that are drawn, so that a page with its pictures opens."""
    return min(length, max(_LEAST_TOKENS, math.isqrt(_MOST_NUMBERS // max(1, pictures))))


def draw(patterns: Sequence[Pattern]) -> Pictures:
    """Return the scripts that draw patterns, in their order."""
    # It imports torch, and all of its own figures.
    from circuitsvis.attention import attention_pattern

    bundle, calls = "", []
    for pattern in patterns:
        labels = [_label(token) for token in pattern.tokens]
        picture = attention_pattern(
            tokens=labels,
            attention=_numbers(pattern.weights),
            max_value=1.0,
            min_value=0.0,
            positive_color=_COLOUR,
        )
        script, call = _split_page(picture.local_src, pattern.element)
        bundle = bundle or script
        calls.append(call)
    return Pictures(bundle, tuple(calls))


def _split_page(page: str, element: str) -> tuple[str, str]:
    """Split the page that circuitsvis makes of one picture into its script and the call that draws it."""
    made_up = re.match(r'\s*<div id="([^"]+)"', page)
    script = re.search(r"<script[^>]*>(.*)</script>", page, re.DOTALL)
    before, marker, after = script[1].rpartition(f'"{made_up[1]}"') if made_up and script else ("", "", "")
    bundle, call, _ = before.rpartition("CircuitsVis.render(")
    if not (marker and call and bundle):
        raise HeadcatsError(
            "This version of circuitsvis makes pages of another form than expected, so its pictures cannot be put into "
            "one page: install the version in constraints.txt (`pip install -c constraints.txt circuitsvis`)."
        )
    # With the address of a source map, a browser's developer tools would ask for a file that is not there.
    bundle = re.sub(r"\n//# sourceMappingURL=\S*", "", bundle).strip()
    return bundle, f'CircuitsVis.render("{element}"{after}'.strip().replace("<", r"\u003c")


def _numbers(weights: Float[np.ndarray, "pos pos"]) -> list[list[float | int]]:
    """Rounded; zeros, half of all, as short as can be."""
    return [[round(value, _DIGITS) or 0 for value in row] for row in weights.tolist()]


def _label(token: str) -> str:
    return token if len(token) <= _LONGEST_LABEL else f"{token[: _LONGEST_LABEL - 1]}…"
