"""Questions and ready answers: labels and exact answers, against the authors' rules written anew."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.papers.token_probe.items import AnsweredItem, Question, find_text, first_found

WORDS = st.lists(st.sampled_from(["man", "Manager", "the", "Ann", "annie", "a"]), min_size=1, max_size=6).map(" ".join)


def literal_correct(aliases: list[str], answer: str) -> bool:
    """compute_correctness.py for sets like TriviaQA."""
    return any(alias.lower() in answer.lower() for alias in aliases)


def literal_first(aliases: list[str], answer: str) -> str:
    """extract_exact_answer.py, of a right answer."""
    found, place = "", len(answer)
    for alias in aliases:
        here = answer.lower().find(alias.lower())
        if here != -1 and here < place:
            found, place = alias, here
    return answer[place : place + len(found)]


def literal_choice(right: str, wrong: str, answer: str) -> tuple[bool, str] | None:
    """compute_correctness.py for sets with two options: is it wrong, and which option counts."""
    at_right, at_wrong = answer.lower().find(right.lower()), answer.lower().find(wrong.lower())
    if at_right == at_wrong == -1:
        return None
    if at_right != -1 and (at_wrong == -1 or at_right < at_wrong):
        return False, right
    return True, wrong


@given(st.lists(WORDS, min_size=1, max_size=3), WORDS)
def test_labels_are_those_of_the_authors(aliases: list[str], answer: str) -> None:
    judged = Question("?", aliases[0], aliases=tuple(aliases[1:])).judge(answer)
    assert (judged is not None) == literal_correct(aliases, answer)
    assert AnsweredItem("?", answer, aliases=tuple(aliases)).is_wrong != literal_correct(aliases, answer)
    exact = answer.split()[-1]
    assert AnsweredItem("?", answer, exact, aliases=tuple(aliases)).is_wrong != literal_correct(aliases, exact)
    assert AnsweredItem("?", answer, exact, True, tuple(aliases)).is_wrong
    assert not AnsweredItem("?", answer, exact, False, tuple(aliases)).is_wrong


@given(st.lists(WORDS, min_size=1, max_size=3), WORDS, WORDS)
def test_exact_answers_are_those_of_the_authors(aliases: list[str], wrong: str, answer: str) -> None:
    judged = Question("?", aliases[0], aliases=tuple(aliases[1:])).judge(answer)
    if judged:
        assert answer[judged.start : judged.stop] == literal_first(aliases, answer)
        assert not judged.wrong
        ready = AnsweredItem("?", answer, aliases=tuple(aliases)).judge(answer)
        assert ready == judged
    choice = Question("?", aliases[0], wrong_answers=(wrong,)).judge(answer)
    literal = literal_choice(aliases[0], wrong, answer)
    assert (choice is None) == (literal is None)
    if choice and literal:
        assert (choice.wrong, answer[choice.start : choice.stop].lower()) == (literal[0], literal[1].lower())


def test_an_expression_takes_aliases_too() -> None:
    question = Question("?", "it is 12 now", r"\d+", aliases=("13",))
    assert question.right_answers == ("12", "13")
    assert [question.judge(text).wrong for text in ("12", "so 13", "14 12")] == [False, False, True]  # type: ignore[union-attr]
    assert question.judge("none") is None
    either = Question("?", "cook", wrong_answers=("man",))  # the option that comes first counts
    assert [either.judge(text).wrong for text in ("man, cook", "cook, man")] == [True, False]  # type: ignore[union-attr]


def test_texts_are_found_ignoring_case_and_outer_spaces() -> None:
    assert find_text(" paris ", "In PARIS, Paris") == (3, 8)
    assert (find_text("  ", "a b"), find_text("c", "a b")) == (None, None)
    assert first_found("In New York City", ["York", "New York City", "New York"]) == (3, 16)
    assert first_found("In Rome", ["York"]) is None


@pytest.mark.usefixtures("unchecked_types")
def test_items_that_say_too_little() -> None:
    ready = functools.partial(AnsweredItem, "?", "a", "a")
    for made, error, message in (
        (lambda: Question("?", " "), DataError, "right answer"),
        (lambda: Question(" ", "a"), DataError, "prompt"),
        (lambda: Question("?", "none", r"\d"), DataError, "'none'"),
        (lambda: Question("?", "1", "("), OptionError, "regular expression"),
        (lambda: Question("?", "1", r"\d", wrong_answers=("2",)), OptionError, "not both"),
        (lambda: Question("?", "a", aliases="ab"), DataError, "aliases must"),
        (lambda: Question(None, "a"), DataError, "prompt .* None"),
        (lambda: AnsweredItem("?", " ", "a", True), DataError, "its text"),
        (ready, DataError, "neither"),
        (lambda: ready("no"), DataError, "got 'no'"),
        (lambda: ready(True, bos="twice"), UnknownNameError, "'twice'"),
    ):
        with pytest.raises(error, match=message):
            made()
