"""The published copy-paste score against a literal replica, and texts with a needle of any tokenizer."""

import numpy as np
import pytest
import torch
from architectures import tiny_bridge
from toys import Toy

import headcats as hc
from headcats.base.errors import DataError, OptionError
from headcats.papers.retrieval_head.copying import needle_sequences, retrieval_scores

OPTIONS = {"n_samples": 12, "length": 24, "needle": 2}


def test_scores_are_those_of_a_literal_replica() -> None:
    model = hc.load_model("mini-cognitive")
    scores = retrieval_scores(model, **OPTIONS)
    drawn = needle_sequences(model, **OPTIONS)
    expected, copied = np.zeros(scores.retrieval.shape), 0.0
    for tokens, needle, places in zip(*drawn, strict=True):
        with torch.no_grad():
            logits, cache = model.model.run_with_cache(tokens[None])
        for step, (token, place) in enumerate(zip(needle.tolist(), places.tolist(), strict=True)):
            at = len(tokens) - 2 + step
            if int(logits[0, at].argmax()) != token:
                continue
            copied += 1 / 24
            for row, layer in enumerate(model.layers):
                pattern = cache[f"blocks.{layer}.attn.hook_pattern"][0, :, at]
                expected[row] += (pattern.argmax(-1) == place).numpy() / 24
    np.testing.assert_allclose(scores.retrieval.values, expected, atol=1e-9)
    assert scores.attrs["copied"] == pytest.approx(copied)
    assert 0 < float(scores.retrieval.max()) <= copied
    assert (scores.low <= scores.retrieval).all()
    assert (scores.retrieval <= scores.high).all()
    assert scores.attrs["n_needed"] > 12


def test_the_needle_stands_in_the_text_and_at_its_end(each_toy: Toy) -> None:
    drawn = needle_sequences(each_toy.model, n_samples=5, length=20, needle=3)
    assert (drawn.tokens.gather(1, drawn.places) == drawn.needle).all()
    assert (drawn.tokens[:, -2:] == drawn.needle[:, :-1]).all()
    keys = torch.stack([row[place[0] - 3 : place[0]] for row, place in zip(drawn.tokens, drawn.places, strict=True)])
    assert (drawn.tokens[:, -5:-2] == keys).all()
    assert len({int(place[0]) for place in drawn.places}) == 5  # depths
    again = needle_sequences(each_toy.model, n_samples=5, length=20, needle=3, seed=1)
    assert not torch.equal(again.tokens, drawn.tokens)


def test_scores_stand_on_a_map_as_a_descriptor() -> None:
    scores = retrieval_scores("mini-cognitive", **OPTIONS)
    assert scores.retrieval.attrs["units"] == "share of needle tokens"
    assert scores.retrieval.dims == hc.describe_heads("mini-cognitive").induction.dims


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(DataError, match="no room"):
        needle_sequences(tiny_bridge("gpt2"), needle=40)
    with pytest.raises(DataError, match="no token of the needles"):
        retrieval_scores(tiny_bridge("gpt2"), n_samples=1, length=16, needle=1)
    with pytest.raises(OptionError, match="n_samples"):
        retrieval_scores(tiny_bridge("gpt2"), n_samples=0)
