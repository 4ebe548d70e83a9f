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
from headcats.errors import pluralize
from headcats.models.head import Head
from headcats.prompts.role_meanings import explained_prompt_roles
from headcats.reports.attention.chosen import Choice, Chosen, ShownHead
from headcats.reports.attention.examples import Example, Side
from headcats.reports.attention.pictures import Pattern, draw, tokens_that_fit

GENERATOR = "headcats views"
"""What tells our pages from other files in the folder."""
# Tokens that a table names; the others are summed up in its last row.
_STRONGEST = 5
_CUT = (
    "The pictures show the last {kept} of {length} tokens and count them from 0 at position {first}; rows that look "
    "further back do not sum to 1 there. The tables cover all tokens."
)
# A head that looks at everything alike is to look pale.
_LEAST_DARKEST = 0.2
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Around:
    """What all pages of a folder share.

    Attributes:
        model: Name of the model.
        suite: Name of the suite.
        choice: Heads and tasks of every category.
        files: Category -> file name, in the order of the categories.
        notes: Warnings about the categories.
    """

    model: str
    suite: str
    choice: Choice
    files: Mapping[str, str]
    notes: Sequence[str]


def view_page(chosen: Chosen, shown: Sequence[Example], around: Around) -> str:
    """The page of one category as HTML, with everything in it that it needs.

    Args:
        chosen: Heads and tasks.
        shown: Example prompts with the patterns of these heads.
        around: What all pages share.

    Raises:
        HeadcatsError: A version of circuitsvis whose pictures cannot be used.
    """
    n_pictures = 2 * len(shown) * len(chosen.heads)
    n_tokens = tokens_that_fit(max(len(example.clean.tokens) for example in shown), pictures=n_pictures)
    patterns: list[Pattern] = []
    prompts = [
        _prompt(number, example, chosen.heads, n_tokens, patterns) for number, example in enumerate(shown, start=1)
    ]
    pictures = draw(patterns)
    roles = list(dict.fromkeys(role for example in shown for role in example.clean.roles))
    title = f"{chosen.category}: where its heads look"
    return _template().render(
        title=f"{title} ({around.model})",
        heading=title,
        generator=GENERATOR,
        style=_plain("view.css"),
        under=f"Model {around.model}, suite {around.suite}. Attention of its strongest heads on example prompts.",
        pages=_other_pages(chosen.category, around.files),
        category=chosen.category,
        why=chosen.why,
        by=around.choice.by,
        measure=around.choice.measure,
        heads=[_row(head, len(chosen.tasks)) for head in chosen.heads],
        roles="; ".join(explained_prompt_roles(roles)),
        prompts=prompts,
        notes=[*around.notes, *(f"{name} has no page: {reason}." for name, reason in around.choice.left_out.items())],
        made=f"Made by headcats {headcats.__version__} with circuitsvis. This page loads nothing from the network.",
        # Scripts of ours and of circuitsvis, whose texts are made safe where they are put together.
        bundle=Markup(pictures.bundle),
        calls=[Markup(call) for call in pictures.calls],
    )


def _prompt(
    number: int, example: Example, heads: Sequence[ShownHead], n_tokens: int, patterns: list[Pattern]
) -> dict[str, Any]:
    """One prompt for the template; its pictures are added to `patterns`."""
    length = len(example.clean.tokens)
    sides = [("Clean prompt.", example.clean), ("Corrupted prompt.", example.corrupted)]
    return {
        "heading": f"Prompt {number}: {example.task}, “{example.item}”",
        "answer": _answer(example),
        "sides": [
            {"name": name, "text": side.text, "says": f"The model says “{side.says}” (probability {side.p:.2f})."}
            for name, side in sides
        ],
        "cut": _CUT.format(kept=n_tokens, length=length, first=length - n_tokens) if n_tokens < length else "",
        "blocks": [_block(number, example, head, min(n_tokens, length), patterns) for head in heads],
    }


def _other_pages(category: str, files: Mapping[str, str]) -> list[dict[str, str]]:
    """Where the pages of all categories are, this one without; nothing where it is the only one."""
    pages = [{"category": name, "file": file if name != category else ""} for name, file in files.items()]
    return pages if len(pages) > 1 else []


def _answer(example: Example) -> str:
    tokens = example.clean.tokens
    return (
        f"The answer is “{example.answer}”; the corrupted prompt ({example.distractor_task}) suggests "
        f"“{example.distractor}” instead. The answer is read after the last token, “{tokens[-1]}” at position "
        f"{len(tokens) - 1}{'' if example.right else '. Here the model does not find it'}."
    )


def _block(number: int, example: Example, head: ShownHead, n_tokens: int, patterns: list[Pattern]) -> dict[str, Any]:
    pictures = []
    # Not the largest of all: the first token can look at nothing but itself, with weight 1.
    last = [float(side.patterns[head.head][-1].max()) for side in (example.clean, example.corrupted)]
    darkest = max(_LEAST_DARKEST, *last)
    for name, side in (("Clean", example.clean), ("Corrupted", example.corrupted)):
        element = f"prompt-{number}-{head.head}-{name.lower()}"
        weights = side.patterns[head.head][-n_tokens:, -n_tokens:]
        patterns.append(Pattern(element, side.tokens[-n_tokens:], weights, darkest))
        pictures.append(
            {"element": element, "caption": f"{name} prompt; darkest colour: weight {darkest:.2f} and above"}
        )
    caption = f"Where {head.head} looks from the last token of prompt {number}: token, position and part"
    return {
        "head": str(head.head),
        "numbers": _numbers(head),
        "pictures": pictures,
        "table": {"label": caption, "caption": caption, "rows": _strongest(example, head.head)},
    }


def _strongest(example: Example, head: Head) -> list[dict[str, Any]]:
    """The last row of a head's pattern: the tokens with the largest weights, and the rest in one row."""
    sides = [_ranked(side, head) for side in (example.clean, example.corrupted)]
    n = len(sides[0])
    rows = [{"rank": str(rank + 1), "cells": [side[rank] for side in sides]} for rank in range(min(_STRONGEST, n))]
    if n > _STRONGEST:
        rest = [
            {"token": "", "where": f"the other {pluralize(n - _STRONGEST, 'token')}", "weight": _weight(share)}
            for share in (sum(cell["share"] for cell in side[_STRONGEST:]) for side in sides)
        ]
        rows.append({"rank": f"{_STRONGEST + 1} to {n}", "cells": rest})
    return rows


def _ranked(side: Side, head: Head) -> list[dict[str, Any]]:
    weights = side.patterns[head][-1]
    tokens = []
    for place in np.argsort(-weights, kind="stable").tolist():
        role = f", {side.roles[place]}" if side.roles else ""
        share = float(weights[place])
        tokens.append(
            {"token": side.tokens[place], "where": f"{place}{role}", "weight": _weight(share), "share": share}
        )
    return tokens


def _weight(share: float) -> str:
    return f"{share:.2f}"


def _numbers(head: ShownHead) -> str:
    interval, q = _interval(head), _q(head)
    texts = [f"effect {head.effect:.2f}", f"95 % interval {interval}" if interval else "", f"q {q}" if q else ""]
    return ", ".join(filter(None, texts)) + ("" if head.status == "in" else f" ({head.status})")


def _row(head: ShownHead, n_tasks: int) -> dict[str, str]:
    """The numbers of a head as text."""
    return {
        "name": str(head.head),
        "status": head.status,
        "effect": f"{head.effect:.2f}",
        "interval": _interval(head),
        "q": _q(head),
        "tasks": f"{len(head.tasks)} of {pluralize(n_tasks, 'task')}",
    }


def _interval(head: ShownHead) -> str:
    return "" if math.isnan(head.low) else f"{head.low:.2f} to {head.high:.2f}"


def _q(head: ShownHead) -> str:
    return "" if math.isnan(head.q) else f"{head.q:.2g}"


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False
    )
    return environment.get_template("view.html.jinja")


def _plain(name: str) -> Any:
    """A file of this package as it is."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))
