"""What runs tell of finished parts and the time left, by a clock of the tests: begun, resumed, extended and refused."""

import functools
import logging

import pytest
from clock_lines import finished
from counting import counting_suite

import headcats as hc
from headcats.study import scorer, task_run
from headcats.study.progress import PartsClock


@pytest.fixture
def told(monkeypatch, caplog):
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
    monkeypatch.setattr(task_run, "PartsClock", functools.partial(PartsClock, clock=lambda: sum(seconds)))
    return lines


def test_tasks_of_a_run(model, all_options, told):
    hc.run(model, **all_options | {"methods": ["zero_ablation@last"]})
    assert told() == [
        ("always_a", False, "20 s", 1, 4, None),
        ("always_b", False, "20 s", 2, 4, "40 s"),
        ("always_c", False, "20 s", 3, 4, "20 s"),
        ("shifted", True, "2 min", 4, 4, None),
    ]


def test_a_run_that_was_stopped_tells_the_time_of_the_rest(model, options, told, tmp_path, monkeypatch):
    asked = options | {"suite": hc.make_suite(counting_suite().tasks[:3]), "methods": ["zero_ablation@last"]}
    keep = task_run.TaskWork._keep

    def stopped(self, task, *rest):
        if task.name == "always_b":
            raise KeyboardInterrupt
        keep(self, task, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(task_run.TaskWork, "_keep", stopped)
        with pytest.raises(KeyboardInterrupt):
            hc.run(model, **asked, out=tmp_path)
    told()
    hc.run(model, **asked, out=tmp_path)
    assert told() == [("always_b", False, "20 s", 2, 3, None), ("always_c", False, "20 s", 3, 3, None)]
    hc.run(model, **asked, out=tmp_path)
    assert told() == []
