"""Presets and fields of settings are checked for every paper alike."""

from types import SimpleNamespace

import pytest

from headcats.base.errors import OptionError, UnknownNameError
from headcats.papers.settings import check_at_least, preset_of


def test_fields_of_settings_are_checked() -> None:
    check_at_least(0, SimpleNamespace(batch=1, updates=0), "batch", "updates")
    for values, bound in (
        ((0, float("nan"), "3", True, None), "least 1"),
        ((10_000_001, float("inf"), 10**400), "most 10,000,000"),
    ):
        for value in values:
            with pytest.raises(OptionError, match=f"updates of gates .* {bound}"):
                check_at_least(1, SimpleNamespace(batch=1, updates=value), "batch", "updates", of="gates")


def test_a_preset_of_a_method_or_settings_of_ones_own() -> None:
    presets = {"paper2024": (1, 2), "mini": (3, 4)}
    assert preset_of("some_method", "mini", presets) == (3, 4)
    assert preset_of("some_method", (5, 6), presets) == (5, 6)
    with pytest.raises(UnknownNameError, match=r"'paper2023' .* 'paper2024'"):
        preset_of("some_method", "paper2023", presets)
    with pytest.raises(UnknownNameError, match="preset '7'"):
        preset_of("some_method", 7, presets)
