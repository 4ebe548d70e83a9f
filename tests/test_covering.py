"""What is chosen of a product of parameters covers what it should."""

import itertools

from covering import pairwise, spread


def fast(rows):
    return [row for row in rows if isinstance(row, tuple) and not hasattr(row, "marks")]


def test_every_pair_of_two_values_is_there():
    factors = (["a", "b", "c", "d"], [0, 1, 2], ["x", "y"])
    rows, chosen = pairwise(*factors), fast(pairwise(*factors))
    assert len(rows) == 24
    assert 12 <= len(chosen) < 16
    for first, second in itertools.combinations(range(3), 2):
        seen = {(row[first], row[second]) for row in chosen}
        assert seen == set(itertools.product(factors[first], factors[second]))


def test_every_name_and_every_case_are_there():
    names, cases = [f"n{n}" for n in range(16)], [(n,) for n in range(12)]
    chosen = fast(spread(names, cases, per_name=4))
    assert len(spread(names, cases, per_name=4)) == 16 * 12
    assert {sum(row[0] == name for row in chosen) for name in names} == {4}
    assert {sum(row[1:] == case for row in chosen) for case in cases} == {4, 5, 6}
