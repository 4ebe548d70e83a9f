"""Columns of a word table as pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import UnknownNameError
from headcats.tasks.definition import merge, table_pairs


def test_pairs_are_two_columns_in_the_order_of_the_rows():
    pairs = table_pairs("countries", "english", "capital")
    assert pairs[:3] == [("France", "Paris"), ("Germany", "Berlin"), ("Spain", "Madrid")]
    assert ("Paris", "France") in table_pairs("countries", "capital", "english")


def test_left_out_are_empty_cells_equal_words_and_inputs_with_two_answers():
    assert merge([("a", "b"), ("", "b"), ("c", ""), ("d", "d")]) == [("a", "b")]
    assert merge([("a", "b"), ("c", "d")], [("a", "e"), ("c", "d")]) == [("c", "d")]


words = st.text("abc", max_size=2)


@given(st.lists(st.lists(st.tuples(words, words)), max_size=3))
def test_merged_pairs_are_a_function_and_nothing_clear_is_lost(lists):
    merged = merge(*lists)
    assert len(dict(merged)) == len(merged)
    flat = [pair for pairs in lists for pair in pairs if all(pair) and pair[0] != pair[1]]
    targets = {}
    for source, target in flat:
        targets.setdefault(source, set()).add(target)
    assert set(merged) == {(source, *found) for source, found in targets.items() if len(found) == 1}


def test_unknown_tables_and_columns_list_what_there_is():
    with pytest.raises(UnknownNameError, match=r"'country'.*'countries'"):
        table_pairs("country", "english", "capital")
    with pytest.raises(UnknownNameError, match=r"'captial' .*'countries'.*'capital'"):
        table_pairs("countries", "english", "captial")
