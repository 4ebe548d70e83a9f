"""A model that can do no task of a suite: which suites its tokenizer can write."""

import copy
import logging

import pytest
from chat_layouts import each

import headcats as hc
from headcats.errors import DataError
from headcats.study.own_template import with_own_template
from headcats.study.plan import plan
from headcats.study.validation import validate
from headcats.study.writable_suites import advice_on_suites


@pytest.fixture(scope="module")
def model():
    return hc.load_model("mini-cognitive")


def named(advice):
    return [name for name in ("icl", "cognitive", "sentences", "induction", "ioi", "greater_than") if name in advice]


def test_other_suites_are_named_that_the_tokenizer_can_write(model):
    advice = advice_on_suites(model, plan(suite_source="ioi", n_prompts=8))
    assert named(advice) == ["icl", "cognitive", "sentences", "induction"]
    advice = advice_on_suites(model, plan(suite_source="induction", n_prompts=8))
    assert named(advice) == ["icl", "cognitive", "sentences"]


@pytest.mark.parametrize(("known", "named_suites"), [("→", ["icl", "cognitive", "sentences", "induction"]), ("so", [])])
def test_the_template_is_that_of_the_study(model, known, named_suites):
    """Finished prompts, such as those of induction, are messages of a conversation."""
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.chat_template = known + each("m['content']")
    chatty = hc.load_model(model, tokenizer=tokenizer)
    study = with_own_template(plan(suite_source="greater_than", n_prompts=8, template="chat"), chatty)
    assert named(advice_on_suites(chatty, study)) == named_suites


def test_a_suite_that_cannot_be_asked_is_not_named(model, monkeypatch):
    def broken(name):
        raise DataError("no such file")

    study = plan(suite_source="ioi", n_prompts=8)
    monkeypatch.setattr("headcats.study.writable_suites.suite", broken)
    assert advice_on_suites(model, study) == ""


def test_a_run_and_a_validation_without_tasks_end_with_them(model, caplog):
    caplog.set_level(logging.WARNING, "headcats")
    with pytest.raises(DataError) as problem:
        hc.run(model, suite="ioi", n_prompts=8, methods=["denoising_patch"], progress=False)
    assert named(str(problem.value).splitlines()[-1]) == ["icl", "cognitive", "sentences", "induction"]
    entries = validate(model, suite="ioi", n_prompts=8, methods=["denoising_patch"])
    assert all(entry["refusal"] for entry in entries.values())
    assert "induction" in caplog.text
    caplog.clear()
    validate(model, suite="induction", n_prompts=8, methods=["denoising_patch"])
    assert caplog.text == ""
