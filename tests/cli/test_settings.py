"""Options of a run: who wins over whom, what a bundled suite brings along, and names that are refused early."""

import inspect
import json
import os

import pytest
from results.folders import folder

import headcats as hc
from headcats import registry
from headcats.cli.settings import check_names, run_options, settings
from headcats.errors import OptionError, UnknownNameError
from headcats.prompts.template import ARROW
from headcats.results.folder import ResultsFolder
from headcats.results.records import SOLVED
from headcats.rules.rule import parse_rule
from headcats.study.defaults import DEFAULT_PROMPTS, DEFAULT_RULE, DEFAULTS, OF_STUDY, OF_SUITE
from headcats.study.plan import plan
from headcats.tasks.stored import suite_text
from headcats.tasks.suites import make_suite


def test_chat_is_a_template():
    assert run_options({"chat": True, "template": None, "quiet": True}) == {"template": "chat"}
    assert run_options({"chat": True, "template": "chat"}) == {"template": "chat"}
    assert run_options({"chat": False, "template": "question"}) == {"template": "question"}
    assert run_options({"chat": False, "template": None}) == {"template": None}
    with pytest.raises(OptionError, match=r"--chat .*--template question"):
        run_options({"chat": True, "template": "question"})


def test_a_study_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(OptionError, match="no regular file"):
        settings(tmp_path / "study.toml", {})


def test_chat_wins_over_preset_and_study_file(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('template = "question"')
    assert settings(study, run_options({"chat": True}), preset_name="todd2024")["template"] == "chat"
    study.write_text('template = "chat"')
    assert settings(study, run_options({"chat": False}))["template"] == "chat"


def test_every_suite_has_a_model_that_can_do_it():
    models = {name: settings(None, {"suite": name})["model"] for name in OF_SUITE}
    of_hub = {name for name, model in models.items() if model not in registry.names("model")}
    assert of_hub == {"ioi", "greater_than", "agreement", "relations"}
    assert {models[name] for name in of_hub} == {"gpt2"}
    assert set(models) <= set(registry.names("suite"))
    assert settings(None, {}) == DEFAULTS
    for name in ("greater_than", "agreement"):  # several answers are right
        chosen = settings(None, {"suite": name})
        assert (chosen["min_accuracy"], chosen["min_logit_diff"]) == (0, 0)
    chosen = settings(None, {"suite": "sentences"})  # probed without demonstrations
    assert (chosen["model"], chosen["n_demos"]) == ("mini-cognitive", 0)


def test_a_model_is_run_with_as_many_demonstrations_as_it_was_measured_with():
    report = json.loads((registry.lookup("model", "mini-cognitive") / "train_report.json").read_text(encoding="utf-8"))
    by_demonstrations = report["measured"]["kind_of"]["k"]
    assert settings(None, {"suite": "cognitive"})["n_demos"] == len(by_demonstrations) - 1
    assert settings(None, {"suite": "cognitive", "n_demos": 2})["n_demos"] == 2


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


def test_a_preset_names_its_suite_and_so_its_model():
    chosen = settings(None, {}, preset_name="cogmirrors2025")
    assert (chosen["suite"], chosen["model"]) == ("cognitive", "mini-cognitive")
    assert settings(None, {"suite": "icl"}, preset_name="cogmirrors2025")["model"] == "mini"


@pytest.mark.parametrize("source", ["", "cognitive"])
def test_a_results_folder_brings_its_suite(tmp_path, source):
    made = make_suite(["plural", "antonym"], name="cognitive")
    text = suite_text(made, pairs={task.name: [("a", "b")] for task in made.tasks}, template=ARROW)
    ResultsFolder(folder(tmp_path / "r", suite_source=source)).write_suite(text)
    chosen = settings(None, {"out": tmp_path / "r"})
    assert [task.name for task in chosen["suite"].tasks] == ["plural", "antonym"]
    assert chosen["suite"].tasks[0].pairs(9, seed=9) == [("a", "b")]
    assert (chosen["model"], chosen["n_demos"]) == (("mini-cognitive", 4) if source else ("mini", None))
    assert check_names(chosen).name == "cognitive"
    assert settings(None, {"out": tmp_path / "r", "suite": "icl"})["suite"] == "icl"
    assert settings(None, {"out": tmp_path / "r"}, preset_name="orgad2025")["suite"] == "sentences"
    assert settings(None, {"out": tmp_path / "new"})["suite"] == "icl"


def test_what_is_named_here_is_what_there_is():
    """So that no name has to be asked of modules that load torch."""
    assert OF_STUDY["n_prompts"] == DEFAULT_PROMPTS
    assert OF_STUDY["min_accuracy"] == SOLVED
    assert repr(parse_rule(DEFAULT_RULE)) == repr(hc.rules.fdr())
    assert OF_STUDY["metrics"] == list(plan(n_prompts=DEFAULT_PROMPTS).metrics)


def test_a_task_of_another_suite_is_named_as_such():
    with pytest.raises(UnknownNameError, match=r"'say_sum' .*'icl'"):
        check_names(DEFAULTS | {"tasks": ["say_sum"]})
    with pytest.raises(UnknownNameError, match="--suite cognitive"):
        check_names(DEFAULTS | {"tasks": ["number_sum"]})


@pytest.mark.parametrize(
    ("preset", "methods", "run", "said"),
    [
        ("chg-mini", ["head_gating:n_seeds=3"], ["head_gating:preset=chg-mini,n_seeds=3"], "options of preset"),
        ("chg-mini", ["head_gating:preset=chg2025"], ["head_gating:preset=chg2025"], "not preset=chg-mini"),
        ("chg-mini", ["head_gating:preset=chg-mini"], ["head_gating:preset=chg-mini"], ""),
        ("chg2025", ["head_gating", "ov_relation"], ["head_gating", "ov_relation"], ""),
        ("todd2024", ["mean_ablation@last"], ["mean_ablation@last"], "todd2024 is not"),
        ("todd2024", ["function_vector_patch@last"], ["function_vector_patch@last"], ""),
    ],
)
def test_methods_beside_a_preset_are_put_together_or_told(capfd, preset, methods, run, said):
    chosen = settings(None, {"methods": methods}, preset_name=preset)
    assert chosen["methods"] == run
    told = " ".join(capfd.readouterr().err.split())
    assert said in told if said else told == ""


def test_methods_that_leave_nothing_of_a_preset_are_refused(tmp_path):
    with pytest.raises(OptionError, match="ov_relation,func"):
        settings(None, {"methods": ["function_probe"]}, preset_name="maps2025")
    with pytest.raises(OptionError, match=r"'n_seeds' .*twice"):
        settings(None, {"methods": ["head_gating:n_seeds=3,n_seeds=4"]}, preset_name="chg-mini")
    study = tmp_path / "study.toml"
    study.write_text('methods = ["function_probe"]')
    with pytest.raises(OptionError, match=r"Preset chg-mini .*head_gating.* are function_probe"):
        settings(study, {}, preset_name="chg-mini")


def test_defaults_of_the_command_are_those_of_the_function():
    run, planned = inspect.signature(hc.run).parameters, inspect.signature(plan).parameters
    for name in ("suite", "seed"):
        assert DEFAULTS[name] == run[name].default
    assert DEFAULTS["methods"] is DEFAULTS["n_prompts"] is None
    for name in ("n_demos", "template", "corruption", "answers"):
        assert DEFAULTS[name] == planned[name].default
    assert run["n_prompts"].default == DEFAULT_PROMPTS >= 32
