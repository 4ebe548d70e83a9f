import math

from hypothesis import given
from hypothesis import strategies as st

from headcats.figures.placing import even_columns, folded, folded_name


@given(st.integers(1, 60), st.integers(1, 8))
def test_columns_need_as_few_rows_as_fit(n: int, most: int) -> None:
    columns = even_columns(n, at_most=most)
    assert columns <= most
    assert math.ceil(n / columns) == math.ceil(n / most)


def test_captions_fold_between_words_and_lose_none() -> None:
    parts = ["a word " * 12, "short", "x" * 50]
    lines = folded(parts, width=200)
    assert [word for line in lines for word in line.replace("&nbsp;", " ").split()] == " ".join(parts).split()
    assert len(lines) > 3


def test_a_name_folds_between_words_where_it_does_not_fit() -> None:
    assert folded_name("Syntactic Understanding", width=300) == ["Syntactic Understanding"]
    assert folded_name("Syntactic Understanding", width=120) == ["Syntactic", "Understanding"]
    assert folded_name("Decision-making", width=20) == ["Decision-making"]
