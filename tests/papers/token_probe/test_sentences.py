"""The suite `sentences`: exact answers inside sentences, and questions of which half are taught."""

import re

import pytest
from for_each import for_each

from headcats.base.errors import OptionError
from headcats.papers.token_probe.sentences import EXACT, TAUGHT, taught, untaught
from headcats.study.plan import plan
from headcats.tasks.suites import suite

TASKS = {task.name: task for task in suite("sentences").tasks}
RESULTS = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "modulo": lambda a, b: a % b,
    "with": lambda a, b: a**2 + b**2,
}


def worked_out(question):
    first, word, second = re.fullmatch(r"([\d ]+) ([a-z]+) ([\d ]+)", question).groups()
    return RESULTS[word](*(int(digits.replace(" ", "")) for digits in (first, second)))


@for_each("name", TASKS)
def test_sentences_hold_the_right_answer_inside(name):
    task = TASKS[name]
    assert task.exact == EXACT
    for question, sentence in task.pairs(400, seed=3):
        found = re.findall(EXACT, sentence)
        assert [int(answer.replace(" ", "")) for answer in found] == [worked_out(question)], question
        before, after = sentence.split(found[0])
        assert before.strip()
        assert after.strip()
        assert len(found[0].split()) >= 2
        assert len(sentence.split()) >= 5
    assert len({len(question.split()) for question, _ in task.pairs(400, seed=3)}) == 1


@for_each("name", TASKS)
def test_half_of_the_questions_are_taught(name):
    known, unknown = ({question for question, _ in part(name)} for part in (taught, untaught))
    assert len(known) == len(unknown) == TAUGHT
    assert not known & unknown
    asked = [question for question, _ in TASKS[name].pairs(10_000, seed=1)]
    assert len(asked) == len(set(asked)) == 2 * TAUGHT
    assert set(asked) == known | unknown
    assert abs(len(set(asked[:200]) & known) - 100) < 30  # drawn from both


@for_each("name", TASKS)
def test_taught_questions_are_like_the_others(name):
    """Neither operands nor answers say which half a question is of."""
    sizes = []
    for part in (taught, untaught):
        numbers = [[int(digits) for digits in re.findall(r"\d", f"{given} {said}")] for given, said in part(name)]
        sizes.append(sum(map(sum, numbers)) / sum(map(len, numbers)))
    assert sizes[0] == pytest.approx(sizes[1], abs=0.25)


def test_the_seed_orders_the_questions():
    task = TASKS["say_sum"]
    assert task.pairs(50, seed=1) == task.pairs(50, seed=1) != task.pairs(50, seed=2)
    assert task.pairs(50, seed=1) == task.pairs(10**6, seed=1)[:50]


def test_methods_that_need_demonstrations_say_that_the_suite_has_none():
    with pytest.raises(OptionError, match=r"got 0, .*'sentences'.*=5"):
        plan(suite="sentences", methods=["denoising_patch"])
