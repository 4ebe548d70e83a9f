import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import DataError
from headcats.models.head import Head


class TestHead:
    @given(st.integers(0, 500), st.integers(0, 500))
    def test_print_and_parse_are_inverse(self, layer: int, head: int) -> None:
        assert Head.parse(str(Head(layer, head))) == Head(layer, head)
        assert Head.parse(f"{layer}.{head}") == (layer, head)

    def test_it_prints_as_papers_of_this_package_do(self) -> None:
        assert f"{Head(9, 6)}" == "L9H6"
        assert sorted([Head(10, 0), Head(9, 6)]) == [(9, 6), (10, 0)]

    @pytest.mark.parametrize("text", ["", "9", "L9", "H6", "L-1H2", "L9H6x", "head 9.6"])
    def test_other_text_is_refused(self, text: str) -> None:
        with pytest.raises(DataError, match="'L9H6'"):
            Head.parse(text)
