"""Contrastive gates: the loss of the formula, and planted heads of two kinds of text."""

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from gate_toys import answered_slots, token_batch
from literal_gates import adam, contrast, log_prob, text_log_probs
from planted import planted_model
from toy_cases import shared_toy

from headcats.errors import DataError, StatisticsWarning
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.head_gating.contrast import _lowered, contrastive_gates
from headcats.papers.head_gating.log_probs import log_prob_gradient
from headcats.papers.head_gating.pairing import paired
from headcats.papers.head_gating.settings import GatingSettings
from headcats.papers.head_gating.stages import start
from headcats.papers.head_gating.texts import gate_texts
from headcats.prompts.answered import AnsweredBatch, AnsweredText
from headcats.prompts.pair import Span
from headcats.statistics.random_streams import stream

SETTINGS = GatingSettings(updates=3, max_norm=0.05, clamp=1.0, held_out=0.01)
RETAIN, FORGET = (token_batch(3, 7, targets=(2, 6)), token_batch(2, 5)), (token_batch(5, 6, seed=3),)


@pytest.fixture(scope="module")
def words() -> HookedModel:
    toy = shared_toy(n_layers=1)
    return HookedModel(toy.model, tokenizer=toy.tokenizer)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What random weights say of texts that were not fitted does not get better."""
    monkeypatch.setattr("headcats.papers.head_gating.contrast.check_better", lambda *numbers, **names: None)


def held_apart(model: Any, *, retain: Any = RETAIN, forget: Any = FORGET, paired: bool = True) -> dict[str, Any]:
    """Kind -> the texts that are fitted, and those held out, at seed 7."""
    split = {}
    for kind, data in (("retain", retain), ("forget", forget)):
        draws = stream(7, "contrastive_gates", "pairs" if paired else kind, "held out")
        split[kind] = gate_texts(adapt(model), list(data), name=kind).split(0.01, draws)
    return split


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "clamped", ["some pairs", *(pytest.param(name, marks=pytest.mark.slow) for name in ("no pair", "all"))]
)
def test_updates_follow_the_formula(clamped: str) -> None:
    toy = shared_toy("llama" if clamped == "all" else "gpt2")
    split = held_apart(toy.model)
    begin = start(torch.ones(2, 4, dtype=torch.bool), names=("contrast", "1"), seed=7).detach()
    with torch.no_grad():
        kept, lost = (text_log_probs(toy.model, split[kind][0].rows, begin.sigmoid()) for kind in split)
    floor = {"no pair": -5.0, "some pairs": float((lost - kept).sort().values[1:3].mean()), "all": 5.0}[clamped]
    settings = GatingSettings(updates=3, max_norm=0.05, clamp=1.0, held_out=0.01, forget_floor=floor)
    found = contrastive_gates(toy.model, list(RETAIN), list(FORGET), preset=settings, n_seeds=2, seed=7)
    above, means = [], {"retain": [], "forget": []}

    def loss(theta: torch.Tensor) -> torch.Tensor:
        kept, lost = (text_log_probs(toy.model, split[kind][0].rows, theta.sigmoid()) for kind in means)
        above.extend((lost - kept > floor).tolist())
        for kind, values in zip(means, (kept, lost), strict=True):
            means[kind].append(float(values.detach().mean()))
        return contrast(kept, lost, theta, floor=floor, clamp=1.0)

    theta, norms = adam(loss, begin, rates=[0.1, 0.055, 0.01], max_norm=0.05)
    assert max(norms) > 0.05
    assert set(above) == {"no pair": {True}, "some pairs": {True, False}, "all": {False}}[clamped]
    assert np.abs(found.gate.sel(seed=1).values - theta.sigmoid().numpy()).max() < 1e-6
    for kind, of_updates in means.items():
        assert found[f"{kind}_batch"].sel(seed=1).values.tolist() == pytest.approx(of_updates, abs=1e-6)
        expected = [
            float(log_prob(toy.model, split[kind][1].rows, gates).detach())
            for gates in (torch.ones(2, 4), begin.sigmoid(), theta.sigmoid())
        ]
        assert found[kind].sel(seed=1).values.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("unchecked")
def test_texts_of_the_same_items_are_pairs_and_held_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = shared_toy().model, []

    def watched(model: Any, texts: Any, places: Any, theta: Any, **options: Any) -> Any:
        asked.append([texts.items[place] for place in places])
        return log_prob_gradient(model, texts, places, theta, **options)

    monkeypatch.setattr("headcats.papers.head_gating.contrast.log_prob_gradient", watched)
    settings = GatingSettings(updates=2, batch=3, held_out=0.3)
    for forget, in_pairs in ((FORGET, True), ((token_batch(4, 6, seed=3),), False)):
        asked.clear()
        with nullcontext() if in_pairs else pytest.warns(StatisticsWarning, match="at random"):
            found = contrastive_gates(model, list(RETAIN), list(forget), preset=settings, n_seeds=1)
        assert ("same items" in json.loads(found.attrs["provenance"])["pairs"]) == in_pairs
        assert [len(items) for items in asked] == [3] * 4
        same = [kept == lost for kept, lost in zip(asked[::2], asked[1::2], strict=True)]
        assert all(same) == in_pairs


def asking(words: Sequence[str], *, task: str, before: str = "", copies: int = 1) -> list[AnsweredText]:
    """Texts that ask these words, each answered by itself."""
    prompts = [(f"{before}{word} →", word) for word in words for _ in range(copies)]
    return [
        AnsweredText(f"{prompt} {word}", (Span(len(prompt), len(prompt) + 1 + len(word)),), item=word, task=task)
        for prompt, word in prompts
    ]


def test_pairs_are_found_by_item_whatever_the_task_the_order_and_the_length(words: HookedModel) -> None:
    asked = [f"w{number}" for number in range(6)]
    kept = asking(asked, task="letters", copies=2)
    short, long = asking(asked[:2], task="words"), asking(asked[::-1], task="words", before="w9,w8,", copies=2)
    retain = gate_texts(words, kept, name="retain")
    first, second = paired(retain, gate_texts(words, [*short, *long[:-4]], name="forget"))
    assert (
        first.items
        == second.items
        == tuple(("", word) for word in asked[:2]) + tuple(("", word) for word in asked[2:] for _ in range(2))
    )
    for one, other in zip(first.rows, second.rows, strict=True):
        assert one[0][one[1]].tolist() == other[0][other[1]].tolist()
    held = [texts.split(0.3, stream(0, "a")) for texts in (first, second)]
    assert [texts.items for texts in held[0]] == [texts.items for texts in held[1]]
    # Two tasks that share their words are told apart where both data sets have both.
    both = [*asking(asked, task="a"), *asking(asked, task="b")]
    one, other = paired(gate_texts(words, both, name="retain"), gate_texts(words, both[::-1], name="forget"))
    assert one.items == other.items == tuple((text.task, text.item) for text in both)


def test_too_few_of_the_same_items_are_no_pairs(words: HookedModel) -> None:
    kept = gate_texts(words, asking([f"w{number}" for number in range(6)], task="a"), name="retain")
    for first, expected in ((3, True), (4, False)):
        lost = gate_texts(words, asking([f"w{first + number}" for number in range(6)], task="b"), name="forget")
        assert (paired(kept, lost) is not None) == expected


@pytest.mark.usefixtures("unchecked")
def test_texts_without_a_partner_are_counted(words: HookedModel) -> None:
    asked = [f"w{number}" for number in range(6)]
    unknown = replace(asking(["w1"], task="b")[0], text="new → w1", key="strange")
    with pytest.warns(StatisticsWarning) as warned:
        found = contrastive_gates(
            words,
            asking(asked, task="a"),
            [*asking(asked[1:], task="b", before="w9,"), unknown],
            preset=GatingSettings(updates=1, batch=2),
            n_seeds=1,
        )
    dropped, left_out = (str(warning.message) for warning in warned)
    assert "'strange'" in dropped
    assert "1 text to" in left_out
    assert "0 texts to" in left_out
    assert "same items" in json.loads(found.attrs["provenance"])["pairs"]


@pytest.mark.usefixtures("unchecked")
def test_one_seed_equals_itself_among_others_and_the_result_is_labelled() -> None:
    model = shared_toy().model
    some, one = (contrastive_gates(model, list(RETAIN), list(FORGET), preset=SETTINGS, n_seeds=n) for n in (2, 1))
    assert some.gate.dims == ("seed", "layer", "head")
    assert some.retain.dims == some.forget.dims == ("seed", "when")
    assert some.when.values.tolist() == ["open", "start", "fitted"]
    assert some.retain_batch.dims == some.forget_batch.dims == ("seed", "update")
    assert some["update"].values.tolist() == [1, 2, 3]
    assert some.sel(seed=[0]).equals(one)
    assert "updates=3" in json.loads(some.attrs["provenance"])["settings"]


def test_the_head_of_what_is_forgotten_is_shut() -> None:
    """One head brings the answer from slot 1, one from slot 2; who keeps the one kind of text needs the first alone."""
    model = planted_model({(0, 1): 1, (1, 2): 2})
    first = answered_slots(32)
    swapped = first.tokens[:, [0, 2, 1, 3, 4]]
    second = AnsweredBatch(swapped, first.targets, first.texts)
    settings = GatingSettings(updates=20, batch=16, first_rates=(0.5, 0.1))
    found = contrastive_gates(model, [first], [second], preset=settings, n_seeds=1)
    gates = found.gate.sel(seed=0)
    assert float(gates.sel(layer=0, head=1)) > 0.5
    assert float(gates.sel(layer=1, head=2)) < 0.2
    assert float(found.retain.sel(seed=0, when="fitted")) > float(found.retain.sel(seed=0, when="open"))
    assert float(found.forget.sel(seed=0, when="fitted")) < float(found.forget.sel(seed=0, when="open")) - 1


def test_a_fit_that_is_not_better_than_its_start_is_refused() -> None:
    model, first = planted_model({(0, 1): 1, (1, 2): 2}), answered_slots(32)
    second = AnsweredBatch(first.tokens[:, [0, 2, 1, 3, 4]], first.targets, first.texts)
    for floor in (-5.0, 0.0):
        still = GatingSettings(updates=1, first_rates=(1e-9, 1e-9), forget_floor=floor)
        with pytest.raises(DataError, match=r"seed 0, .* after contrast"):
            contrastive_gates(model, [first], [second], preset=still, n_seeds=1)
    # Of two pairs -1 and -7, which the floor makes -5; less the mean of what is retained.
    assert _lowered(torch.tensor([-1.0, -2.0, -6.0]), torch.tensor([-2.0, -9.0]), -5.0) == -3 + 3


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = shared_toy().model
    with pytest.raises(DataError, match="'forget' must be"):
        contrastive_gates(model, list(RETAIN), [])
    with pytest.raises(DataError, match="two items"):
        contrastive_gates(model, [token_batch(1)], list(FORGET))
    monkeypatch.setattr(
        "headcats.papers.head_gating.contrast.log_prob_gradient",
        lambda *a, **o: (torch.full((4,), math.nan), torch.zeros(2, 4)),
    )
    with pytest.raises(DataError, match=r"seed 0, .* update 1 .* nan"):
        contrastive_gates(model, list(RETAIN), list(FORGET), preset=SETTINGS, n_seeds=2)
