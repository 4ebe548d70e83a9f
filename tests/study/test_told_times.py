"""What runs tell of finished parts and the time left, by a clock of the tests: begun, resumed, extended and refused."""

import functools
import json
import logging

import numpy as np
import pytest
import xarray as xr
from clock_lines import estimate, finished

import headcats as hc
from headcats import registry
from headcats.study import joint_run, task_run
from headcats.study.progress import PartsClock


class Clock:
    """Seconds that pass when something says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in (joint_run, task_run):
        monkeypatch.setattr(module, "PartsClock", functools.partial(PartsClock, clock=made))
    return made


@pytest.fixture
def told(caplog):
    """Function: fields of the lines since the last call, those on finished parts first."""
    caplog.set_level(logging.INFO, "headcats")

    def lines():
        fields = [finished(line) for line in caplog.messages if " done" in line]
        fields += [estimate(line) for line in caplog.messages if "measured" in line]
        caplog.clear()
        return fields

    return lines


# ----------------------------------------------------------------------------------------------- methods on one task
@pytest.fixture
def twenty_seconds(monkeypatch, clock):
    """Every task takes 20 seconds, a refused one 100."""
    judge = task_run.assess

    def slow(study, prepared, runs):
        record = judge(study, prepared, runs)
        clock.now += 100 if record.refusal else 20
        return record

    monkeypatch.setattr(task_run, "assess", slow)


@pytest.fixture(scope="module")
def options(options):
    return options | {"methods": ["zero_ablation@last"]}


def test_tasks_of_a_run(model, options, twenty_seconds, told):
    hc.run(model, **options)
    assert told() == [
        ("always_a", False, "20 s", 1, 4, None),
        ("always_b", False, "20 s", 2, 4, "40 s"),
        ("always_c", False, "20 s", 3, 4, "20 s"),
        ("shifted", True, "2 min", 4, 4, None),
    ]


def test_a_run_that_was_stopped_tells_the_time_of_the_rest(model, options, twenty_seconds, told, tmp_path, monkeypatch):
    asked = options | {"tasks": ["always_a", "always_b", "always_c"]}
    score = task_run.TaskWork._score

    def stopped(self, prepared, *rest):
        if prepared.task.name == "always_b":
            raise KeyboardInterrupt
        score(self, prepared, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(task_run.TaskWork, "_score", stopped)
        with pytest.raises(KeyboardInterrupt):
            hc.run(model, **asked, out=tmp_path)
    told()
    hc.run(model, **asked, out=tmp_path)
    assert told() == [("always_b", False, "20 s", 2, 3, None), ("always_c", False, "20 s", 3, 3, None)]
    hc.run(model, **asked, out=tmp_path)
    assert told() == []


# ------------------------------------------------------------------------------------------ methods over the suite
class Slow:
    """A toy method whose parts take 40 seconds each, in steps of a tenth. Made for this test.

    References:
        None.
    """

    declaration = hc.methods.Declaration(name="slow", kind="joint", figure="ov_map")
    name = "slow"

    def __init__(self, clock):
        self.clock, self.options, self.stop_at = clock, {}, None

    def parts(self, inputs):
        return {task.name: (task.name,) for task in inputs.tasks}

    def on_part(self, inputs, part):
        if part == self.stop_at:
            raise KeyboardInterrupt
        for tenth in range(1, 11):
            self.clock.now += 4
            inputs.advance(tenth / 10, "counting")
        grid = np.zeros((1, len(inputs.model.layers), inputs.model.max_heads))
        return xr.Dataset(
            {"score": (("task", "layer", "head"), grid)},
            coords={"task": [part], "category": ("task", [inputs.categories[part]])},
            attrs={"method": self.name, "provenance": json.dumps({})},
        )

    def join(self, parts):
        return xr.concat(list(parts.values()), dim="task", combine_attrs="override")

    def summary(self, block):
        return []


@pytest.fixture
def slow(monkeypatch, clock):
    monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))
    return registry.register("method", "slow", Slow(clock))


def run_slow(model, tasks, **options):
    return hc.run(model, suite="counting", methods=["slow"], tasks=tasks, n_prompts=4, n_demos=2, **options)


def test_parts_of_a_run_that_is_stopped_and_goes_on(model, slow, told, tmp_path):
    slow.stop_at = "always_c"
    with pytest.raises(KeyboardInterrupt):
        run_slow(model, ["always_a", "always_b", "always_c"], out=tmp_path)
    assert told() == [
        ("slow always_a", False, "40 s", 1, 3, "80 s"),
        ("slow always_b", False, "40 s", 2, 3, "40 s"),
        ("slow always_a", "2 min", "parts of slow"),
    ]
    slow.stop_at = None
    run_slow(model, ["always_a", "always_b", "always_c"], out=tmp_path)
    assert told() == [
        ("slow always_c", False, "40 s", 3, 3, None),
        ("slow always_c", "40 s", "parts of slow"),
    ]
