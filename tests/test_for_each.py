"""A test of many cases fails with every one that fails."""

from pathlib import Path

import pytest
from for_each import for_each


def test_all_that_fail_are_named_and_each_has_its_own_folder(tmp_path: Path) -> None:
    @for_each("text,number", [("a", 1), ("b", 2), ("c", 3)])
    def odd(text: str, number: int, tmp_path: Path) -> None:
        (tmp_path / text).touch()
        assert [path.name for path in tmp_path.iterdir()] == [text]
        with pytest.raises(ZeroDivisionError):
            1 / (number - 2)

    with pytest.raises(BaseExceptionGroup) as failed:
        odd(tmp_path=tmp_path)
    assert [error.__notes__ for error in failed.value.exceptions] == [["('a', 1)"], ["('c', 3)"]]
