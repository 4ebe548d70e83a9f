"""Blocks of joint methods: which figure shows them, and what they say."""

import json

import xarray as xr

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
