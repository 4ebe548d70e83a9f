"""docs/papers.toml: complete, each row pinned by a test that exists, a reason exactly where ours is another."""

import ast
import importlib.metadata
import importlib.util
import pkgutil
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import headcats.papers
from headcats.base import registry
from headcats.papers.token_probe.settings import PRESETS as TOKEN_PROBES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages() -> Any:
    """The script that makes docs/papers.md; this folder has its name."""
    spec = importlib.util.spec_from_file_location("papers_script", ROOT / "docs" / "scripts" / "papers.py")
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def settings_fields(paper: str) -> set[str]:
    """Fields of the settings classes of a paper."""
    module = importlib.import_module(f"headcats.papers.{paper}.settings")
    classes = [value for name, value in vars(module).items() if name.endswith("Settings") and is_dataclass(value)]
    return {field.name for settings in classes for field in fields(settings)}


def test_a_reason_stands_exactly_where_ours_is_another(pages: Any) -> None:
    rows = [choice for paper in pages.papers() for choice in paper.choices]
    assert len(rows) > 155
    assert [row for row in rows if bool(row.why) == row.same or not (row.what and row.where)] == []


def test_every_paper_is_there_every_setting_is_a_choice_and_nothing_is_chosen_twice(pages: Any) -> None:
    presets = {point.value for point in importlib.metadata.entry_points(group="headcats.preset")}
    assert {f"headcats.papers.{paper.name}" for paper in pages.papers()} == presets & {
        f"headcats.papers.{module.name}" for module in pkgutil.iter_modules(headcats.papers.__path__)
    }
    for paper in pages.papers():
        names = [choice.what for choice in paper.choices]
        assert len(names) == len(set(names)), paper.name
        assert settings_fields(paper.name) <= {choice.field for choice in paper.choices}, paper.name


def test_no_public_name_is_hidden_by_a_module_of_that_name() -> None:
    """Once it is imported, a module stands in place of what its package gives under this name."""
    for paper in (module for module in pkgutil.iter_modules(headcats.papers.__path__) if module.ispkg):
        package = importlib.import_module(f"headcats.papers.{paper.name}")
        assert not set(getattr(package, "__all__", ())) & {
            module.name for module in pkgutil.iter_modules(package.__path__)
        }


def test_presets_of_papers_say_that_they_differ(pages: Any) -> None:
    presets = [name for paper in pages.papers() for name in paper.presets]
    assert sorted(presets) == sorted(registry.names("preset"))
    for name in presets:
        differs = registry.lookup("preset", name).differs
        assert differs
        assert f"Main differences: {differs}." in str(registry.lookup("preset", name).__doc__)


def test_the_preset_of_the_code_has_what_the_code_has(pages: Any) -> None:
    (paper,) = [paper for paper in pages.papers() if paper.name == "token_probe"]
    in_code = [choice for choice in paper.choices if choice.why.endswith("the preset orgad2025-code has it")]
    assert len(in_code) == 8
    assert [getattr(TOKEN_PROBES["orgad2025-code"], row.field) for row in in_code] == [row.paper for row in in_code]


def test_the_page_is_up_to_date_and_tests_that_it_names_are_there(pages: Any) -> None:
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page(), "run `python docs/scripts/papers.py`"
    named = [choice.test.split("::") for paper in pages.papers() for choice in paper.choices]
    names = {
        file: {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))}
        for file in {file for file, *_ in named}
    }
    assert [(file, test) for file, *test in named if not names[file].issuperset(test)] == []
