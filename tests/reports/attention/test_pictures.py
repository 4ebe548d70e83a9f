"""Pictures of circuitsvis: its script once, calls that a page can hold, and sizes that open."""

import json
import re
from typing import Any

import numpy as np
import pytest
from circuitsvis import attention

from headcats.base.errors import HeadcatsError
from headcats.reports.attention.inline import Pattern, draw, tokens_that_fit


def pattern(element: str = "first", tokens: tuple[str, ...] = ("a", "b"), **more: Any) -> Pattern:
    n = len(tokens)
    weights = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    return Pattern(element, tokens, **{"weights": weights} | more)


def properties(call: str) -> dict[str, Any]:
    """What circuitsvis is given, as its script reads it."""
    return json.loads(
        re.fullmatch(r'CircuitsVis.render\("[^"]*",\s*CircuitsVis.AttentionPattern,\s*(.*)\)', call, re.S)[1]
    )


def test_the_script_is_there_once() -> None:
    made = draw([pattern("first"), pattern("second")])
    assert made.bundle.startswith('"use strict";')
    assert made.bundle.count("var CircuitsVis=") == 1
    assert len(made.bundle) > 1_000_000
    assert "sourceMappingURL" not in made.bundle
    assert [call.partition(",")[0] for call in made.calls] == [
        'CircuitsVis.render("first"',
        'CircuitsVis.render("second"',
    ]
    assert all(len(call) < 1000 for call in made.calls)
    # The same patterns, the same scripts.
    assert draw([pattern("first"), pattern("second")]) == made


def test_what_a_picture_shows() -> None:
    weights = np.array([[1, 0], [0.24849, 0.75151]])
    given = properties(draw([pattern(weights=weights)]).calls[0])
    assert given["attention"] == [[1, 0], [0.248, 0.752]]
    assert (given["minValue"], given["maxValue"]) == (0, 1)
    assert given["tokens"] == ["a", "b"]


def test_tokens_that_could_end_the_script_or_are_long() -> None:
    tokens = ("</script><b>", "<!--", "CircuitsVis.render(", '"', "x" * 50)
    (call,) = draw([pattern(tokens=tokens)]).calls
    assert "<" not in call
    assert properties(call)["tokens"] == [*tokens[:4], "x" * 19 + "…"]


def test_another_form_of_its_pages_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        local_src = "<circuits-vis></circuits-vis>"

    monkeypatch.setattr(attention, "attention_pattern", lambda **given: Other())
    with pytest.raises(HeadcatsError, match=r"another form .*constraints\."):
        draw([pattern()])


def test_long_prompts_are_cut() -> None:
    for length, pictures, shown in ((23, 16, 23), (400, 16, 136), (400, 1, 400), (2000, 1, 547), (400, 10**6, 16)):
        assert tokens_that_fit(length, pictures=pictures) == shown
