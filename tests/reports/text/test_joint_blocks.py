"""Blocks of joint methods: which figure shows them, and what they say."""

import json

import xarray as xr

from headcats import registry
from headcats.reports.text.joint_blocks import suite_findings
from headcats.reports.text.suggestions import figure_file
from headcats.results.finding import line


def test_options_of_a_method_are_in_the_name_of_its_figure():
    block = xr.Dataset(attrs={"label": "head_gating:preset=x,n_seeds=3"})
    assert figure_file(block, "always_any") == "always_any-preset=x-n_seeds=3.html"


def test_a_block_carries_its_summary():
    block = xr.Dataset(attrs={"method": "lengths", "summary": json.dumps(["3 tasks."])})
    assert suite_findings(block) == [line("methods.summary", text="3 tasks.")]


def test_a_block_without_a_summary_of_a_method_that_is_not_installed():
    assert suite_findings(xr.Dataset(attrs={"method": "lengths"})) == []


def test_the_summary_is_that_of_the_method():
    block = xr.Dataset(
        {"score": (("task", "layer", "head"), [[[0.5, 0.1]]])}
        | {name: ("task", [0.3]) for name in ("threshold", "direct", "direct_later")}
        | {"null": ("task", [0.2])},
        coords={"task": ["a"], "category": ("task", ["c"]), "layer": [0], "head": [0, 1]},
        attrs={
            "method": "ov_relation",
            "provenance": '{"settings": {"threshold": 0.15, "null_percentile": 99.9}, "relations": {"a": '
            '{"copying": false}}}',
        },
    )
    texts = [str(finding) for finding in suite_findings(block)]
    assert texts == registry.lookup("method", "ov_relation").summary(block)
    assert "1 of 1" in texts[0]
