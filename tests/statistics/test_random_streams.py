"""Streams depend on names alone."""

import numpy as np
import pytest

from headcats.statistics.random_streams import stream


def test_equal_names_give_equal_draws_and_others_do_not() -> None:
    first = stream(0, "capitals", "bootstrap").random(4)
    np.testing.assert_array_equal(first, stream(0, "capitals", "bootstrap").random(4))
    for other in (stream(1, "capitals", "bootstrap"), stream(0, "bootstrap", "capitals"), stream(0, "capitals")):
        assert not np.array_equal(first, other.random(4))


@pytest.mark.parametrize(("one", "two"), [(("ab", "c"), ("a", "bc")), (("é",), ("e",)), (("a",), ("a", ""))])
def test_names_are_not_run_together(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    assert stream(0, *one).integers(2**63) != stream(0, *two).integers(2**63)


def test_stream_is_pinned() -> None:
    """A change here changes every seeded number of every study."""
    assert stream(0, "capitals", "bootstrap").integers(2**63) == 4137104293039184322
