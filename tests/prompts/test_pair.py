"""A prompt pair refuses what could never give a number; wordings of one case that pass as several are found."""

import pytest

from headcats.base.errors import DataError
from headcats.prompts.pair import PromptPair, Span, near_duplicates

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


def worded(key: str, clean: str, corrupted: str, *, item: str | None = None, answer: str = " Rome") -> PromptPair:
    return PromptPair(key, item or key, clean, corrupted, answer, " Madrid")


FIRST = worded("a", "The capital of Italy is", "The capital of Spain is")


def test_answer_distractor_and_differing_words_decide() -> None:
    alike = [
        worded("b", "Italy is governed from", "Spain is governed from"),
        worded("b", "In Italy, the capital is", "In Spain, the capital is"),  # a comma, and another order
        worded("b", "ITALY: its capital is", "SPAIN: its capital is"),
        worded("b", "Italy, Italy is governed from", "Spain, Italy is governed from"),
    ]
    others = [
        worded("b", "Italy is governed from", "Spain is governed from", item="a"),  # one item
        worded("b", "The capital of Lazio is", "The capital of Spain is"),
        worded("b", FIRST.clean, FIRST.corrupted, answer=" Roma"),
        worded("b", "Italy, Italy is governed from", "Spain, Spain is governed from"),  # two words differ
        worded("b", "Italy: governed from", "The land of Spain: governed from"),  # against one word for one
    ]
    for second in alike:
        assert near_duplicates([FIRST, second]) == [FIRST, second], second
    for second in others:
        assert near_duplicates([FIRST, second]) == [], second


def test_of_prompts_of_unequal_numbers_of_words_those_of_one_alone_decide() -> None:
    pairs = [worded("a", "Italy has", "New Spain has"), worded("b", "We saw Italy", "We saw New Spain")]
    assert near_duplicates(pairs) == pairs
    other = worded("b", "We saw Italy", "We saw Old Spain")
    assert not near_duplicates([pairs[0], other])


def test_an_exchange_of_words_is_a_contrast() -> None:
    first = worded("a", "Ann sees Bob and", "Bob sees Ann and")
    same = worded("b", "There Ann met Bob and", "There Bob met Ann and")
    other = worded("b", "Eve sees Bob and", "Bob sees Eve and")
    assert near_duplicates([first, same]) == [first, same]
    assert near_duplicates([first, other]) == []


def test_those_that_are_alike_come_in_their_order() -> None:
    other = worded("x", "The capital of Chile is", "The capital of Peru is", answer=" Santiago")
    third = worded("c", "Who visits Italy visits", "Who visits Spain visits")
    assert [found.key for found in near_duplicates([FIRST, other, third])] == ["a", "c"]
