"""Rows of papers' choices: complete, each pinned by a test that exists, a reason exactly where ours is another."""

import ast
import functools
import importlib
import pkgutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

import pytest

from headcats import methods, registry
from headcats.methods.choices import Choice, differences
from headcats.methods.presets import Preset

ROOT = Path(__file__).parents[2]


def packages() -> list[str]:
    """Methods that have rows."""
    folders = [module.name for module in pkgutil.iter_modules(methods.__path__) if module.ispkg]
    return [name for name in folders if (Path(methods.__path__[0]) / name / "choices.py").is_file()]


def rows(package: str) -> tuple[Choice, ...]:
    choices: tuple[Choice, ...] = importlib.import_module(f"headcats.methods.{package}.choices").CHOICES
    return choices


EVERY = [pytest.param(choice, id=f"{package}, {choice.what}") for package in packages() for choice in rows(package)]


def settings_fields(package: str) -> set[str]:
    """Fields of every settings class of a method."""
    folder = importlib.import_module(f"headcats.methods.{package}")
    modules: list[ModuleType] = [
        importlib.import_module(f"{folder.__name__}.{module.name}") for module in pkgutil.iter_modules(folder.__path__)
    ]
    classes = {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.endswith("Settings") and is_dataclass(value) and value.__module__ == module.__name__
    }
    return {field.name for each in classes for field in fields(each)}


@functools.cache
def names_in(file: Path) -> frozenset[str]:
    """`test_name` and `TestClass::test_name` of a file."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return frozenset(names)


@pytest.mark.parametrize("choice", EVERY)
def test_a_reason_stands_exactly_where_ours_is_another(choice: Choice) -> None:
    assert bool(choice.why) != choice.same
    assert choice.what
    assert choice.where


@pytest.mark.parametrize("choice", EVERY)
def test_the_test_that_pins_it_exists(choice: Choice) -> None:
    file, _, name = choice.test.partition("::")
    assert (ROOT / file).is_file(), file
    assert name in names_in(ROOT / file)


@pytest.mark.parametrize("package", packages())
def test_nothing_is_chosen_twice(package: str) -> None:
    names = [choice.what for choice in rows(package)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("package", packages())
def test_every_setting_is_a_choice(package: str) -> None:
    held = {choice.field for choice in rows(package)} - {""}
    assert not held or held == settings_fields(package)


@pytest.mark.parametrize("package", packages())
def test_presets_say_what_differs(package: str) -> None:
    choices = rows(package)
    importlib.import_module(f"headcats.methods.{package}")
    presets: list[Preset] = [registry.lookup("preset", name) for name in registry.names("preset")]
    own = [preset for preset in presets if preset.choices == choices]
    assert own
    for preset in own:
        for choice in choices:
            said = f"{choice.what}: {choice.ours}, not {choice.paper}"
            assert (said in str(preset.__doc__)) != choice.same


def test_differences_are_in_the_order_of_the_rows() -> None:
    batch, rate = Choice("batch", "code", 1, 32, "t", "faster"), Choice("rate", "code", 0.1, 0.1, "t")
    seed = Choice("seed", "code", 42, 0, "t", "any will do")
    assert differences((batch, rate, seed)) == "batch: 32, not 1; seed: 0, not 42"
    assert (batch.same, rate.same) == (False, True)
    assert differences((rate,)) == ""
