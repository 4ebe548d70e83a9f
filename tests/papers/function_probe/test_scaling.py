import itertools

import numpy as np
import pytest
import torch
import xarray as xr
from decoded import stepwise_log_probs
from planted import planted_model
from toys import Layout, tiny_model, word_tokenizer

from headcats.base.errors import DataError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.function_probe.scaling import random_sets, scale_function_heads
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span

DECODED = ("w1→w2,w3,w4", "w9,w2→w8", "w2,w7→w3,w9,w1,w1")
FIRST, SECOND = Head(0, 1), Head(1, 2)


@pytest.fixture(scope="module")
def model() -> HookedModel:
    """Tokens are [bos, word, mark, comma]: one head copies the word to the answer, the other the mark."""
    return HookedModel(planted_model({(0, 1): 1, (1, 2): 2}), tokenizer=word_tokenizer())


def texts() -> list[AnsweredText]:
    made = []
    for number, mark in itertools.product(range(8), "→\n"):
        for category, answer in (("word", f"w{number}"), ("mark", mark)):
            prompt = f"w{number}{mark},"
            made.append(AnsweredText(prompt + answer, (Span(len(prompt), len(prompt + answer)),), category=category))
    return made


def test_scaling_the_planted_head_harms_its_function_more_than_any_other_head(model: HookedModel) -> None:
    heads = {"word": [FIRST], "mark": ["L1H2"]}
    found = scale_function_heads(model, texts(), heads, n_controls=7)
    drop = found.clean_log_prob - found.log_prob
    for own, other in (("word", "mark"), ("mark", "word")):
        assert float(drop.sel(function=own, target=own)) > 1
        assert float(drop.sel(function=own, target=other)) < 0  # the other answer has a rival less
        assert float(found.p.sel(function=own)) == float(found.p_specific.sel(function=own)) == 1 / 8
    assert found.n.values.tolist() == [16, 16]
    assert found.n_heads.values.tolist() == [1, 1]
    # The word comes first: the head that copies the mark sees a longer residual stream, which LayerNorm makes shorter.
    assert found.clean_accuracy.sel(target=["word", "mark"]).values.tolist() == [1, 0]
    assert found.accuracy.sel(function="word", target=["word", "mark"]).values.tolist() == [0, 1]
    assert found.accuracy.sel(function="mark", target=["word", "mark"]).values.tolist() == [1, 0]


def test_numbers_are_those_of_a_scaled_run(model: HookedModel) -> None:
    found = scale_function_heads(model, texts(), {"word": [FIRST, SECOND]}, scale=0.5, n_controls=2)
    expected = []
    for text in (one for one in texts() if one.category == "mark"):
        ids = torch.tensor([[0, *model.tokenizer(text.text, add_special_tokens=False)["input_ids"]]])

        def halve(head: int):
            def edit(z):
                z = z.clone()
                z[:, -1, head] *= 0.5
                return z

            return edit

        logits = model.logits(ids[:, :-1], edits={0: halve(1), 1: halve(2)})
        expected.append(float(logits.log_softmax(1)[0, ids[0, -1]]))
    assert float(found.log_prob.sel(function="word", target="mark")) == pytest.approx(np.mean(expected), abs=1e-5)


@pytest.mark.parametrize("layout", ["gpt2", "llama"])
def test_one_pass_is_decoding_with_the_last_position_scaled(layout: Layout) -> None:
    """With a cache, which keeps what later layers make of scaled heads; step 0 is the pass over the prompt."""
    toy = tiny_model(layout)
    toys = [AnsweredText(text, (Span(text.index("→") + 1, len(text)),), category="f") for text in DECODED]
    heads = [Head(0, 1), Head(1, 0), Head(1, 3), Head(2, 2)]
    adapted = HookedModel(toy.model, tokenizer=toy.tokenizer)
    found = scale_function_heads(adapted, toys, {"f": heads}, scale=0.25, n_controls=0)
    factors = {layer: torch.ones(4, adapted.d_head[layer]) for layer in adapted.layers}
    for head in heads:
        factors[head.layer][head.head] = 0.25
    means = {}
    for step in (0, 99):  # nothing is scaled from step 99 on
        of_texts = []
        for text in toys:
            ids = [0, *toy.tokenizer(text.text, add_special_tokens=False)["input_ids"]]
            flat = {layer: factor.flatten() for layer, factor in factors.items()}
            prompt = ids.index(3) + 1
            log_probs = stepwise_log_probs(toy.oracle, ids, n_prompt=prompt, factors=flat, from_step=step)
            of_texts.append(np.mean(log_probs))
        means[step] = np.mean(of_texts)
    assert found.log_prob.item() == pytest.approx(means[0], abs=1e-6)
    assert found.clean_log_prob.item() == pytest.approx(means[99], abs=1e-6)
    assert abs(means[0] - means[99]) > 1e-3


def test_heads_may_come_from_a_rule_and_a_function_without_heads_has_no_numbers(model: HookedModel) -> None:
    outcome = xr.DataArray(
        np.zeros((2, 2, 4), dtype=np.int8),
        dims=("category", "layer", "head"),
        coords={"category": ["word", "mark"], "layer": [0, 1], "head": range(4)},
    )
    outcome.loc[{"category": "word", "layer": 0, "head": 1}] = 1
    outcome.loc[{"category": "mark"}] = -1
    found = scale_function_heads(model, texts(), outcome.transpose("head", "layer", "category"), n_controls=3)
    listed = scale_function_heads(model, texts(), {"word": [FIRST], "mark": []}, n_controls=3)
    xr.testing.assert_identical(found, listed)
    assert found.n_heads.values.tolist() == [1, 0]
    assert found.log_prob.sel(function="mark").isnull().all()
    assert np.isnan(found.p.sel(function="mark"))


def test_p_values_compare_drops_with_those_of_the_controls() -> None:
    toy = tiny_model("llama")
    adapted = HookedModel(toy.model, tokenizer=toy.tokenizer)
    made = [AnsweredText(f"w{n}→w{n + 1}", (Span(3, 5),), category="ab"[n % 2]) for n in range(1, 9)]
    apart = 0
    for first, second in (("L0H0", "L0H3"), ("L0H0", "L1H1"), ("L0H2", "L1H0"), ("L0H3", "L1H3")):
        found = scale_function_heads(adapted, made, {"a": [first, second]}, n_controls=6, seed=1).sel(function="a")
        own, other = (found.sel(target=name) for name in "ab")
        drop, aside = (float(one.clean_log_prob - one.log_prob) for one in (own, other))
        random, beside = ((one.clean_log_prob - one.control_log_prob).values for one in (own, other))
        assert float(found.p) == (1 + (random >= drop).sum()) / 7
        assert float(found.p_specific) == (1 + (random - beside >= drop - aside).sum()) / 7
        apart += float(found.p) != float(found.p_specific)
    assert apart > 1


def test_texts_that_are_dropped_are_counted(model: HookedModel) -> None:
    unknown = AnsweredText("x→w1", (Span(2, 4),), key="odd", category="word")
    found = scale_function_heads(model, [*texts(), unknown], {"word": [FIRST]}, n_controls=1, seed=4)
    assert found.attrs["texts"].startswith("32 kept; 1 ")
    assert (found.attrs["scale"], found.attrs["seed"], found.attrs["model"]) == (1e-4, 4, model.name)


def test_random_sets_exclude_the_heads_and_are_distinct() -> None:
    every = [Head(layer, head) for layer in range(3) for head in range(4)]
    heads = (Head(0, 1), Head(2, 2), Head(2, 3))
    sets = random_sets(heads, every, n=50, seed=0)
    assert len(set(sets)) == 50
    assert all(len(set(one)) == 3 and not set(one) & set(heads) for one in sets)
    assert sets == random_sets(heads, every, n=50, seed=0) != random_sets(heads, every, n=50, seed=1)
    assert len({head for one in sets for head in one}) == 9  # every other head is drawn
    assert len(random_sets(tuple(every[:10]), every, n=5, seed=0)) == 0
    assert random_sets(tuple(every[:6]), every, n=5, seed=0) == [tuple(every[6:])]


def test_what_cannot_be_scaled_is_refused(model: HookedModel) -> None:
    for heads, message in (
        ({"word": []}, "no heads"),
        ({"word": [Head(0, 4)]}, "no head L0H4"),
        ({"word": [Head(7, 0)]}, "L7H0"),
        ({"other": [FIRST]}, "function 'other'; .* mark, word"),
    ):
        with pytest.raises(DataError, match=message):
            scale_function_heads(model, texts(), heads)
    with pytest.raises(OptionError, match=r"n_controls .* got -1"):
        scale_function_heads(model, texts(), {"word": [FIRST]}, n_controls=-1)
    with pytest.raises(DataError, match="None of"):
        scale_function_heads(model, [AnsweredText("x→w1", (Span(2, 4),), category="word")], {"word": [FIRST]})
