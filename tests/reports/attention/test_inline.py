"""`hc.attention`: the patterns of chosen heads in a text, and pictures that a notebook shows without network."""

import re

import numpy as np
import pytest
import torch
from toys import BACKENDS, WORDS, tiny_model

import headcats as hc
from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.patterns import hook_pattern

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
