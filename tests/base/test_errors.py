"""One base for every error and one for every warning, and text that reads as a sentence."""

import inspect
from typing import Any

import pytest
from for_each import for_each

from headcats.base import errors
from headcats.base.errors import MOST_STEPS, OptionError, check_count, shown

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass)]


@for_each("item", CLASSES)
def test_everything_has_the_common_base_and_a_docstring(item):
    assert issubclass(item, errors.HeadcatsError | errors.HeadcatsWarning)
    assert issubclass(item, errors.HeadcatsError) != item.__name__.endswith("Warning")
    assert item.__doc__


@for_each(
    "item,also",
    [
        (errors.UnknownNameError, KeyError),
        (errors.OptionError, ValueError),
        (errors.DataError, ValueError),
        (errors.ModelError, ValueError),
        (errors.PlanError, ValueError),
        (errors.StorageError, OSError),
        (errors.HeadcatsWarning, UserWarning),
        (errors.MemoryLimitError, errors.OptionError),
        (errors.MemoryLimitError, errors.MemoryShortageError),
    ],
)
def test_each_is_also_what_a_script_would_catch(item, also):
    assert issubclass(item, also)


def test_text_is_the_sentence_alone():
    """A KeyError prints the repr of its argument, an OSError its number."""
    assert str(errors.UnknownNameError("Unknown task 'x'.")) == "Unknown task 'x'."
    assert str(errors.StorageError("Cannot write.")) == "Cannot write."
    assert str(errors.DataError()) == ""


NONE_OF_THEM = [0, -1, True, False, None, "3", 2.0, float("nan"), float("inf"), -float("inf"), 1j, [3]]


@for_each("value", NONE_OF_THEM)
def test_what_is_no_count(value: Any, unchecked_types: None) -> None:
    with pytest.raises(OptionError, match=r"draws .* at least 1; got "):
        check_count("draws", value)


@for_each("value", [MOST_STEPS + 1, 10**20, 10**5000])
def test_more_than_possible(value: int) -> None:
    with pytest.raises(OptionError, match=f"draws .* at most {MOST_STEPS:,}: .*; got "):
        check_count("draws", value)


def test_the_bounds_belong_to_what_is_possible() -> None:
    check_count("draws", 1)
    check_count("draws", MOST_STEPS)
    check_count("draws", 0, least=0)


def test_long_values_are_shown_by_their_length() -> None:
    assert shown(10**20) == "1" + 20 * "0"
    assert "5,000 digits" in shown(-(10**5000))
    assert len(shown("x" * 1000)) == 80
