"""Options of a run: one field is a keyword, an option, a key of a study file and a record; who wins over whom.

Also what a bundled suite brings along, and names that are refused early.
"""

import inspect
import json
import os
from dataclasses import fields
from typing import Any

import pytest
import typer
from results.folders import folder

import headcats as hc
from headcats.base import registry
from headcats.base.errors import OptionError, UnknownNameError
from headcats.cli.arguments import DEFAULT_RULE
from headcats.cli.options import check_names, settings
from headcats.cli.run import run_command
from headcats.prompts.template import ARROW
from headcats.reports.text.suggestions import repeat_command
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.options import PlanOptions, options_of
from headcats.results.records import SOLVED, ModelRecord, PlanRecord
from headcats.rules.rule import parse_rule
from headcats.study.options import ModelOptions, StudyOptions, study_options, usual_options
from headcats.study.plan import plan
from headcats.tasks.stored import suite_text
from headcats.tasks.suites import make_suite

VALUES: dict[type, Any] = {str: "text", int: 7, float: 0.25, bool: True, list: ["a", "b"]}
ALL = [*options_of(ModelOptions), *options_of(StudyOptions)]


def changed(option):
    """A value that is not the default."""
    return option.words[-1] if option.words else VALUES[option.kind]


def test_every_field_is_a_keyword_of_run_with_words_in_its_docstring():
    keywords = inspect.signature(hc.run).parameters
    for option in options_of(StudyOptions):
        assert keywords[option.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert keywords[option.name].default == option.default
        assert f"\n    {option.name}: {option.text[:12]}" in hc.run.__doc__
    assert [*keywords] == ["model", *(option.name for option in options_of(StudyOptions))]


def test_every_field_is_an_option_of_the_command():
    app = typer.Typer(add_completion=False)
    app.command()(run_command)
    known = [parameter.name for parameter in typer.main.get_command(app).params]
    assert {option.name for option in ALL} - {"progress"} | {"quiet"} <= set(known)


def test_every_field_is_a_key_of_a_study_file_and_has_its_kind(tmp_path):
    study = tmp_path / "study.toml"
    options = {option.name: changed(option) for option in ALL if option.name != "columns"}  # which join the suite
    study.write_text("\n".join(f"{name.replace('_', '-')} = {json.dumps(value)}" for name, value in options.items()))
    assert settings(study, {}) == options
    assert settings(study, {"seed": 1}) == options | {"seed": 1}
    for option in ALL:
        study.write_text(f"{option.name} = 1979-05-27")
        with pytest.raises(OptionError, match=f"{option.name} in .*study.toml must be "):
            settings(study, {})


@pytest.mark.usefixtures("joint_methods")
def test_every_field_of_the_plan_is_recorded_and_repeated():
    assert set(PlanRecord().complete()) == {option.name for option in fields(PlanOptions)}
    own = {option.name: changed(option) for option in options_of(StudyOptions) if hasattr(PlanRecord(), option.name)}
    assert own.keys() == PlanRecord().complete().keys()
    own |= {"metrics": tuple(own["metrics"]), "suite": "classes"}
    manifest = Manifest(plan=PlanRecord(**own), suite_source="classes", model=ModelRecord(source="mini-cognitive"))
    words = repeat_command(manifest).split()
    for name, value in own.items():
        flag = words.index(f"--{name.replace('_', '-')}")
        assert words[flag + 1] == (",".join(value) if isinstance(value, tuple) else str(value))


@pytest.mark.parametrize("function", [hc.run, hc.run_series, hc.plan, hc.task_prompts])
def test_an_option_that_does_not_exist_is_a_type_error_with_near_matches(function):
    with pytest.raises(TypeError, match=r"'n_promts'\. .* mean 'n_prompts'"):
        function("mini", "plural", n_promts=3)


def test_a_function_takes_the_options_of_its_stage():
    assert "min_accuracy" not in inspect.signature(hc.plan).parameters
    assert {"metrics", "methods", "tasks", "out"}.isdisjoint(inspect.signature(hc.task_prompts).parameters)
    assert {"shard", "cluster"}.isdisjoint(inspect.signature(hc.run_series).parameters)
    assert "out" not in [option.name for option in options_of(StudyOptions, "validate")]


def test_a_study_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(OptionError, match="no regular file"):
        settings(tmp_path / "study.toml", {})


def test_every_suite_has_a_model_that_can_do_it():
    models = {name: settings(None, {"suite": name})["model"] for name in registry.names("suite")}
    of_hub = {name for name, model in models.items() if model not in registry.names("model")}
    assert {models[name] for name in of_hub} <= {"gpt2"}
    assert set(models) <= set(registry.names("suite"))
    assert settings(None, {}) == {"model": "mini", "suite": "icl"}


@pytest.mark.usefixtures("joint_methods")
def test_a_suite_says_how_many_demonstrations():
    assert study_options({"suite": "classes"}).n_demos == 4
    assert study_options({"suite": "classes", "n_demos": 2}).n_demos == 2


@pytest.mark.usefixtures("joint_methods")
def test_the_model_is_the_one_named_or_that_of_the_suite(tmp_path):
    study = tmp_path / "study.toml"
    for stored, given, model in (
        ("", {"suite": "classes", "model": "gpt2"}, "gpt2"),
        ('suite = "classes"', {}, "mini-cognitive"),
        ('suite = "classes"\nmodel = "gpt2"', {}, "gpt2"),
        ('model = "gpt2"', {"suite": "classes"}, "gpt2"),
        ('suite = "classes"', {"suite": "icl"}, "mini"),
        ("", {"suite": "mine"}, "mini"),
    ):
        study.write_text(stored)
        assert settings(study, given)["model"] == model


@pytest.mark.usefixtures("joint_methods")
def test_a_preset_names_its_suite_and_so_its_model():
    chosen = settings(None, {}, preset_name="classes2020")
    assert (chosen["suite"], chosen["model"]) == ("classes", "mini-cognitive")
    assert settings(None, {"suite": "icl"}, preset_name="classes2020")["model"] == "mini"


@pytest.mark.usefixtures("joint_methods")
@pytest.mark.parametrize("source", ["", "classes"])
def test_a_results_folder_brings_its_suite(tmp_path, source):
    made = make_suite(["plural", "antonym"], name="classes")
    text = suite_text(made, pairs={task.name: [("a", "b")] for task in made.tasks}, template=ARROW)
    ResultsFolder(folder(tmp_path / "r", suite_source=source)).write_suite(text)
    chosen = settings(None, {"out": tmp_path / "r"})
    assert [task.name for task in chosen["suite"].tasks] == ["plural", "antonym"]
    assert chosen["suite"].tasks[0].pairs(9, seed=9) == [("a", "b")]
    assert chosen["model"] == ("mini-cognitive" if source else "mini")
    assert check_names(chosen).name == "classes"
    assert settings(None, {"out": tmp_path / "r", "suite": "icl"})["suite"] == "icl"
    assert settings(None, {"out": tmp_path / "r"}, preset_name="spoken2020")["suite"] == "spoken"
    assert settings(None, {"out": tmp_path / "new"})["suite"] == "icl"


def test_what_is_named_here_is_what_there_is():
    """So that no name has to be asked of modules that load torch."""
    assert StudyOptions.min_accuracy == SOLVED
    assert repr(parse_rule(DEFAULT_RULE)) == repr(hc.rules.fdr())
    assert usual_options("icl")["metrics"] == list(plan().metrics)


@pytest.mark.usefixtures("joint_methods")
def test_a_task_of_another_suite_is_named_as_such():
    with pytest.raises(UnknownNameError, match=r"'say_sum' .*'icl'"):
        check_names({"suite": "icl"} | {"tasks": ["say_sum"]})
    with pytest.raises(UnknownNameError, match="--suite icl"):
        check_names({"suite": "classes"} | {"tasks": ["successor"]})


@pytest.mark.usefixtures("joint_methods")
def test_methods_win_over_those_of_a_preset_which_are_named(capfd):
    chosen = settings(None, {"methods": ["class_probe"]}, preset_name="gates-small")
    assert chosen["methods"] == ["class_probe"]
    assert "made_gates:preset=small of preset gates-small" in " ".join(capfd.readouterr().err.split())
    settings(None, {"methods": ["made_gates:preset=small"]}, preset_name="gates-small")
    assert capfd.readouterr().err == ""
