"""Options of a run: who wins over whom, what a bundled suite brings along, and names that are refused early."""

import json
import os

import pytest
from results.folders import folder

import headcats as hc
from headcats.base import registry
from headcats.base.errors import OptionError, UnknownNameError
from headcats.cli.arguments import DEFAULT_RULE
from headcats.cli.options import check_names, settings
from headcats.prompts.template import ARROW
from headcats.results.folder import ResultsFolder
from headcats.results.records import SOLVED
from headcats.rules.rule import parse_rule
from headcats.study.options import StudyOptions, study_options, usual_options
from headcats.study.plan import plan
from headcats.tasks.stored import suite_text
from headcats.tasks.suites import make_suite


def test_a_study_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(OptionError, match="no regular file"):
        settings(tmp_path / "study.toml", {})


def test_every_suite_has_a_model_that_can_do_it():
    models = {name: settings(None, {"suite": name})["model"] for name in registry.names("suite")}
    of_hub = {name for name, model in models.items() if model not in registry.names("model")}
    assert of_hub >= {"ioi", "greater_than", "agreement"}
    assert {models[name] for name in of_hub} == {"gpt2"}
    assert set(models) <= set(registry.names("suite"))
    assert settings(None, {}) == {"model": "mini", "suite": "icl"}


def test_a_model_is_run_with_as_many_demonstrations_as_it_was_measured_with():
    report = json.loads((registry.lookup("model", "mini-cognitive") / "train_report.json").read_text(encoding="utf-8"))
    by_demonstrations = report["measured"]["kind_of"]["k"]
    assert study_options({"suite": "cognitive"}).n_demos == len(by_demonstrations) - 1
    assert study_options({"suite": "cognitive", "n_demos": 2}).n_demos == 2


def test_the_model_is_the_one_named_or_that_of_the_suite(tmp_path):
    study = tmp_path / "study.toml"
    for stored, given, model in (
        ("", {"suite": "cognitive", "model": "gpt2"}, "gpt2"),
        ('suite = "cognitive"', {}, "mini-cognitive"),
        ('suite = "cognitive"\nmodel = "gpt2"', {}, "gpt2"),
        ('model = "gpt2"', {"suite": "cognitive"}, "gpt2"),
        ('suite = "cognitive"', {"suite": "icl"}, "mini"),
        ("", {"suite": "mine"}, "mini"),
    ):
        study.write_text(stored)
        assert settings(study, given)["model"] == model


@pytest.mark.usefixtures("joint_methods")
def test_a_preset_names_its_suite_and_so_its_model():
    chosen = settings(None, {}, preset_name="classes2020")
    assert (chosen["suite"], chosen["model"]) == ("cognitive", "mini-cognitive")
    assert settings(None, {"suite": "icl"}, preset_name="classes2020")["model"] == "mini"


@pytest.mark.usefixtures("joint_methods")
@pytest.mark.parametrize("source", ["", "cognitive"])
def test_a_results_folder_brings_its_suite(tmp_path, source):
    made = make_suite(["plural", "antonym"], name="cognitive")
    text = suite_text(made, pairs={task.name: [("a", "b")] for task in made.tasks}, template=ARROW)
    ResultsFolder(folder(tmp_path / "r", suite_source=source)).write_suite(text)
    chosen = settings(None, {"out": tmp_path / "r"})
    assert [task.name for task in chosen["suite"].tasks] == ["plural", "antonym"]
    assert chosen["suite"].tasks[0].pairs(9, seed=9) == [("a", "b")]
    assert chosen["model"] == ("mini-cognitive" if source else "mini")
    assert check_names(chosen).name == "cognitive"
    assert settings(None, {"out": tmp_path / "r", "suite": "icl"})["suite"] == "icl"
    assert settings(None, {"out": tmp_path / "r"}, preset_name="spoken2020")["suite"] == "spoken"
    assert settings(None, {"out": tmp_path / "new"})["suite"] == "icl"


def test_what_is_named_here_is_what_there_is():
    """So that no name has to be asked of modules that load torch."""
    assert StudyOptions.min_accuracy == SOLVED
    assert repr(parse_rule(DEFAULT_RULE)) == repr(hc.rules.fdr())
    assert usual_options("icl")["metrics"] == list(plan().metrics)


def test_a_task_of_another_suite_is_named_as_such():
    with pytest.raises(UnknownNameError, match=r"'say_sum' .*'icl'"):
        check_names({"suite": "icl"} | {"tasks": ["say_sum"]})
    with pytest.raises(UnknownNameError, match="--suite cognitive"):
        check_names({"suite": "icl"} | {"tasks": ["number_sum"]})


@pytest.mark.usefixtures("joint_methods")
def test_methods_win_over_those_of_a_preset_which_are_named(capfd):
    chosen = settings(None, {"methods": ["class_probe"]}, preset_name="gates-small")
    assert chosen["methods"] == ["class_probe"]
    assert "made_gates:preset=small of preset gates-small" in " ".join(capfd.readouterr().err.split())
    settings(None, {"methods": ["made_gates:preset=small"]}, preset_name="gates-small")
    assert capfd.readouterr().err == ""
