"""Positions of token roles, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.methods.token_probe.roles import AnswerShape, coinciding
from headcats.methods.token_probe.settings import (
    EXACT_ROLES,
    FROM_THE_END,
    NAMED_ROLES,
    PRESETS,
    REPRESENTATIONS,
    TokenProbeSettings,
)

PAPER = PRESETS["orgad2025"]


def test_the_paper_preset_is_the_one_of_the_method() -> None:
    # Section 5: roles, 80/20 split, answers of >= 5 tokens with an exact answer of >= 2 inside, MLP activations first.
    assert PAPER.roles == (
        "last_q", "first_answer", "second_answer", "exact_answer_before_first", "exact_answer_first",
        "exact_answer_last", "exact_answer_after_last", "-8", "-7", "-6", "-5", "-4", "-3", "-2", "-1",
    )  # fmt: skip
    assert (PAPER.test_share, PAPER.min_answer_tokens, PAPER.min_exact_tokens) == (0.2, 5, 2)
    assert next(iter(REPRESENTATIONS.items())) == ("mlp_post", "mlp.hook_post")
    assert set(REPRESENTATIONS.values()) == {"mlp.hook_post", "hook_mlp_out", "hook_resid_post", "attn.hook_z"}
    # What the paper leaves open, declared.
    rest = (PAPER.penalty_strength, PAPER.max_iter, PAPER.max_new_tokens, PAPER.min_class, PAPER.resamples)
    assert rest == (1.0, 1000, 64, 20, 2000)


def test_positions_of_a_sentence() -> None:
    # <bos> 4 7 plus 3 8 → the sum is 8 5 now then: question 0-6, answer 7-13, exact answer 10-11.
    shape = AnswerShape(q_len=7, length=14, first=10, last=11)
    assert [shape.position(role) for role in NAMED_ROLES] == [6, 7, 8, 9, 10, 11, 12]
    assert [shape.position(role) for role in FROM_THE_END] == [6, 7, 8, 9, 10, 11, 12, 13]
    assert [NAMED_ROLES.index(role) for role in EXACT_ROLES] == [3, 4, 5, 6]


def test_after_stays_inside_a_text_that_ends_with_the_exact_answer() -> None:
    shape = AnswerShape(q_len=3, length=8, first=6, last=7)
    assert shape.position("exact_answer_after_last") == 7
    assert shape.problem(PAPER) == "exact answer at the end of the answer"


@pytest.mark.parametrize(
    ("shape", "problem", "pairs"),
    [
        # Four tokens: the third is exact, so three roles are one token.
        ((6, 10, 8, 8), "answer of fewer than 5 tokens", {("exact_answer_first", "exact_answer_last")}),
        ((6, 12, 9, 9), "exact answer of fewer than 2 tokens", {("exact_answer_first", "exact_answer_last")}),
        (
            (6, 12, 6, 8),
            "exact answer at the start of the answer",
            {("last_q", "exact_answer_before_first"), ("first_answer", "exact_answer_first")},
        ),
        ((6, 12, 10, 11), "exact answer at the end of the answer", {("exact_answer_last", "exact_answer_after_last")}),
        ((1, 7, 3, 4), "text shorter than the roles from its end need", set()),
        ((6, 11, 8, 9), "", set()),
    ],
)
def test_roles_that_coincide_are_told(shape: tuple[int, ...], problem: str, pairs: set[tuple[str, str]]) -> None:
    made = AnswerShape(*shape)
    assert made.problem(PAPER) == problem
    assert pairs <= set(coinciding([made]))
    if not problem:
        # The shortest answer allowed: the token before the exact answer is also the second of the answer.
        assert set(coinciding([made])) == {("second_answer", "exact_answer_before_first")}


@given(st.integers(1, 20), st.integers(0, 6), st.integers(1, 5), st.integers(0, 6))
def test_every_position_lies_in_the_text_and_exact_roles_are_apart(q: int, before: int, size: int, after: int) -> None:
    shape = AnswerShape(q, q + before + size + after, q + before, q + before + size - 1)
    if shape.problem(PAPER):
        return
    places = {role: shape.position(role) for role in PAPER.roles}
    assert all(0 <= place < shape.length for place in places.values())
    exact = [places[role] for role in EXACT_ROLES]
    assert exact == sorted(set(exact))
    assert places["last_q"] < places["first_answer"] <= exact[0]


def test_settings_cannot_change() -> None:
    with pytest.raises(AttributeError):
        TokenProbeSettings().test_share = 0.5  # type: ignore[misc]
