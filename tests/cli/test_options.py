"""One field of the options is a keyword, an option of the command, a key of a study file, and part of the record."""

import inspect
import json
from dataclasses import fields
from typing import Any

import pytest
import typer

import headcats as hc
from headcats.base.errors import OptionError
from headcats.cli.options import settings
from headcats.cli.run import run_command
from headcats.reports.text.suggestions import repeat_command
from headcats.results.manifest import Manifest
from headcats.results.options import PlanOptions, options_of
from headcats.results.records import ModelRecord, PlanRecord
from headcats.study.options import ModelOptions, StudyOptions

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
    assert {option.name for option in ALL} <= set(known)


def test_every_field_is_a_key_of_a_study_file_and_has_its_kind(tmp_path):
    study = tmp_path / "study.toml"
    options = {option.name: changed(option) for option in ALL}
    study.write_text("\n".join(f"{name.replace('_', '-')} = {json.dumps(value)}" for name, value in options.items()))
    assert settings(study, {}) == options
    assert settings(study, {"seed": 1}) == options | {"seed": 1}
    for option in ALL:
        study.write_text(f"{option.name} = 1979-05-27")
        with pytest.raises(OptionError, match=f"{option.name} in .*study.toml must be "):
            settings(study, {})


def test_every_field_of_the_plan_is_recorded_and_repeated():
    assert set(PlanRecord().complete()) == {option.name for option in fields(PlanOptions)}
    own = {option.name: changed(option) for option in options_of(StudyOptions) if hasattr(PlanRecord(), option.name)}
    assert own.keys() == PlanRecord().complete().keys()
    own |= {"metrics": tuple(own["metrics"]), "suite": "cognitive"}
    manifest = Manifest(plan=PlanRecord(**own), suite_source="cognitive", model=ModelRecord(source="mini-cognitive"))
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
