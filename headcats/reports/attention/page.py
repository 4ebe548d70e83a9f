"""One page of a category: its heads, example prompts, and where each head looks in them."""

import functools
import math
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class Shared:
    """Parts that all pages of a folder share.

    Attributes:
        files: Category -> file name, in the order of the categories.
        notes: Warnings about the categories.
    """

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
    """The page of one category as HTML, with everything in it that it needs; `shown` are its example prompts.

    Raises:
        HeadcatsError: A version of circuitsvis whose pictures cannot be used.
    """
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
