"""The suite `greater_than`: which of two years is possible."""

import re

from for_each import for_each

from headcats.tasks.suites import suite

TASKS = {task.name: task for task in suite("greater_than").tasks}


def possible(text, year):
    """Whether a year can be the next word of a prompt."""
    (given,) = map(int, re.findall(r"\d+", text))
    return year < given if "ended in the year 1" in text else year > given


@for_each("name", TASKS)
def test_the_answer_is_possible_and_the_distractor_is_not(name):
    for pair in TASKS[name].pairs(300, seed=0):
        answer, distractor = int(pair.answer), int(pair.distractor)
        given = int(pair.item.split()[1])
        assert str(given) in pair.clean
        assert abs(answer - given) == abs(distractor - given) >= 3
        assert {year // 100 for year in (given, answer, distractor)} == {given // 100}
        assert possible(pair.clean, answer)
        assert not possible(pair.clean, distractor)
        assert possible(pair.corrupted, distractor)
        assert possible(pair.corrupted, answer) == (name == "year_span")
