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
from headcats.reports.attention.examples import thumbnails

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


def test_the_first_prompt_that_the_model_answers_rightly(model: HookedModel) -> None:
    batch = prompts(["w42", "w40", "w43", "w40"])  # the answer is w40 in all of them
    # Of the commonest length.
    for batches, item in (
        ([batch], "query 1"),
        ([prompts(["w40"]), batch], "query 1"),
        ([prompts(["w42"])], "query 0"),
    ):
        assert thumbnails(model, batches, HEADS)["L0H0"]["item"] == item


@pytest.mark.both_versions
def test_a_thumbnail_holds_the_pattern_and_where_the_last_token_looks(model: HookedModel) -> None:
    small = thumbnails(model, [prompts(["w40"])], HEADS)
    assert list(small) == ["L0H0", "L1H3"]
    about = small["L0H0"]
    assert (about["task"], about["item"], about["darkest"]) == ("always_a", "query 0", 0.2)
    tokens = ["<bos>", "w1", "→", "w40", "↵", "w2", "→", "w40", "↵", "w3", "→"]
    by_hand = np.tril(np.ones((11, 11))) / np.arange(1, 12)[:, None]
    for side in ("clean", "corrupted"):
        shown = about[side]
        assert (shown["n"], shown["from"]) == (11, "→")
        shades = np.frombuffer(base64.b64decode(shown["shades"]), np.uint8).reshape(11, 11)
        np.testing.assert_allclose(shades, np.minimum(255 * by_hand / 0.2, 255), atol=0.51)
        # Eleven tokens with the same weight: the first three of them, each with a rounded eleventh.
        roles = ("bos", "x1", "between1")
        assert shown["looks"] == [[f"{token} ({role})", 0.09] for token, role in zip(tokens, roles, strict=False)]
    assert small["L1H3"]["clean"]["shades"] != small["L1H3"]["corrupted"]["shades"]
