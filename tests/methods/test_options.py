"""What options of methods take, and how a refusal reads."""

from types import SimpleNamespace

import pytest

from headcats.errors import OptionError
from headcats.methods.options import WholeNumber, check_at_least, check_whole, default_value, read_value

NAMES = ("suite", "task")
STEPS = WholeNumber(default=2, least=1)


def test_defaults() -> None:
    assert default_value(NAMES) == "suite"
    assert default_value(STEPS) == 2


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("8", 8), ("08", 8), ("999999999", 999_999_999)])
def test_whole_numbers_are_read(text: str, value: int) -> None:
    assert read_value(STEPS, text, name="steps", method="m") == value


def test_names_are_read() -> None:
    assert read_value(NAMES, "task", name="reference", method="m") == "task"
    with pytest.raises(OptionError, match="'suite', 'task'; got 'tasks'"):
        read_value(NAMES, "tasks", name="reference", method="m")


# What int() would take, or choke on, is refused alike.
@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "eight", "1_0", "٣", "²", "+1", "1e2", "9" * 5000])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"'steps' of m .* 1; got "):
        read_value(STEPS, text, name="steps", method="m")


@pytest.mark.parametrize("value", [True, 0, 1.0, "1", None])
def test_values_from_python_are_checked_alike(value: object) -> None:
    with pytest.raises(OptionError, match=f"at least 1; got {value!r}"):
        check_whole(STEPS, value, name="steps", method="m")
    assert check_whole(STEPS, 3, name="steps", method="m") == 3


def test_the_first_field_that_is_too_small_is_named() -> None:
    settings = SimpleNamespace(batch=1, updates=0, rate=float("nan"))
    check_at_least(0, settings, "batch", "updates")
    with pytest.raises(OptionError, match="updates of gates must be at least 1; got 0"):
        check_at_least(1, settings, "batch", "updates", of="gates")
    with pytest.raises(OptionError, match=r"rate .* got nan"):
        check_at_least(0, settings, "rate")
