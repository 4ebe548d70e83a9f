"""`hc.attention`: patterns of chosen heads in a text, and pictures of circuitsvis that pages without network hold."""

import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from circuitsvis import attention
from toys import BACKENDS, WORDS, tiny_model

import headcats as hc
from headcats.base.errors import DataError, HeadcatsError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.patterns import hook_pattern
from headcats.reports.attention.inline import Pattern, draw, tokens_that_fit

TEXT = "w1→w2\nw3→"


@pytest.mark.both_versions
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_patterns_are_those_of_the_heads_in_the_order_of_the_heads(backend):
    toy = tiny_model("llama", backend)
    looks = hc.attention(hc.load_model(toy.model, tokenizer=toy.tokenizer), TEXT, heads=["L2H3", "0.1", (2, 0)])
    ids = [0, *(WORDS.index(word) for word in ("w1", "→", "w2", "\n", "w3", "→"))]
    assert looks.patterns["to_token"].values.tolist() == ["<bos>", "w1", "→", "w2", "↵", "w3", "→"]
    assert looks.patterns["head"].values.tolist() == ["L2H3", "L0H1", "L2H0"]
    with torch.no_grad():
        _, cache = toy.model.run_with_cache(torch.tensor([ids]))
    for place, (layer, head) in enumerate([(2, 3), (0, 1), (2, 0)]):
        expected = cache[hook_pattern(layer)][0, head].numpy()
        np.testing.assert_allclose(looks.patterns[place], expected, atol=1e-6)


@pytest.fixture(scope="module")
def model():
    toy = tiny_model("gpt2")
    return hc.load_model(toy.model, tokenizer=toy.tokenizer)


def test_a_notebook_gets_everything_and_asks_for_nothing(model):
    looks = hc.attention(model, TEXT, heads=["L0H1", "L1H0", "L0H1"])
    first, second = looks._repr_html_(), looks._repr_html_()
    elements = re.findall(r'<div id="(attention-[^"]+)"', first)
    assert len(elements) == len(set(elements)) == 2  # a head that is named twice is shown once
    assert re.findall(r'CircuitsVis\.render\("(attention-[^"]+)"', first) == elements
    assert not set(elements) & set(re.findall(r'<div id="([^"]+)"', second))
    assert first.count("</script>") == 1
    assert not re.search(r'(?:src|href)="|\bimport\s*\{', first)


def test_long_texts_show_their_end_and_say_so(model, monkeypatch):
    monkeypatch.setattr("headcats.reports.attention.inline.tokens_that_fit", lambda length, pictures: 3)
    looks = hc.attention(model, TEXT, heads=["L0H1"])
    assert "last 3 of 7 tokens" in looks._repr_html_()
    assert looks.patterns.shape == (1, 7, 7)


@pytest.mark.usefixtures("unchecked_types")
def test_refusals(model):
    for text, heads, message in (
        ("", ["L0H1"], "one token"),
        (7, ["L0H1"], "one token"),
        (TEXT, "L0H1", "list of heads"),
        (TEXT, [], "list of heads"),
        (TEXT, ["L0H9"], "no head L0H9"),
        ("w1→" * 50, ["L0H1"], "at most 64"),
        ("w1→nonsense", ["L0H1"], "no token for 'nonsense'"),
    ):
        with pytest.raises(DataError, match=message):
            hc.attention(model, text, heads=heads)


def test_a_model_without_tokenizer_or_pattern(model, monkeypatch):
    bare = HookedModel(model.model)
    bare.tokenizer = None
    with pytest.raises(ModelError, match="no tokenizer"):
        hc.attention(bare, TEXT, heads=["L0H1"])
    monkeypatch.setattr("headcats.models.patterns.hook_pattern", lambda layer: "fused")
    with pytest.raises(ModelError, match="fused"):
        hc.attention(model, TEXT, heads=["L0H1"])


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
