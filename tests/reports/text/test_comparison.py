"""What the runs of several results differ in."""

import json

import xarray as xr

from headcats.evidence.comparison.runs import Runs
from headcats.reports.text.comparison import plan_findings
from headcats.results.finding import line
from headcats.results.run_results import RunResults


def results(*tasks, **plan):
    made = xr.DataTree.from_dict({f"/{task}/denoising_patch@last": xr.Dataset() for task in tasks})
    made.attrs["manifest"] = json.dumps({"plan": plan, "model": {"name": "m"}, "methods": ["denoising_patch@last"]})
    return RunResults(made)


def test_values_stay_what_they_are():
    two = Runs({"a": results("x", seed=0, n_demos=4), "b": results("x", "y", seed=1, n_demos=5)})
    assert two.differences == {"plan seed": [0, 1], "plan n_demos": [4, 5], "tasks": [["x"], ["x", "y"]]}
    (table,) = plan_findings(two)
    assert table.rows == (("plan n_demos", "4", "5"), ("plan seed", "0", "1"), ("tasks", "1, without y", "2"))


def test_runs_of_one_plan_differ_in_nothing():
    same = Runs({"a": results("x", seed=0), "b": results("x", seed=0)})
    assert same.differences == {}
    assert list(plan_findings(same)) == [line("plans.same")]
