"""Example prompts of the counting model, whose head L0H0 gives every token it sees the same weight."""

import base64
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from toys import WORDS

from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.reports.attention.examples import examples, spread
from headcats.reports.attention.page import thumbnails

HEADS = [Head(0, 0), Head(1, 3)]


def prompts(outputs: Sequence[str]) -> PromptBatch:
    """One prompt for each output: two demonstrations that show it, a query, and w41 in the corrupted prompt."""
    rows = [["<bos>", "w1", "→", shown, "\n", "w2", "→", shown, "\n", "w3", "→"] for shown in outputs]
    labels = ("bos", "x1", "between1", "y1", "after1", "x2", "between2", "y2", "after2", "x_query", "between_query")
    clean = torch.tensor([[WORDS.index(word) for word in row] for row in rows])
    corrupted = clean.clone()
    corrupted[:, [3, 7]] = WORDS.index("w41")
    return PromptBatch(
        clean=clean,
        corrupted=corrupted,
        answer=torch.full((len(rows),), WORDS.index("w40")),
        distractor=torch.full((len(rows),), WORDS.index("w41")),
        keys=tuple(f"prompt {row}" for row in range(len(rows))),
        items=tuple(f"query {row}" for row in range(len(rows))),
        distractor_tasks=("always_b",) * len(rows),
        labels=(labels,) * len(rows),
        corrupted_labels=(labels,) * len(rows),
        task="always_a",
    )


def test_the_first_prompts_that_the_model_answers_rightly(model: HookedModel) -> None:
    batch = prompts(["w42", "w40", "w43", "w40", "w40"])  # the answer is w40 in all of them
    found = examples(model, [batch], HEADS, n=2)
    assert [one.item for one in found] == ["query 1", "query 3"]
    assert all(one.right for one in found)
    found = examples(model, [batch], HEADS, n=4)
    assert [(one.item, one.right) for one in found] == [
        ("query 1", True), ("query 3", True), ("query 4", True), ("query 0", False),
    ]  # fmt: skip
    assert len(examples(model, [batch], HEADS, n=9)) == 5
    # Of the commonest length.
    found = examples(model, [prompts(["w40"]), batch], HEADS, n=1)
    assert [one.item for one in found] == ["query 1"]


def test_what_an_example_holds(model: HookedModel) -> None:
    (one,) = examples(model, [prompts(["w40"])], HEADS, n=1)
    assert (one.task, one.distractor_task, one.answer, one.distractor) == ("always_a", "always_b", "w40", "w41")
    assert one.clean.tokens == ("<bos>", "w1", "→", "w40", "↵", "w2", "→", "w40", "↵", "w3", "→")
    assert one.corrupted.tokens == tuple("w41" if token == "w40" else token for token in one.clean.tokens)
    assert one.clean.roles[3] == one.corrupted.roles[3] == "y1"
    assert "w40" in one.clean.text
    assert (one.clean.says, one.corrupted.says) == ("w40", "w41")
    assert 0.5 < one.clean.p <= 1


@pytest.mark.both_versions
def test_patterns_of_a_head_that_looks_at_all_tokens_alike(model: HookedModel) -> None:
    (one,) = examples(model, [prompts(["w40"])], HEADS, n=1)
    by_hand = np.tril(np.ones((11, 11))) / np.arange(1, 12)[:, None]
    for side in (one.clean, one.corrupted):
        assert list(side.patterns) == HEADS
        np.testing.assert_allclose(side.patterns[Head(0, 0)], by_hand, atol=1e-6)
        np.testing.assert_allclose(side.patterns[Head(1, 3)].sum(-1), 1, atol=1e-6)
    assert np.abs(one.clean.patterns[Head(1, 3)] - one.corrupted.patterns[Head(1, 3)]).max() > 1e-3


def test_prompts_are_spread_over_tasks() -> None:
    assert spread(2, ["a", "b"]) == {"a": 1, "b": 1}
    assert spread(3, ["a", "b"]) == {"a": 2, "b": 1}
    assert spread(1, ["a", "b"]) == {"a": 1}
    assert spread(2, ["a"]) == {"a": 2}


def test_a_thumbnail_holds_the_pattern_and_where_the_last_token_looks(model: HookedModel) -> None:
    (example,) = examples(model, [prompts(["w40"])], HEADS, n=1)
    small = thumbnails(example, HEADS)
    assert list(small) == ["L0H0", "L1H3"]
    about = small["L0H0"]
    assert (about["task"], about["item"]) == ("always_a", example.item)
    for side, shown in ((example.clean, about["clean"]), (example.corrupted, about["corrupted"])):
        n = len(side.tokens)
        shades = np.frombuffer(base64.b64decode(shown["shades"]), np.uint8).reshape(n, n)
        assert shown["n"] == n
        assert (np.triu(shades, 1) == 0).all()
        assert shades[0, 0] == 255
        # Eleven tokens with the same weight: the first three of them, each with a rounded eleventh.
        assert shown["from"] == side.tokens[-1]
        assert shown["looks"] == [
            [f"{token} ({role})", 0.09] for token, role in list(zip(side.tokens, side.roles, strict=True))[:3]
        ]
