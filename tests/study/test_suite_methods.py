"""Which methods a suite brings along."""

import pytest

import headcats as hc
from headcats.methods.spec import MethodSpec
from headcats.results.declaration import default_methods, registered
from headcats.study.suite_methods import methods_of_suite
from headcats.tasks.suites import make_suite

FINISHED = ("induction", "ioi", "greater_than", "agreement")


@pytest.mark.usefixtures("joint_methods")
def test_most_suites_take_the_default_ones():
    assert methods_of_suite(hc.suite("spoken")) == ("spoken_probe",)
    assert methods_of_suite(hc.suite("icl")) == methods_of_suite(hc.suite("cognitive")) == default_methods()


@pytest.mark.usefixtures("joint_methods")
def test_a_suite_that_only_bears_the_name_of_a_bundled_one_does_not_take_its_methods():
    assert methods_of_suite(make_suite(["antonym", "plural"], name="spoken")) == default_methods()


def test_finished_prompts_are_scored_at_their_last_position():
    for name in FINISHED:
        specs = [MethodSpec.parse(text) for text in methods_of_suite(hc.suite(name))]
        assert [spec.positions for spec in specs] == ["last"] * 3
        names = [each for each in default_methods() if registered(each).control != "task"]
        assert [spec.name for spec in specs] == names
