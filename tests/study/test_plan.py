"""The plan checks every name and number before any model is touched."""

import pytest
from counting import SUITE

import headcats as hc
from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.results.declaration import default_methods
from headcats.results.records import PlanRecord
from headcats.study.plan import methods_of_suite, plan


def make(**options):
    return plan(**({"suite": SUITE, "n_prompts": 4} | options))


def test_defaults():
    study = make()
    assert study.record() == PlanRecord(suite="counting", metrics=("logit_diff",), n_prompts=4, template="arrow")
    assert [spec.label for spec in study.methods] == [
        "denoising_patch@last", "second_corruption_patch@last", "other_item_patch@last", "mean_ablation@all",
    ]  # fmt: skip
    assert [task.name for task in study.tasks] == ["always_a", "always_b", "always_c", "shifted"]


def test_shuffled_labels_have_no_natural_distractor():
    assert make(corruption="shuffled_labels").metrics == ("log_prob",)
    assert make(corruption="shuffled_labels", metrics=["logit_diff"]).metrics == ("logit_diff",)


def test_scored_tasks_are_in_the_order_of_the_suite_and_the_others_stay():
    study = make(tasks=["always_c", "always_a", "always_c"])
    assert [task.name for task in study.tasks] == ["always_a", "always_c"]
    assert len(study.suite.tasks) == 4


@pytest.mark.usefixtures("unchecked_types")
def test_what_is_wrong_is_named():
    """Errors suggest the name that was probably meant, and give the bound and the value of a number."""
    wrong = [
        ({"suite": "countin"}, UnknownNameError, "'countin'.*'counting'"),
        ({"tasks": ["allways_a"]}, UnknownNameError, "'allways_a' .*'counting'.*'always_a'"),
        ({"methods": ["denoise_patch"]}, UnknownNameError, "'denoise_patch'.*'denoising_patch'"),
        ({"metrics": ["logit-diff"]}, UnknownNameError, "'logit-diff'.*'logit_diff'"),
        ({"template": "arow"}, UnknownNameError, "'arow'.*'arrow'"),
        ({"corruption": "other"}, UnknownNameError, "'other'.*'other_task'"),
        ({"suite": []}, DataError, "empty"),
        ({"n_prompts": 1}, OptionError, "n_prompts .*2; got 1"),
        ({"n_demos": 0}, OptionError, "n_demos .*1; got 0"),
        ({"methods": []}, OptionError, r"methods .*'denoising_patch'.*got \[\]"),
        ({"methods": "denoising_patch"}, OptionError, "methods"),
        ({"seed": True}, OptionError, "seed .*got True"),
        ({"min_accuracy": 1.5}, OptionError, "min_accuracy .*0 .*1; got 1.5"),
        ({"min_accuracy": float("nan")}, OptionError, "min_accuracy .*got nan"),
        ({"min_logit_diff": "0"}, OptionError, "min_logit_diff .*None .*'0'"),
    ]
    for options, error, named in wrong:
        with pytest.raises(error, match=named):
            make(**options)


@pytest.mark.usefixtures("joint_methods")
def test_a_suite_brings_its_options():
    assert plan(suite="classes", n_prompts=8).n_demos == 4
    assert plan(suite="classes", n_prompts=8, n_demos=3).n_demos == 3
    only_named = hc.Suite("classes", hc.suite("classes").tasks, hc.suite("classes").categories)
    assert plan(suite=only_named, n_prompts=8).n_demos == 5


@pytest.mark.usefixtures("joint_methods")
def test_most_suites_take_the_default_ones():
    assert methods_of_suite(hc.suite("spoken")) == ("spoken_probe",)
    assert methods_of_suite(hc.suite("icl")) == methods_of_suite(hc.suite("classes")) == default_methods()


def test_numbers_that_no_run_could_use_are_refused():
    for options in ({"n_prompts": 10**5000}, {"n_demos": 10**20}, {"seed": 2**63}, {"seed": -(10**5000)}):
        with pytest.raises(OptionError, match=f"^{next(iter(options))} must be"):
            plan(suite=["plural"], **options)
    assert plan(suite=["plural"], n_prompts=4, seed=-(2**62)).seed == -(2**62)
