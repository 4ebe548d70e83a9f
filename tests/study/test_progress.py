"""A bar for people who look, and lines on finished parts and the time left."""

import contextlib
import logging
import re
import sys

import pytest

import headcats as hc
from headcats.study import method_run
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


# ------------------------------------------------------------ finished parts and the time left, by a clock of the tests
LINE = re.compile(r"(.*): (skipped )?(?:after )?(.+?); (\d+) of (\d+) \w+ done(?:, about (.+) left)?\.")
ESTIMATE = re.compile(r"(.*): about (.+) for the (.+), measured .*")


def finished(line):
    """Part, whether it was skipped, its time, how many are done, of how many, and the time left."""
    part, skipped, took, done, total, left = LINE.fullmatch(line).groups()
    return part, bool(skipped), took, int(done), int(total), left


def estimate(line):
    """Part, time of all parts, and what they are called."""
    return ESTIMATE.fullmatch(line).groups()


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
