"""A model that can do no task of a suite: the commands that find another one."""

import logging

import pytest

import headcats as hc
from headcats.base.errors import DataError
from headcats.study.validation import validate


def test_a_run_and_a_validation_without_tasks_name_what_to_do(model, all_options, caplog):
    caplog.set_level(logging.WARNING, "headcats")
    # Skipped for its accuracy, it would be measured by its gap.
    chosen = all_options | {"tasks": ["shifted"], "min_accuracy": 0, "min_logit_diff": 99}
    with pytest.raises(DataError, match="headcats validate --suite"):
        hc.run(model, **chosen)
    entries = validate(model, **chosen)
    assert all(entry["refusal"] for entry in entries.values())
    assert "headcats list suites" in caplog.text
    caplog.clear()
    validate(model, **all_options | {"tasks": ["always_a"]})
    assert caplog.text == ""
