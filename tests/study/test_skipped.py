"""A model that can do no task of a suite: which suites it can do something of."""

import logging

import pytest

import headcats as hc
from headcats.base import registry
from headcats.base.errors import DataError
from headcats.study.plan import plan
from headcats.study.skipped import advice_on_suites
from headcats.study.validation import validate


@pytest.fixture(scope="module")
def model():
    return hc.load_model("mini-cognitive", device="cpu")


@pytest.fixture
def _no_other_suites():
    """Override the fixture that switches the advice off: these tests check it."""


@pytest.fixture
def few_suites(monkeypatch):
    """Register three suites alone."""
    monkeypatch.setattr("headcats.study.skipped.registered_names", lambda kind: ["induction", "icl", "greater_than"])


def named(advice):
    doable = advice.partition("It can do tasks of ")[2].partition(": try")[0]
    return doable.split(", ") if doable else []


def test_suites_are_named_that_the_model_can_do_something_of(model, few_suites):
    advice = advice_on_suites(model, plan(suite="ioi", n_prompts=8), refused_by=["min_accuracy"])
    assert named(advice) == ["induction", "icl"]


def test_other_suites_are_no_advice_where_something_else_is_wrong(model):
    study = plan(suite="ioi", n_prompts=8)
    for reason in ("gap", "min_logit_diff", "demonstrations"):
        assert advice_on_suites(model, study, refused_by=["min_accuracy", reason]) == ""
    assert advice_on_suites(model, study.changed(answers="single"), refused_by=["prompts"]) == ""


@pytest.mark.slow
def test_a_run_and_a_validation_without_tasks_end_with_them(model, caplog):
    caplog.set_level(logging.WARNING, "headcats")
    with pytest.raises(DataError) as problem:
        hc.run(model, suite="ioi", n_prompts=8, methods=["denoising_patch"], progress=False)
    assert named(str(problem.value).splitlines()[-1]) == [
        suite for suite in ("icl", "cognitive", "induction", "relations") if suite in registry.names("suite")
    ]
    entries = validate(model, suite="ioi", n_prompts=8, methods=["denoising_patch"])
    assert all(entry["refusal"] for entry in entries.values())
    assert "induction" in caplog.text
    caplog.clear()
    validate(model, suite="induction", n_prompts=8, methods=["denoising_patch"])
    assert caplog.text == ""
