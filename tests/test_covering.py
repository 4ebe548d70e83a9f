"""What is chosen of a product of parameters covers what it should."""

import itertools

from covering import pairwise, some, spread


def split(rows):
    """Rows that run always, and those of CI, the former among them."""
    always = [row for row in rows if not hasattr(row, "marks")]
    return always, always + [row.values for row in rows if hasattr(row, "marks") and row.marks[0].name == "ci"]


def test_every_value_is_there_always_and_every_pair_of_two_in_ci():
    factors = (["a", "b", "c", "d"], [0, 1, 2], ["x", "y"])
    rows = pairwise(*factors)
    always, in_ci = split(rows)
    assert len(rows) == 24
    assert len(always) == 4
    assert 12 <= len(in_ci) < 16
    assert [set(values) for values in zip(*always, strict=True)] == [set(factor) for factor in factors]
    for first, second in itertools.combinations(range(3), 2):
        seen = {(row[first], row[second]) for row in in_ci}
        assert seen == set(itertools.product(factors[first], factors[second]))


def test_every_name_and_every_case_are_there():
    names, cases = [f"n{n}" for n in range(16)], [(n,) for n in range(12)]
    rows = spread(names, cases, per_name=4)
    always, in_ci = split(rows)
    assert len(rows) == 16 * 12
    assert [row[0] for row in always] == names
    assert {row[1:] for row in always} == set(cases)
    assert {sum(row[0] == name for row in in_ci) for name in names} == {4}
    assert {sum(row[1:] == case for row in in_ci) for case in cases} == {4, 5, 6}


def test_the_first_few_are_left_to_ci_and_none_is_lost():
    for cases, rows in ((["a", "b", "c"], [("b",), ("c",)]), ([("a", 1), ("b", 2), ("c", 3)], [("b", 2), ("c", 3)])):
        chosen = some(cases, in_ci=1)
        assert chosen[0] == cases[0]
        assert [row.values for row in chosen[1:]] == rows
        assert {row.marks[0].name for row in chosen[1:]} == {"slow"}
