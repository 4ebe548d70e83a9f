"""Numbers of callers: whole, not too small and not absurd."""

from typing import Any

import pytest
from for_each import for_each

from headcats.base.bounds import MOST_STEPS, check_count, shown
from headcats.base.errors import OptionError

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
