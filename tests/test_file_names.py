"""Every option that changes a map or a test is in the name of its file."""

import json

import numpy as np
import pytest
from simulated import block, tree

from headcats.file_names import marks
from headcats.results import Label
from headcats.rules import fdr, null_calibrated

LABEL = Label("denoising_patch", positions="last")


def results():
    made = tree({"capitals": block(np.zeros((4, 1, 2)))}, categories={"capitals": "Knowledge"})
    made.attrs["manifest"] = json.dumps({"plan": {"metrics": ["logit_diff", "log_prob"]}, "methods": [str(LABEL)]})
    return made


DEFAULT = {"label": LABEL, "metric": "logit_diff"}
OTHERS = {
    "label": (Label("noising_patch", positions="all"), ["noising_patch@all"]),
    "metric": ("log_prob", ["log_prob"]),
    "effect": ("task_specific", ["task_specific"]),
    "sign": ("suppressing", ["suppressing"]),
    "rule": (repr(null_calibrated(quantile=0.95)), ["null_calibrated-quantile=0.95"]),
    "min_tasks": (3, ["min_tasks=3"]),
    "positions": ("all", ["ablated@all"]),
}


def test_defaults_leave_no_mark():
    assert marks(results(), **DEFAULT) == []
    assert marks(results(), **DEFAULT, rule=repr(fdr()), min_tasks="half") == []


@pytest.mark.parametrize("option", OTHERS)
def test_every_other_value_does(option):
    value, expected = OTHERS[option]
    assert marks(results(), **(DEFAULT | {option: value})) == expected


def test_all_at_once_differ_from_each_alone():
    every = marks(results(), **{option: value for option, (value, _) in OTHERS.items()})
    assert every == [mark for _, marks_of in OTHERS.values() for mark in marks_of]
