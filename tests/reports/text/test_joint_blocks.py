"""Blocks of joint methods: which figure shows them, and what they say."""

import json

import numpy as np
import pytest
import xarray as xr
from example_joint import weights_of

from headcats import registry
from headcats.reports.text.joint_blocks import suite_findings
from headcats.reports.text.suggestions import figure_file
from headcats.results.finding import line


def test_options_of_a_method_are_in_the_name_of_its_figure():
    block = xr.Dataset(attrs={"label": "made_gates:preset=x,n_seeds=3"})
    assert figure_file(block, "gate_scores") == "gate_scores-preset=x-n_seeds=3.html"


def test_a_block_carries_its_summary():
    block = xr.Dataset(attrs={"method": "lengths", "summary": json.dumps(["3 tasks."])})
    assert suite_findings(block) == [line("methods.summary", text="3 tasks.")]


def test_a_block_without_a_summary_says_nothing():
    assert suite_findings(xr.Dataset(attrs={"method": "lengths"})) == []


@pytest.mark.usefixtures("joint_methods")
def test_the_summary_is_that_of_the_method():
    block = weights_of(np.array([[[0.6, 0.1]]]), tasks=["a"], belongs=["c"], threshold=[0.3])
    texts = [str(finding) for finding in suite_findings(block)]
    assert texts == registry.lookup("method", "word_weights").summary(block)
    assert "1 of 1" in texts[0]
