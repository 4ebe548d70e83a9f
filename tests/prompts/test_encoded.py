"""What is scored of an answer and its distractor, and roles of tokens; whole prompts are tested with `encode`."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from headcats.prompts.encoded import Unscorable, scored_tokens, token_labels
from headcats.prompts.pair import Span
from headcats.results.options import Answers

tokens = st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple)


def reason(answer, distractor, answers):
    """Why two texts cannot be scored, or None."""
    try:
        scored_tokens(answer, distractor, answers=answers)
    except Unscorable as problem:
        return str(problem)


@given(tokens, tokens)
def test_shared_tokens_and_scored_ones_are_the_whole_answer(answer, distractor):
    if reason(answer, distractor, "whole"):
        short = min(len(answer), len(distractor))
        assert answer[:short] == distractor[:short]
        return
    scored = scored_tokens(answer, distractor, answers="whole")
    assert (scored.shared + scored.answer, scored.shared + scored.distractor) == (answer, distractor)
    assert scored.answer[0] != scored.distractor[0]


@given(tokens, tokens, st.sampled_from(get_args(Answers)))
def test_answer_and_distractor_are_judged_alike(answer, distractor, answers):
    assert bool(reason(answer, distractor, answers)) == bool(reason(distractor, answer, answers))


SPANS = {"x": Span(0, 4), "between": Span(4, 6)}


def test_labels_by_hand():
    labels = token_labels([2, 4, 6, 9], SPANS, n_bos=1, n_shared=2)
    assert labels == ("bos", "x[0/2]", "x[1/2]", "between", "other", "answer_start[0/2]", "answer_start[1/2]")
    assert token_labels([4], SPANS, n_bos=0, n_shared=1) == ("x", "answer_start")


def test_a_prompt_without_roles_has_no_labels():
    assert token_labels([2, 4], {}, n_bos=1, n_shared=1) == ()
