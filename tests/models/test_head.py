from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DataError
from headcats.models.head import Head


class TestHead:
    @given(st.integers(0, 500), st.integers(0, 500))
    def test_print_and_parse_are_inverse(self, layer: int, head: int) -> None:
        assert Head.parse(str(Head(layer, head))) == Head(layer, head)
        assert Head.parse(f"{layer}.{head}") == (layer, head)

    def test_it_prints_as_papers_of_this_package_do(self) -> None:
        assert f"{Head(9, 6)}" == "L9H6"
        assert sorted([Head(10, 0), Head(9, 6)]) == [(9, 6), (10, 0)]

    def test_a_pair_of_whole_numbers_is_a_head(self) -> None:
        for pair in (Head(9, 6), (9, 6), [9, 6], np.array([9, 6]).tolist(), (np.int64(9), np.int64(6))):
            assert Head.parse(pair) == Head(9, 6)

    def test_anything_else_is_refused(self) -> None:
        texts = ["", "9", "L9", "H6", "L-1H2", "L9H6x", "head 9.6"]
        others: list[Any] = [9, None, (9,), (9, 6, 1), (9.0, 6.0), ("9", "6")]
        for head in [*texts, *others]:
            with pytest.raises(DataError, match="'L9H6'"):
                Head.parse(head)
        with pytest.raises(DataError, match=r"'L3G1', .*group"):
            Head.parse("L3G1")
