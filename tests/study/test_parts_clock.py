"""What is told of finished parts and the time left, by a clock of the tests."""

import pytest

from headcats.study.parts_clock import PartsClock


class Told:
    """A clock that goes when it is told to, and the lines that were said."""

    def __init__(self) -> None:
        self.now, self.lines = 0.0, []

    def clock(self, what="probe", work=None, **options) -> PartsClock:
        given = {"a": 1.0, "b": 1.0, "c": 1.0} if work is None else work
        options = {"of": len(given), **options}
        return PartsClock(what, given, tell=self.lines.append, clock=lambda: float(self.now), **options)


@pytest.fixture
def told() -> Told:
    return Told()


def test_the_time_of_all_parts_is_told_from_the_first_steps(told):
    clock = told.clock()
    assert told.lines == ["probe: 3 parts to do."]
    clock.begin()
    for told.now, share in ((30, 0.0), (40, 0.01), (41, 0.02), (50, 0.11), (60, 0.21)):
        clock.reached("a", share)
    # 40 s until the first step, once; 100 s for each whole part.
    assert told.lines[1:] == ["probe a: about 6 min for the parts of probe, measured on the first steps."]


def test_parts_of_different_work_count_as_such(told):
    clock = told.clock(work={"a": 4.0, "b": 1.0})
    clock.begin()
    for told.now, share in ((0, 0.1), (10, 0.2)):
        clock.reached("a", share)
    assert told.lines[-1] == "probe a: about 2 min for the parts of probe, measured on the first steps.", "90 s + 25 s"
    told.now = 100
    clock.finished("a")
    assert told.lines[-1] == "probe a: 2 min; 1 of 2 parts done, about 28 s left."


def test_finished_parts_are_counted_with_those_that_were_there(told):
    clock = told.clock(of=5)
    assert told.lines == ["probe: 3 parts to do, 2 of 5 are there already."]
    for part, told.now in (("a", 35), ("b", 55)):
        clock.finished(part)
        clock.begin()
    assert told.lines[1] == "probe a: 35 s; 3 of 5 parts done.", "how much of it is done once is not known"
    assert told.lines[2:] == ["probe b: 20 s; 4 of 5 parts done, about 20 s left."]
    told.now = 60
    clock.finished("c")
    assert told.lines[-1] == "probe c: 5.0 s; 5 of 5 parts done."


def test_one_line_stands_for_parts_that_follow_each_other_fast(told):
    clock = told.clock("", {str(number): 1.0 for number in range(40)}, noun=("task", "tasks"))
    assert told.lines == [], "tasks speak for themselves"
    for number in range(40):
        clock.begin()
        told.now += 1
        clock.finished(str(number))
    assert [line.partition(";")[2] for line in told.lines] == [
        " 1 of 40 tasks done.",
        " 11 of 40 tasks done, about 29 s left.",
        " 21 of 40 tasks done, about 19 s left.",
        " 31 of 40 tasks done, about 9.0 s left.",
        " 40 of 40 tasks done.",
    ]


def test_a_refused_part_says_nothing_of_the_time_that_others_take(told):
    clock = told.clock()
    clock.begin()
    told.now = 3
    clock.finished("a", refused=True)
    assert told.lines[-1] == "probe a: refused after 3.0 s; 1 of 3 parts done."
    clock.begin()
    told.now = 23
    clock.finished("b")
    assert told.lines[-1] == "probe b: 20 s; 2 of 3 parts done."


def test_a_part_refused_after_others_leaves_their_time_as_it_was(told):
    clock = told.clock(work=dict.fromkeys("abcd", 1.0))
    for part, told.now, refused in (("a", 30, False), ("b", 50, False), ("c", 650, True)):
        clock.finished(part, refused=refused)
        clock.begin()
    assert told.lines[-1] == "probe c: refused after 10 min; 3 of 4 parts done, about 20 s left."


def test_where_no_part_has_work_of_its_own_one_does_it_for_all(told):
    clock = told.clock(work=dict.fromkeys("abc", 0.0))
    clock.begin()
    told.now = 3
    clock.finished("a", refused=True)
    clock.begin()
    for told.now, share in ((10, 0.1), (20, 0.2)):
        clock.reached("b", share)
    assert told.lines[-1] == "probe b: about 2 min for the parts of probe, measured on the first steps.", "7 s + 90 s"
    told.now = 100
    clock.finished("b")
    assert told.lines[-1] == "probe b: 2 min; 2 of 3 parts done."


@pytest.mark.parametrize("other", [0.0, 1.0])
def test_a_part_without_work_may_take_time(told, other):
    """As where the part that was to do it for all was there already."""
    clock = told.clock(work={"a": 1.0, "b": 0.0, "c": other})
    clock.finished("a")
    clock.begin()
    for told.now, share in ((10, 0.1), (20, 0.2)):
        clock.reached("b", share)
    said = "probe b: about 2 min for the parts of probe, measured on the first steps."
    assert (told.lines[-1] == said) == (not other), "it says nothing of the work of others"
    clock.finished("b")
    assert told.lines[-1].startswith("probe b: 20 s; 2 of 3 parts done")


def test_where_the_first_part_does_all_nothing_is_left(told):
    clock = told.clock(work={"a": 1.0, "b": 0.0})
    clock.begin()
    told.now = 20
    clock.finished("a")
    assert told.lines[-1] == "probe a: 20 s; 1 of 2 parts done."


def test_nothing_to_do_is_nothing_to_say(told):
    told.clock(work={}, of=3)
    assert told.lines == []


def test_nobody_has_to_be_told():
    clock = PartsClock("probe", {"a": 1.0}, of=1, tell=None)
    clock.begin()
    clock.finished("a")
