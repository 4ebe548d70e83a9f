"""The bar is for people who look, and it ends where it should."""

import contextlib
import logging
import sys

import pytest

import headcats as hc
from headcats.study import task_run
from headcats.study.progress import logged_where_nobody_watches, progress_bar


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

    monkeypatch.setattr(task_run, "progress_bar", record)
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
