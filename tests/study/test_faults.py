"""Small studies that are killed, starved and damaged lose nothing."""

import pytest
from counting import finished_pairs
from faults import OPTIONS, Driver, Fault

from headcats.tasks.definition import Task


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_few_faults(tmp_path, monkeypatch):
    """A write torn by a power cut, and an end between a block and the manifest."""
    tasks = [Task(name, "knowledge", "made up", finished_pairs) for name in OPTIONS["tasks"]]
    monkeypatch.setitem(OPTIONS, "suite", tasks)  # no task corrupts another, so that nothing is looked at beforehand
    driver = Driver(tmp_path)
    faults = [Fault("torn", "write", 3), Fault("killed after", "rename", 4)]
    outcomes = {fault: driver.strike(fault, tmp_path / str(number)) for number, fault in enumerate(faults)}
    assert set(outcomes.values()) == {"nothing lost"}, outcomes
