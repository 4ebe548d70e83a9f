"""Rows of papers' choices: complete, each pinned by a test that exists, a reason exactly where ours is another."""

import importlib
import pkgutil
from dataclasses import fields, is_dataclass
from pathlib import Path

from headcats import papers, registry
from headcats.methods.choices import Choice, differences

ROOT = Path(__file__).parents[2]
CHOICES: dict[str, tuple[Choice, ...]] = {
    module.name: importlib.import_module(f"headcats.papers.{module.name}.choices").CHOICES
    for module in pkgutil.iter_modules(papers.__path__)
    if module.ispkg and (Path(papers.__path__[0]) / module.name / "choices.py").is_file()
}
EVERY = [choice for choices in CHOICES.values() for choice in choices]


def settings_fields(package: str) -> set[str]:
    """Fields of every settings class of a method."""
    folder = importlib.import_module(f"headcats.papers.{package}")
    names = [f"{folder.__name__}.{module.name}" for module in pkgutil.iter_modules(folder.__path__)]
    return {
        field.name
        for module in map(importlib.import_module, names)
        for name, value in vars(module).items()
        if name.endswith("Settings") and is_dataclass(value) and value.__module__ == module.__name__
        for field in fields(value)
    }


def test_a_reason_stands_exactly_where_ours_is_another() -> None:
    assert len(EVERY) > 200
    assert [one for one in EVERY if bool(one.why) == one.same or not (one.what and one.where)] == []


def test_every_setting_is_a_choice_and_nothing_is_chosen_twice() -> None:
    for package, choices in CHOICES.items():
        names = [choice.what for choice in choices]
        assert len(names) == len(set(names)), package
        held = {choice.field for choice in choices} - {""}
        assert not held or held == settings_fields(package), package


def test_presets_say_what_differs() -> None:
    presets = [registry.lookup("preset", name) for name in registry.names("preset")]
    for package, choices in CHOICES.items():
        own = [preset for preset in presets if preset.choices == choices]
        assert own, package
        for preset in own:
            said = {one.what: f"{one.what}: {one.ours}, not {one.paper}" in str(preset.__doc__) for one in choices}
            assert said == {one.what: not one.same for one in choices}


def test_differences_are_in_the_order_of_the_rows() -> None:
    batch, rate = Choice("batch", "code", 1, 32, "t", "faster"), Choice("rate", "code", 0.1, 0.1, "t")
    seed = Choice("seed", "code", 42, 0, "t", "any")
    assert differences((batch, rate, seed)).split("; ") == ["batch: 32, not 1", "seed: 0, not 42"]
    assert (batch.same, rate.same) == (False, True)
    assert differences((rate,)) == ""
