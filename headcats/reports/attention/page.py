"""One page of a category: its heads, example prompts, and where each head looks in them."""

import base64
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

import headcats
from headcats.base.errors import pluralize
from headcats.models.head import Head
from headcats.prompts.template import explained_prompt_roles
from headcats.reports.attention.chosen import Choice, Chosen
from headcats.reports.attention.examples import Example, Side
from headcats.reports.attention.pictures import Pattern, draw, tokens_that_fit
from headcats.reports.shown import shown, shown_lines
from headcats.results.finding import interval_text, line, number_text

GENERATOR = "headcats views"
"""Mark of our pages among other files in the folder."""
# Tokens that a table names; the others are summed up in its last row.
_STRONGEST = 5
_HERE = Path(__file__).parent
_TOKENS = 32
_SHADES = 255
_MOST_LOOKS, _LEAST_WEIGHT = 3, 0.05


@dataclass(frozen=True)
class Shared:
    """Parts that all pages of a folder share; `files` is category -> file name."""

    model: str
    suite: str
    choice: Choice
    files: Mapping[str, str]
    notes: Sequence[str]


@dataclass(frozen=True)
class _Weight:
    """Weight of the last token on another one, or on all others together; `where` is position and role."""

    token: str
    where: str
    weight: float


def view_page(chosen: Chosen, shown: Sequence[Example], shared: Shared) -> str:
    """Write the page of one category as HTML with everything in it that it needs; `shown` are its example prompts."""
    n_pictures = 2 * len(shown) * len(chosen.heads)
    n_tokens = tokens_that_fit(max(len(example.clean.tokens) for example in shown), pictures=n_pictures)
    prompts = [
        (example, [(head, *_look(number, example, head.head, n_tokens)) for head in chosen.heads])
        for number, example in enumerate(shown, start=1)
    ]
    drawn = draw([picture for _, looks in prompts for _, pictures, _ in looks for picture in pictures])
    roles = list(dict.fromkeys(role for example in shown for role in example.clean.roles))
    return _template().render(
        generator=GENERATOR,
        version=headcats.__version__,
        style=Markup((_HERE / "view.css").read_text(encoding="utf-8")),
        chosen=chosen,
        shared=shared,
        roles=explained_prompt_roles(roles),
        prompts=prompts,
        n_tokens=n_tokens,
        # Scripts of ours and of circuitsvis, whose texts are made safe where they are put together.
        bundle=Markup(drawn.bundle),
        calls=[Markup(call) for call in drawn.calls],
    )


def _look(number: int, example: Example, head: Head, n_tokens: int) -> tuple[list[Pattern], list[Any]]:
    """Where a head looks in one prompt: the pictures, clean and corrupted, and the rows of the table."""
    darkest = example.darkest(head)
    shown = slice(-n_tokens, None)
    pictures = [
        Pattern(f"prompt-{number}-{head}-{name}", side.tokens[shown], side.patterns[head][shown, shown], darkest)
        for name, side in (("clean", example.clean), ("corrupted", example.corrupted))
    ]
    return pictures, _strongest(example, head)


def _strongest(example: Example, head: Head) -> list[tuple[str, list[_Weight]]]:
    """The last row of a head's pattern: rank -> the tokens with the largest weights; the others in one row."""
    sides = [_ranked(side, head) for side in (example.clean, example.corrupted)]
    n = len(sides[0])
    rows = [(str(rank + 1), [side[rank] for side in sides]) for rank in range(min(_STRONGEST, n))]
    if n > _STRONGEST:
        where = f"the other {pluralize(n - _STRONGEST, 'token')}"
        others = [_Weight("", where, sum(each.weight for each in side[_STRONGEST:])) for side in sides]
        rows.append((f"{_STRONGEST + 1} to {n}", others))
    return rows


def _ranked(side: Side, head: Head) -> list[_Weight]:
    weights = side.patterns[head][-1]
    return [
        _Weight(side.tokens[place], ", ".join((str(place), *side.roles[place : place + 1])), float(weights[place]))
        for place in np.argsort(-weights, kind="stable").tolist()
    ]


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
    )
    environment.filters |= {"number": number_text, "lines": shown_lines}
    environment.globals |= {"line": line, "interval": interval_text, "known": math.isfinite, "pluralize": pluralize}
    return environment.get_template("view.html.jinja")


def thumbnails(example: Example, heads: Iterable[Head]) -> dict[str, dict[str, Any]]:
    """Pattern of every head in a prompt, clean and corrupted, on its last 32 tokens, as JSON holds it.

    `shades` are a byte per pair of tokens (from, then to) in base64, 255 for `darkest` and above.
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
