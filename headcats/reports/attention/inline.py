"""`hc.attention`: where chosen heads look in a text, as pictures of circuitsvis in a notebook, without network."""

import functools
import math
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from markupsafe import Markup

from headcats.base.errors import DataError, HeadcatsError
from headcats.models.head import Head
from headcats.models.loading import load_model
from headcats.models.patterns import head_patterns
from headcats.prompts.tokens import bos_of, encode, unknown_text
from headcats.reports.attention.examples import token_text
from headcats.results.visible import shortened

# Pixels: of a picture, of the labels beside its cells, and of a cell.
_WIDEST, _LABELS, _CELL = 960, 140, 24
_TEMPLATE = Path(__file__).with_name("inline.html.jinja")
# Numbers of all pictures of one page: with the script of circuitsvis, such a page has at most some 3 MB.
_MOST_NUMBERS = 300_000
_LEAST_TOKENS = 16
# Digits of a weight: what a tooltip shows.
_DIGITS = 3
_LONGEST_LABEL = 20  # characters
_COLOUR = "#08306b"  # the dark end of the scale Blues


@dataclass(frozen=True, eq=False, repr=False)
class TextAttention:
    """Attention of heads in one text; a notebook shows it as pictures that need no network.

    Attributes:
        patterns: `(head, from, to)`, every row `from` summing to 1, with the names of heads and the text of each token
            in the coordinates `head`, `from_token (from)` and `to_token (to)`.
    """

    patterns: xr.DataArray

    def __repr__(self) -> str:
        heads = ", ".join(self.patterns["head"].values.tolist())
        return f"TextAttention of {heads} on {self.patterns.sizes['to']} tokens: .patterns, or pictures in a notebook"

    def _repr_html_(self) -> str:
        """All that the pictures need: two outputs in one page do not disturb each other."""
        n_heads, length, _ = self.patterns.shape
        shown = tokens_that_fit(length, pictures=n_heads)
        last = self.patterns.isel({"from": slice(-shown, None), "to": slice(-shown, None)})
        tokens = [str(token) for token in last["to_token"].values]
        name = uuid.uuid4().hex
        pictures = {
            str(of_head["head"].item()): Pattern(f"attention-{name}-{place}", tokens, of_head.values)
            for place, of_head in enumerate(last)
        }
        drawn = draw(list(pictures.values()))
        return _template().render(
            elements={head: picture.element for head, picture in pictures.items()},
            width=min(_WIDEST, _LABELS + _CELL * shown),
            shown=shown,
            length=length,
            bundle=Markup(drawn.bundle),
            calls=[Markup(call) for call in drawn.calls],
        )


def attention(model: Any, text: str, *, heads: Sequence[Any]) -> TextAttention:
    """Where chosen heads look in a text: one picture for each, which a notebook shows as it is.

    In a picture, a row is a token that looks and a column one that is looked at; the darker a cell, the more of its
    attention (full colour: all of it) the row gives to the column. Attention says where a head looks, not what it does
    with what it finds there. Pictures are those of circuitsvis, and load nothing from the network. One forward pass.

    Args:
        model: As in `hc.run`; it needs a tokenizer.
        text: Any text. In front of it stands what stands in front of the prompts of tasks.
        heads: Heads as `Head.parse` takes them: "L9H6", "9.6", `hc.Head(9, 6)` or (9, 6).

    Returns:
        An object that notebooks show; `patterns (head, from, to)` holds the weights of all tokens, each row a share
        that sums to 1. Of a long text, the pictures show the last tokens, and say so.

    Raises:
        DataError: No text, one that is longer than the context or has a word unknown to the tokenizer, no head, or one
            that the model does not have.
        ModelError: The model cannot be loaded, has no tokenizer, or computes no attention pattern.

    Example:
        >>> import headcats as hc
        >>> looks = hc.attention("mini", "France → Paris", heads=["L1H4", "L0H1"])
        >>> looks
        TextAttention of L1H4, L0H1 on 4 tokens: .patterns, or pictures in a notebook
        >>> looks.patterns.dims, looks.patterns["to_token"].values.tolist()[1:]
        (('head', 'from', 'to'), ['France', '␣→␣', 'Paris'])
        >>> bool((abs(looks.patterns.sum("to") - 1) < 1e-4).all())
        True
    """
    if not isinstance(text, str) or not text:
        raise DataError(f"text must be a text of at least one token; got {text!r:.80}.")
    if isinstance(heads, str | Head) or not heads:
        raise DataError(f"heads must be a list of heads, such as ['L9H6', (7, 3)]; got {heads!r:.80}.")
    adapted = load_model(model)
    tokenizer = adapted.text_tokenizer
    chosen = list(dict.fromkeys(map(adapted.find_head, heads)))
    tokens = bos_of(tokenizer) + encode(tokenizer, [text])[0]
    if not tokens:
        raise DataError(f"The tokenizer makes no token of {text!r:.80}.")
    if unknown := unknown_text(tokenizer, [text]):
        raise DataError(f"The tokenizer of {adapted.name!r} has no token for {unknown!r}: reword the text.")
    _, patterns = head_patterns(adapted, torch.tensor([tokens]), chosen)
    texts = [token_text(tokenizer, token) for token in tokens]
    return TextAttention(
        xr.DataArray(
            torch.cat([patterns[head] for head in chosen]).numpy(),
            dims=("head", "from", "to"),
            coords={
                "head": list(map(str, chosen)), "from": range(len(tokens)), "to": range(len(tokens)),
                "from_token": ("from", texts), "to_token": ("to", texts),
            },
            name="attention",
            attrs={"model": adapted.name, "text": text, "units": "share of attention"},
        )
    )  # fmt: skip


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


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
        picture = attention_pattern(
            tokens=[shortened(token, most=_LONGEST_LABEL) for token in pattern.tokens],
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
