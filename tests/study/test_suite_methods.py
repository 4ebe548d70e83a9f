"""Which methods a bundled suite brings along."""

import pytest

from headcats.methods.spec import MethodSpec
from headcats.results.declaration import default_methods, registered
from headcats.study.defaults import FINISHED, OF_SUITE
from headcats.study.suite_methods import methods_of_suite
from headcats.tasks.definition import word_pairs
from headcats.tasks.suites import suite


def test_most_suites_take_the_default_ones():
    assert methods_of_suite("sentences") == ("token_probe",)
    assert methods_of_suite("icl") == methods_of_suite("cognitive") == methods_of_suite("") == ()


def test_suites_of_finished_prompts_are_known():
    assert {name for name in OF_SUITE if not any(word_pairs(task, seed=0) for task in suite(name).tasks)} == {*FINISHED}


@pytest.mark.parametrize("name", FINISHED)
def test_finished_prompts_are_scored_at_their_last_position(name):
    specs = [MethodSpec.parse(text) for text in methods_of_suite(name)]
    assert [spec.positions for spec in specs] == ["last"] * 3
    assert [spec.name for spec in specs] == [each for each in default_methods() if registered(each).control != "task"]
