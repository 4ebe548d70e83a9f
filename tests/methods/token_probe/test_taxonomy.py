"""Kinds of error against the authors' clustering and thresholds, written anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import DataError
from headcats.methods.token_probe.items import AnsweredItem, Resample
from headcats.methods.token_probe.taxonomy import ERROR_TYPES, SUBTYPES, error_types, subtypes, tally

N = 12
EXACT = st.sampled_from(["Rome", "rome", "New Rome", "York", "New York", "NO ANSWER", "", "Paris"])


def literal_types(drawn: list[tuple[str, str]], aliases: list[str], n: int) -> dict[str, bool]:
    """`get_error_stats` and `get_types_of_mistakes` of the authors' code."""
    size: dict[str, int] = {}
    right = 0
    for text, exact in drawn:
        if any(alias.lower() in text.lower() for alias in aliases):
            right += 1
            continue
        if not exact:  # valid_exact_answer is 0
            continue
        if exact in size:
            size[exact] += 1
            continue
        seen = False
        for other in size:
            if exact.lower() in other.lower() or other.lower() in exact.lower():
                size[other] += 1
                seen = True
        if not seen:
            size[exact] = 1
    largest, kinds = max(size.values(), default=0), len(size)
    none = size.get("NO ANSWER", 0)
    refuses = "NO ANSWER" in size and none == largest and none > right
    half, third, sixth = n // 2, n // 3, n // 6
    values = [
        refuses,
        right >= half and kinds > 0,
        right == n,
        largest >= half and not refuses and right > 0,
        largest >= half and not refuses and right == 0,
        abs(right - largest) <= sixth and right > sixth and largest > sixth,
        kinds >= third - 1 and right > 0,
        kinds >= third and right == 0,
    ]
    return dict(zip(SUBTYPES, values, strict=True))


@given(st.lists(EXACT, min_size=N, max_size=N), st.integers(0, N))
def test_types_are_those_of_the_authors(exact: list[str], n_alike: int) -> None:
    exact = [*exact[: N - n_alike], *[exact[0]] * n_alike]
    drawn = [(f"It is {part}." if part else "Who knows?", part) for part in exact]
    resamples = [Resample(*pair) for pair in drawn]
    assert subtypes(tally(resamples, ["Paris"]), n=N) == literal_types(drawn, ["Paris"], N)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"Paris": 30}, {"consistently_correct"}),
        ({"Paris": 20, "Rome": 10}, {"consistently_correct"}),
        ({"Rome": 30}, {"consistently_incorrect"}),
        ({"Rome": 16, "Paris": 14}, {"consistently_incorrect", "two_competing"}),
        ({"NO ANSWER": 20, "Rome": 10}, {"refuses"}),
        ({f"City {letter}": 3 for letter in "abcdefghij"}, {"many_answers"}),
        ({"Paris": 3} | {f"City {letter}": 3 for letter in "abcdefghi"}, {"many_answers"}),
        ({"Paris": 8, "Rome": 9, "Oslo": 7, "Bonn": 6}, {"two_competing"}),
    ],
)
def test_types_of_thirty_answers(counts: dict[str, int], expected: set[str]) -> None:
    drawn = [(f"It is {exact}.", exact) for exact, count in counts.items() for _ in range(count)]
    item = AnsweredItem("?", "It is Rome.", "Rome", aliases=("Paris",), resamples=tuple(drawn), task="capitals")
    types = error_types([item])
    assert {name for name in ERROR_TYPES if bool(types.is_type.sel(error_type=name)[0])} == expected
    assert int(types.n_right[0]) == counts.get("Paris", 0)
    assert (int(types.n_resamples), int(types.wrong[0]), types.task.item()) == (30, 1, "capitals")


def test_a_label_of_a_resample_counts_before_its_text() -> None:
    assert tally([Resample("It is 1 8 5", "1 8 5", True)] * 2, ["8 5"]).wrong == {"1 8 5": 2}
    assert tally([Resample("It is 85", "85", False)] * 2, ["8 5"]).n_right == 2


def test_items_without_as_many_resamples_are_refused() -> None:
    drawn = (("Rome", "Rome"),)
    items = [AnsweredItem(f"{n}?", "Rome", "Rome", aliases=("Paris",), resamples=drawn * n) for n in (2, 3)]
    with pytest.raises(DataError, match="2 in 1 items, 3 in 1 items"):
        error_types(items)
    with pytest.raises(DataError, match="resampled_exact_answers"):
        error_types([AnsweredItem("?", "Rome", "Rome", True)])
    with pytest.raises(DataError, match="No item"):
        error_types([])
