"""Roles of tokens; those of whole prompts are tested with `encode`."""

from headcats.prompts.encoded import token_labels
from headcats.prompts.pair import Span

SPANS = {"x": Span(0, 4), "between": Span(4, 6)}


def test_labels_by_hand():
    labels = token_labels([2, 4, 6, 9], SPANS, n_bos=1, n_shared=2)
    assert labels == ("bos", "x[0/2]", "x[1/2]", "between", "other", "answer_start[0/2]", "answer_start[1/2]")
    assert token_labels([4], SPANS, n_bos=0, n_shared=1) == ("x", "answer_start")


def test_a_prompt_without_roles_has_no_labels():
    assert token_labels([2, 4], {}, n_bos=1, n_shared=1) == ()
