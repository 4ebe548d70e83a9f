"""Wordings of one case that pass as several: found by their contrast; prompts of the bundled suites are not."""

import contextlib

import pytest

import headcats as hc
from headcats.prompts.corruption import build_pairs
from headcats.prompts.pair import PromptPair, near_duplicates
from headcats.prompts.template import ARROW
from headcats.tasks.definition import word_pairs


def pair(key: str, clean: str, corrupted: str, *, item: str | None = None, answer: str = " Rome") -> PromptPair:
    return PromptPair(key, item or key, clean, corrupted, answer, " Madrid")


FIRST = pair("a", "The capital of Italy is", "The capital of Spain is")


def test_answer_distractor_and_differing_words_decide() -> None:
    alike = [
        pair("b", "Italy is governed from", "Spain is governed from"),
        pair("b", "In Italy, the capital is", "In Spain, the capital is"),  # a comma, and another order
        pair("b", "ITALY: its capital is", "SPAIN: its capital is"),
        pair("b", "Italy, Italy is governed from", "Spain, Italy is governed from"),
    ]
    others = [
        pair("b", "Italy is governed from", "Spain is governed from", item="a"),  # one item
        pair("b", "The capital of Lazio is", "The capital of Spain is"),
        pair("b", FIRST.clean, FIRST.corrupted, answer=" Roma"),
        pair("b", "Italy, Italy is governed from", "Spain, Spain is governed from"),  # two words differ
        pair("b", "Italy: governed from", "The land of Spain: governed from"),  # against one word for one
    ]
    for second in alike:
        assert near_duplicates([FIRST, second]) == [FIRST, second], second
    for second in others:
        assert near_duplicates([FIRST, second]) == [], second


def test_of_prompts_of_unequal_numbers_of_words_those_of_one_alone_decide() -> None:
    pairs = [pair("a", "Italy has", "New Spain has"), pair("b", "We saw Italy", "We saw New Spain")]
    assert near_duplicates(pairs) == pairs
    other = pair("b", "We saw Italy", "We saw Old Spain")
    assert not near_duplicates([pairs[0], other])


def test_an_exchange_of_words_is_a_contrast() -> None:
    first = pair("a", "Ann sees Bob and", "Bob sees Ann and")
    same = pair("b", "There Ann met Bob and", "There Bob met Ann and")
    other = pair("b", "Eve sees Bob and", "Bob sees Eve and")
    assert near_duplicates([first, same]) == [first, same]
    assert near_duplicates([first, other]) == []


def test_those_that_are_alike_come_in_their_order() -> None:
    other = pair("x", "The capital of Chile is", "The capital of Peru is", answer=" Santiago")
    third = pair("c", "Who visits Italy visits", "Who visits Spain visits")
    assert [found.key for found in near_duplicates([FIRST, other, third])] == ["a", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icl", "cognitive"])
def test_the_bundled_suites_have_none(name: str) -> None:
    suite = hc.suite(name)
    words = {task.name: word_pairs(task, seed=0) for task in suite.tasks}
    for task, pairs in words.items():
        others = {other: rest for other, rest in words.items() if other != task}
        with contextlib.suppress(hc.errors.DataError):  # no distractor task
            assert not near_duplicates(build_pairs(task, pairs, others, n=164, seed=0, template=ARROW)), task
