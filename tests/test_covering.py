"""What is chosen of a product of parameters covers what it should."""

import itertools

import covering
import pytest
from covering import each_value, pairwise, some, spread

FACTORS = (["a", "b", "c", "d"], [0, 1, 2], ["x", "y"])


def test_every_pair_every_value_every_name_and_the_first_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "ALL", False)
    pairs = {pair for row in pairwise(*FACTORS) for pair in itertools.combinations(row, 2)}
    assert pairs == {pair for row in itertools.product(*FACTORS) for pair in itertools.combinations(row, 2)}
    assert 12 <= len(pairwise(*FACTORS)) < 16
    assert list(map(set, zip(*each_value(*FACTORS), strict=True))) == list(map(set, FACTORS))
    assert len(each_value(*FACTORS)) == 4
    assert spread("abc", [(1,), (2,)]) == [("a", 1), ("b", 2), ("c", 1)]
    assert some("abc", 2) == ["a", "b"]
    monkeypatch.setattr(covering, "ALL", True)
    assert len(pairwise(*FACTORS)) == len(each_value(*FACTORS)) == 24
    assert (len(spread("abc", [(1,), (2,)])), some("abc", 2)) == (6, ["a", "b", "c"])
