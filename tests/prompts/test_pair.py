"""A prompt pair refuses what could never give a number."""

import pytest

from headcats.base.errors import DataError
from headcats.prompts.pair import PromptPair, Span

FIELDS = {"key": "t/0", "item": "q", "clean": "a b q", "corrupted": "a c q", "answer": " x", "distractor": " y"}


def pair(**changes):
    return PromptPair(**(FIELDS | changes))


def test_defaults():
    assert pair().distractor_task == "corrupted"
    assert pair().roles == {}


def test_empty_text_is_refused_by_key():
    for field in ("clean", "corrupted", "answer", "distractor"):
        with pytest.raises(DataError, match="'t/0' has an empty"):
            pair(**{field: ""})


def test_answer_equal_to_distractor_is_refused():
    with pytest.raises(DataError, match=r"'t/0': .* both ' x'"):
        pair(distractor=" x")


def test_an_answer_without_its_leading_space_is_refused_and_the_right_one_named():
    for field in ("answer", "distractor"):
        for prompt, answer in (("The capital is", "Paris"), ("He said,", "3 men")):
            with pytest.raises(DataError, match=f"' {answer}', .*leading space"):
                pair(clean=prompt, **{field: answer})
            assert pair(clean=prompt, **{field: f" {answer}"})


def test_other_continuations_are_left_alone():
    for prompt, answer in {
        "from 1732 to 17": "33",
        "東京は日本の": "首都",
        "He was born in (": "Paris",
        "2 + 2 =": "4",
        "water is H": "2O",
    }.items():
        assert pair(clean=prompt, answer=answer, distractor="?").answer == answer


def test_an_answer_lacks_the_space_that_its_distractor_has():
    for prompt, answer in (("It is the year", "1999"), ("Hello", "Ann"), ("Plan B", "2")):
        with pytest.raises(DataError, match="leading space"):
            pair(clean=prompt, answer=answer, distractor=" word")


def test_roles_must_lie_inside_both_texts():
    for span in ((-1, 2), (2, 2), (3, 2), (0, 6)):
        for spans in ((Span(*span), Span(0, 1)), (Span(0, 1), Span(*span))):
            with pytest.raises(DataError, match=r"'t/0': role 'x1' .* 5\."):
                pair(roles={"x1": spans})
    assert pair(roles={"x1": (Span(0, 5), Span(0, 1))}).roles["x1"][0].stop == 5
