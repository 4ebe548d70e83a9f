"""What is told of finished parts and the time left, by a clock of the tests."""

import re

import pytest
from clock_lines import ESTIMATE, estimate, finished

from headcats.study.progress import PartsClock


class Told:
    """A clock that goes when it is told to, and the lines that were said."""

    def __init__(self) -> None:
        self.now, self.lines = 0.0, []

    def clock(self, what="probe", work=None, **options) -> PartsClock:
        work = {"a": 1.0, "b": 1.0, "c": 1.0} if work is None else work
        options = {"total": len(work), **options}
        return PartsClock(what, work, tell=self.lines.append, clock=lambda: float(self.now), **options)


@pytest.fixture
def told() -> Told:
    return Told()


def test_the_time_of_all_parts_is_told_from_the_first_steps(told):
    clock = told.clock()
    assert [re.findall(r"\d", line) for line in told.lines] == [["3"]]
    assert told.lines[0].startswith("probe: 3 parts")
    clock.begin()
    for told.now, share in ((30, 0.0), (40, 0.01), (41, 0.02), (50, 0.11), (60, 0.21)):
        clock.reached("a", share)
    # 40 s until the first step, once; 100 s for each whole part.
    assert [estimate(line) for line in told.lines[1:]] == [("probe a", "6 min", "parts of probe")]


def test_parts_of_different_work_count_as_such(told):
    clock = told.clock(work={"a": 4.0, "b": 1.0})
    clock.begin()
    for told.now, share in ((0, 0.1), (10, 0.2)):
        clock.reached("a", share)
    assert estimate(told.lines[-1])[:2] == ("probe a", "2 min"), "90 s + 25 s"
    told.now = 100
    clock.finished("a")
    assert finished(told.lines[-1]) == ("probe a", False, "2 min", 1, 2, "28 s")


def test_finished_parts_are_counted_with_those_that_were_there(told):
    clock = told.clock(total=5)
    assert re.findall(r"\d", told.lines[0]) == ["3", "2", "5"]
    for part, told.now in (("a", 35), ("b", 55)):
        clock.finished(part)
        clock.begin()
    assert finished(told.lines[1]) == ("probe a", False, "35 s", 3, 5, None)
    assert [finished(line) for line in told.lines[2:]] == [("probe b", False, "20 s", 4, 5, "20 s")]
    told.now = 60
    clock.finished("c")
    assert finished(told.lines[-1]) == ("probe c", False, "5.0 s", 5, 5, None)


def test_one_line_stands_for_parts_that_follow_each_other_fast(told):
    clock = told.clock("", {str(number): 1.0 for number in range(40)}, noun=("task", "tasks"))
    assert told.lines == []
    for number in range(40):
        clock.begin()
        told.now += 1
        clock.finished(str(number))
    assert [(done, left) for _, _, _, done, _, left in map(finished, told.lines)] == [
        (1, None),
        (11, "29 s"),
        (21, "19 s"),
        (31, "9.0 s"),
        (40, None),
    ]


def test_a_skipped_part_says_nothing_of_the_time_that_others_take(told):
    clock = told.clock(work=dict.fromkeys("abcde", 1.0))
    for part, told.now, skipped in (("a", 3, True), ("b", 30, False), ("c", 50, False), ("d", 650, True)):
        clock.finished(part, skipped=skipped)
        clock.begin()
    assert [finished(line)[1:] for line in told.lines[1:]] == [
        (True, "3.0 s", 1, 5, None),
        (False, "27 s", 2, 5, None),
        (False, "20 s", 3, 5, "40 s"),
        (True, "10 min", 4, 5, "20 s"),
    ]


def test_where_no_part_has_work_of_its_own_one_does_it_for_all(told):
    clock = told.clock(work=dict.fromkeys("abc", 0.0))
    clock.begin()
    told.now = 3
    clock.finished("a", skipped=True)
    clock.begin()
    for told.now, share in ((10, 0.1), (20, 0.2)):
        clock.reached("b", share)
    assert estimate(told.lines[-1])[:2] == ("probe b", "2 min"), "7 s + 90 s"
    told.now = 100
    clock.finished("b")
    assert finished(told.lines[-1]) == ("probe b", False, "2 min", 2, 3, None)


@pytest.mark.parametrize("other", [0.0, 1.0])
def test_a_part_without_work_may_take_time(told, other):
    """As where the part that was to do it for all was there already."""
    clock = told.clock(work={"a": 1.0, "b": 0.0, "c": other})
    clock.finished("a")
    clock.begin()
    for told.now, share in ((10, 0.1), (20, 0.2)):
        clock.reached("b", share)
    assert bool(ESTIMATE.fullmatch(told.lines[-1])) == (not other)
    clock.finished("b")
    assert finished(told.lines[-1])[:5] == ("probe b", False, "20 s", 2, 3)


def test_parts_done_beside_each_other_bring_their_time(told):
    """Three tasks of 60 s each on three workers: what is left goes by when they come, the line by what they took."""
    clock = told.clock("", dict.fromkeys("abcd", 1.0), noun=("task", "tasks"))
    for part, told.now in (("a", 60), ("b", 70), ("c", 80)):
        clock.finished(part, seconds=60.0)
        clock.begin()
    assert [finished(line)[2:] for line in told.lines] == [
        ("60 s", 1, 4, None),
        ("60 s", 2, 4, "20 s"),
        ("60 s", 3, 4, "10 s"),
    ]


def test_nothing_is_told_of_nothing_or_to_nobody(told):
    told.clock(work={}, total=3)
    assert told.lines == []
    clock = PartsClock("probe", {"a": 1.0}, total=1, tell=None)
    clock.begin()
    clock.finished("a")
