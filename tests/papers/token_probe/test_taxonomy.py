"""Kinds of error against the authors' clustering and thresholds, written anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import DataError
from headcats.papers.token_probe.items import AnsweredItem, Resample
from headcats.papers.token_probe.taxonomy import ERROR_TYPES, error_types, subtypes, tally

N = 12
EXACT = st.sampled_from(["Rome", "rome", "New Rome", "York", "New York", "NO ANSWER", "", "Paris"])


def overlap(one: str, other: str) -> bool:
    shorter, longer = sorted((one.casefold(), other.casefold()), key=len)
    return shorter in longer


def literal_types(drawn: list[tuple[str, str]], right_answer: str, n: int) -> dict[str, bool]:
    """The rules of the authors' code, as sets: exact answers that overlap no earlier group found a group; another one
    is in every group so far that it overlaps. Answers without an exact one are in none."""
    is_right = [right_answer.casefold() in text.casefold() for text, _ in drawn]
    wrong = [exact for (_, exact), right in zip(drawn, is_right, strict=True) if exact and not right]
    founded: dict[str, int] = {}
    for place, exact in enumerate(wrong):
        if not any(overlap(exact, founder) for founder in founded):
            founded[exact] = place
    members = {
        founder: [e for e in wrong[place:] if e == founder or (e not in founded and overlap(e, founder))]
        for founder, place in founded.items()
    }
    n_right, n_groups = sum(is_right), len(members)
    biggest = max(map(len, members.values()), default=0)
    n_none = len(members.get("NO ANSWER", []))
    refuses = n_none > n_right and n_none == biggest
    mostly_one = biggest >= n // 2 and not refuses
    few = n // 6
    return {
        "refuses": refuses,
        "consistently_correct_mostly": n_right >= n // 2 and n_groups > 0,
        "consistently_correct_always": n_right == n,
        "consistently_incorrect_right_seen": mostly_one and n_right > 0,
        "consistently_incorrect_right_never": mostly_one and n_right == 0,
        "two_competing": min(n_right, biggest) > few and abs(n_right - biggest) <= few,
        "many_answers_right_seen": n_right > 0 and n_groups + 1 >= n // 3,
        "many_answers_right_never": n_right == 0 and n_groups >= n // 3,
    }


@given(st.lists(EXACT, min_size=N, max_size=N), st.integers(0, N))
def test_types_are_those_of_the_authors(exact: list[str], n_alike: int) -> None:
    exact = [*exact[: N - n_alike], *[exact[0]] * n_alike]
    drawn = [(f"It is {part}." if part else "Who knows?", part) for part in exact]
    resamples = [Resample(*pair) for pair in drawn]
    assert subtypes(tally(resamples, ["Paris"]), n=N) == literal_types(drawn, "Paris", N)


def test_types_of_thirty_answers() -> None:
    many = {f"City {letter}": 3 for letter in "abcdefghij"}
    for counts, expected in (
        ({"Paris": 30}, {"consistently_correct"}),
        ({"Paris": 20, "Rome": 10}, {"consistently_correct"}),
        ({"Rome": 30}, {"consistently_incorrect"}),
        ({"Rome": 16, "Paris": 14}, {"consistently_incorrect", "two_competing"}),
        ({"NO ANSWER": 20, "Rome": 10}, {"refuses"}),
        (many, {"many_answers"}),
        ({"Paris": 3, **dict(list(many.items())[:9])}, {"many_answers"}),
        ({"Paris": 8, "Rome": 9, "Oslo": 7, "Bonn": 6}, {"two_competing"}),
        ({"Paris": 8, "Rome": 13, "Oslo": 9}, {"two_competing"}),
        ({"Rome": 15, "Oslo": 15}, {"consistently_incorrect"}),
    ):
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
    with pytest.raises(DataError, match=r"2 in 1 .* 3 in 1"):
        error_types(items)
    with pytest.raises(DataError, match="resampled_exact_answers"):
        error_types([AnsweredItem("?", "Rome", "Rome", True)])
    with pytest.raises(DataError, match="No item"):
        error_types([])
