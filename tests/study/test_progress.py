"""A bar for people who look, and lines on finished parts and the time left."""

import contextlib
import functools
import logging
import re
import sys

import pytest
from clock_lines import ESTIMATE, estimate, finished
from counting import counting_suite

import headcats as hc
from headcats.study import method_run, scorer
from headcats.study.progress import PartsClock, logged_where_nobody_watches, progress_bar


def test_nothing_is_shown_where_nobody_looks(capsys):
    with progress_bar(10) as advance:
        advance(5, "half")
    with progress_bar(10, show=False) as advance:
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_bar_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    label = "plural denoising_patch@last"
    with progress_bar(8) as advance:
        advance(8, label)
    shown = capsys.readouterr()
    assert label in shown.err
    assert "8/8" in shown.err
    assert "left" in shown.err
    assert shown.out == ""


def test_a_notebook_that_cannot_draw_the_bar_is_not_warned(capsys, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with progress_bar(8) as advance:  # warnings are errors
        advance(8)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def steps(monkeypatch):
    """(total, steps) of every bar that a run opens."""
    seen = []

    @contextlib.contextmanager
    def record(total, *, show=None, unit="heads,"):
        made = []
        seen.append((total, made))
        yield lambda steps, label=None: made.append(steps)

    monkeypatch.setattr(method_run, "progress_bar", record)
    return seen


def test_the_steps_of_a_run_add_up_to_the_whole(model, all_options, steps, all_finished):
    """Refused tasks and finished blocks included."""
    hc.run(model, **all_options | {"methods": ["denoising_patch"]})
    hc.run(model, out=all_finished, **all_options)
    # Whether the model can do the tasks is looked at once, and again for those that the fourth one corrupted.
    assert [total for total, _ in steps] == [4, 3, 8 * 4, 8 * 4 * 2]
    for total, made in steps:
        assert total == sum(made)
        assert min(made) >= 0


@pytest.mark.parametrize(
    ("show", "terminal", "set_up", "told"),
    [(None, False, False, True), (None, False, True, False), (None, True, False, False), (False, False, False, False)],
)
def test_a_piped_run_says_how_far_it_is(capsys, monkeypatch, show, terminal, set_up, told):
    """Unless that is not wanted, or somebody has set up logging, as the command line does."""
    logger = logging.getLogger("headcats")
    before = list(logger.handlers), logger.level
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda self: set_up)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with logged_where_nobody_watches(show):
        logger.info("done")
    assert capsys.readouterr().err == ("done\n" if told else "")
    assert (logger.handlers, logger.level) == before


def test_a_run_logs_where_nobody_watches(model, options, capsys, monkeypatch):
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda self: False)
    hc.run(model, **options | {"methods": ["zero_ablation"], "tasks": ["always_a"]})
    assert capsys.readouterr().err.count("by path 'suffix'") == 1


# ------------------------------------------------------------ finished parts and the time left, by a clock of the tests
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


@pytest.fixture
def told_by_runs(monkeypatch, caplog):
    """Function: fields of the lines on finished parts since the last call.

    By the clock, every task takes 20 seconds, a refused one 100.
    """
    caplog.set_level(logging.INFO, "headcats")
    seconds, judge = [], scorer.assess

    def slow(study, prepared, runs):
        record = judge(study, prepared, runs)
        seconds.append(100.0 if record.refusal else 20.0)
        return record

    def lines():
        fields = [finished(line) for line in caplog.messages if " done" in line]
        caplog.clear()
        return fields

    monkeypatch.setattr(scorer, "assess", slow)
    monkeypatch.setattr(method_run, "PartsClock", functools.partial(PartsClock, clock=lambda: sum(seconds)))
    return lines


def test_a_run_that_was_stopped_tells_the_time_of_the_rest(model, options, told_by_runs, tmp_path, monkeypatch):
    asked = options | {"suite": hc.make_suite(counting_suite().tasks[:3]), "methods": ["zero_ablation@last"]}
    keep = method_run.MethodRun._keep

    def stopped(self, task, *rest):
        if task == "always_b":
            raise KeyboardInterrupt
        keep(self, task, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(method_run.MethodRun, "_keep", stopped)
        with pytest.raises(KeyboardInterrupt):
            hc.run(model, **asked, out=tmp_path)
    told_by_runs()
    hc.run(model, **asked, out=tmp_path)
    assert told_by_runs() == [("always_b", False, "20 s", 2, 3, None), ("always_c", False, "20 s", 3, 3, None)]
    hc.run(model, **asked, out=tmp_path)
    assert told_by_runs() == []
