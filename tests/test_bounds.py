"""Numbers of callers: whole, not too small and not absurd."""

from typing import Any

import pytest

from headcats.bounds import MOST_STEPS, check_count, shown
from headcats.errors import OptionError

NONE_OF_THEM = [0, -1, True, False, None, "3", 2.0, float("nan"), float("inf"), -float("inf"), 1j, [3]]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("value", NONE_OF_THEM, ids=repr)
def test_what_is_no_count(value: Any) -> None:
    with pytest.raises(OptionError, match="draws must be a whole number of at least 1; got "):
        check_count("draws", value)


@pytest.mark.parametrize("value", [MOST_STEPS + 1, 10**20, 10**5000], ids=["one more", "20", "5000"])
def test_more_than_possible(value: int) -> None:
    too_many = f"draws must be a whole number of at most {MOST_STEPS:,}: more would take days, .*; got "
    with pytest.raises(OptionError, match=too_many):
        check_count("draws", value)


def test_the_bounds_belong_to_what_is_possible() -> None:
    check_count("draws", 1)
    check_count("draws", MOST_STEPS)
    check_count("draws", 0, least=0)


def test_long_values_are_shown_by_their_length() -> None:
    assert shown(10**20) == "1" + 20 * "0"
    assert shown(-(10**5000)) == "a number of about 5,000 digits"
    assert len(shown("x" * 1000)) == 80
