"""What a map is of: every option that is not the default is in the name of its file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated import block, tree

from headcats.base.errors import OptionError
from headcats.categories.map_spec import MapSpec
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.rules import top_fraction
from headcats.rules.discovery_rate import fdr

LABEL = Label("denoising_patch", positions="last")


@pytest.fixture
def results():
    patched = tree({"capitals": block(np.zeros((4, 1, 2)))}, categories={"capitals": "Knowledge"})
    patched.attrs["manifest"] = json.dumps({"plan": {"metrics": ["logit_diff", "log_prob"]}, "methods": [str(LABEL)]})
    return RunResults(patched)


# Field -> value, suffix, option of the command line.
VARIANTS = {
    "label": (Label("noising_patch", positions="all"), "-noising_patch@all", {"method": "noising_patch@all"}),
    "metric": ("log_prob", "-log_prob", {"metric": "log_prob"}),
    "effect": ("task_specific", "-task_specific", {"effect": "task_specific"}),
    "sign": ("suppressing", "-suppressing", {"sign": "suppressing"}),
    "rule": (top_fraction(p=0.05), "-top_fraction-p=0.05", {"rule": "top_fraction:p=0.05"}),
    "min_tasks": (3, "-min_tasks=3", {"min-tasks": "3"}),
}


def test_defaults_have_no_suffix_and_need_no_options(results):
    for reading in (MapSpec(), MapSpec(LABEL, "logit_diff", rule=fdr(), min_tasks="half")):
        assert reading.file_suffix(results) == ""
        assert reading.options_for(results) == {}
        assert reading.evidence_folder(results) == "evidence"


@pytest.mark.parametrize("field", VARIANTS)
def test_every_other_value_has_a_suffix_and_an_option(results, field):
    value, suffix, options = VARIANTS[field]
    reading = replace(MapSpec().resolve(results), **{field: value})
    assert reading.file_suffix(results) == suffix
    assert reading.options_for(results) == options


def test_all_at_once(results):
    reading = MapSpec(**{field: value for field, (value, _, _) in VARIANTS.items()})
    assert reading.file_suffix(results) == "".join(suffix for _, suffix, _ in VARIANTS.values())
    # Neither sign nor rule nor min_tasks choose what is tested.
    of_scores = "".join(VARIANTS[field][1] for field in ("label", "metric", "effect"))
    assert reading.evidence_folder(results, ablated="all") == f"evidence{of_scores}-ablated@all"


def test_the_options_give_the_reading_again(results):
    reading = MapSpec(**{field: value for field, (value, _, _) in VARIANTS.items()})
    options = {name.replace("-", "_"): value for name, value in reading.options_for(results).items()}
    again = MapSpec.parse(**options)
    assert repr(again) == repr(reading)


def test_results_fill_in_what_is_not_set(results):
    assert MapSpec().resolve(results).label == LABEL
    assert MapSpec().resolve(results).metric == "logit_diff"
    assert MapSpec.parse(positions="all").resolve(results).label == LABEL.at("all")
    assert MapSpec.parse(method="denoising_patch").resolve(results).label == LABEL


@pytest.mark.parametrize(
    ("answers", "mark"), [("whole", ""), ("first_token", ", answers first_token"), ("single", ", answers single")]
)
def test_the_title_says_which_part_of_answers_the_metric_is_of(results, answers, mark):
    plan = {"metrics": ["logit_diff"], "answers": answers}
    results.tree.attrs["manifest"] = json.dumps({"plan": plan, "model": {"name": "m"}})
    resolved = MapSpec(LABEL).resolve(RunResults(results.tree))
    assert resolved.scores_title == f"denoising_patch at last, logit_diff{mark}, model m"
    assert f", logit_diff{mark}, rule " in resolved.title
    del results.tree.attrs["manifest"]
    assert MapSpec(LABEL, "logit_diff").title == MapSpec(LABEL, "logit_diff", answers="").title


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"effect": "half"}, "effect"),
        ({"sign": "up"}, "sign"),
        ({"min_tasks": "most"}, "min_tasks"),
        ({"min_tasks": 0}, "min_tasks"),
        ({"method": "a@last", "positions": "all"}, "contradict"),
    ],
)
def test_other_values_are_refused(options, word):
    with pytest.raises(OptionError, match=word):
        MapSpec.parse(**options)
