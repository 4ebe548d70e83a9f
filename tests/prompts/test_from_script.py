"""Roles of a script's token ids; what is refused, and in which words."""

from typing import Any

import pytest

from headcats.base.errors import DataError
from headcats.prompts.batch import PromptBatch

IDS = [[0, 5, 6, 7], [0, 8, 9, 7]], [[0, 5, 4, 7], [0, 8, 3, 7]]


class TestLabels:
    def test_of_all_prompts_or_of_each(self) -> None:
        roles = ["bos", "x1", "x1", "y1"]
        for labels in (roles, [roles, roles]):
            batch = PromptBatch.from_tokens(*IDS, [10, 11], [12, 13], labels=labels)
            assert batch.labels == batch.corrupted_labels == (("bos", "x1[0/2]", "x1[1/2]", "y1"),) * 2
            assert batch.positions("x1").tolist() == [[False, True, True, False]] * 2
        own = PromptBatch.from_tokens(*IDS, [10, 11], [12, 13], labels=[roles, ["bos", "x1", "y1", "end"]])
        assert own.positions("y1").tolist() == [[False, False, False, True], [False, False, True, False]]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (["bos", "x1", "y1"], "expected 4 .*got 2 of 3"),
            (["bos", "last", "y1", "end"], "called 'last'"),
            (["bos", "x[0/2]", "y1", "end"], r"without '\['"),
            (["bos", "", "y1", "end"], "a name"),
            (7, "list of roles"),
        ],
    )
    @pytest.mark.usefixtures("unchecked_types")
    def test_what_does_not_name_every_token(self, labels: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            PromptBatch.from_tokens(*IDS, [10, 11], [12, 13], labels=labels)

    def test_prompts_of_two_lengths_have_none(self) -> None:
        with pytest.raises(DataError, match="4 and 5 tokens"):
            PromptBatch.from_tokens(IDS[0], [[0, 1, 2, 3, 4]] * 2, [10, 11], [12, 13], labels=["a", "b", "c", "d"])
