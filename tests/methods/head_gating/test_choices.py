"""Rows of choices: their tests exist, reasons stand where values differ, and constants are those that run."""

import ast
from dataclasses import asdict
from pathlib import Path

import pytest

from headcats import registry
from headcats.methods.choices import Choice
from headcats.methods.head_gating.choices import CHOICES, SMALL_CHOICES, choices
from headcats.methods.head_gating.settings import GatingSettings

ROOT = Path(__file__).parents[3]


def defined(test: str) -> bool:
    """Whether there is a test of that id."""
    file, *names = test.split("::")
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for name in names:
        (node,) = [node for node in body if getattr(node, "name", None) == name] or [None]
        if node is None:
            return False
        body = node.body
    return True


@pytest.mark.parametrize("row", CHOICES, ids=lambda row: row.what)
def test_a_row_names_a_test_and_a_reason_where_it_differs(row: Choice) -> None:
    assert defined(row.test), row.test
    assert bool(row.why) != row.same
    assert row.where


def test_no_row_comes_twice() -> None:
    assert len({row.what for row in CHOICES}) == len(CHOICES)


def test_every_constant_of_the_settings_is_in_a_row() -> None:
    """Each changed by itself changes the rows."""
    other = {"first_rates": (0.2, 0.1), "later_rates": (0.2, 0.1), "held_out": 0.3}
    for name, value in asdict(GatingSettings()).items():
        changed = GatingSettings(**{name: other.get(name, 2 * value)})
        assert [row.ours for row in choices(changed)] != [row.ours for row in CHOICES], name


def test_the_small_preset_differs_in_batches_and_updates_alone() -> None:
    differing = [small.what for small, row in zip(SMALL_CHOICES, CHOICES, strict=True) if small.ours != row.ours]
    assert differing == [
        "texts per update", "updates per stage", "contrast: pairs per update", "contrast: updates",
    ]  # fmt: skip
    assert "texts per update 32, not 64" in registry.lookup("preset", "chg-mini").__doc__
    assert "texts per update" not in registry.lookup("preset", "chg2025").__doc__
