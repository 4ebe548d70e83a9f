"""Checks of what the methods of papers are given: fields of their settings, and presets."""

import numbers
from collections.abc import Mapping
from typing import Any, TypeVar

from headcats.base.errors import MOST_STEPS, TOO_LONG, OptionError, UnknownNameError, shown, unknown_name_message

T = TypeVar("T")


def preset_of(method: str, preset: str | T, presets: Mapping[str, T]) -> T:
    """The settings of a preset of a method; settings themselves are returned unchanged."""
    if isinstance(preset, type(next(iter(presets.values())))):
        return preset
    if not isinstance(preset, str) or preset not in presets:
        raise UnknownNameError(unknown_name_message(f"preset of {method}", str(preset), presets))
    return presets[preset]


def check_at_least(least: float, settings: object, *names: str, of: str = "") -> None:
    """Raises OptionError if one of these fields of the settings of a method is smaller, or larger than can be done."""
    for name in names:
        value: Any = getattr(settings, name)
        field = f"{name}{of and f' of {of}'}"
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not value >= least:
            raise OptionError(f"{field} must be at least {least}; got {shown(value)}.")
        if value > MOST_STEPS:
            raise OptionError(f"{field} must be at most {MOST_STEPS:,}: {TOO_LONG}; got {shown(value)}.")
