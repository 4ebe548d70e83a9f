"""What joint methods share: texts of the tasks that can give some, and attempts that may fail one by one."""

import pytest
from joint_inputs import suite_inputs
from toy_cases import shared_toy

from headcats.base.errors import DataError
from headcats.methods.method import attempt_each
from headcats.models.adapter import HookedModel


def test_what_fails_is_kept_apart_from_what_is_made() -> None:
    def half(number: int) -> int:
        if number % 2:
            raise DataError(f"{number} is odd")
        return number // 2

    made, problems = attempt_each(half, [4, 3, 2])
    assert made == {4: 2, 2: 1}
    assert {number: str(problem) for number, problem in problems.items()} == {3: "3 is odd"}
    with pytest.raises(ZeroDivisionError):
        attempt_each(lambda number: 1 // number, [0])


def test_tasks_give_texts_or_a_reason() -> None:
    names = ("copy", "finished", "tiny")
    pairs = {"copy": [(f"w{i}", f"w{i}") for i in range(4)], "tiny": [("w1", "w2")]}
    model = HookedModel(shared_toy(n_layers=1).model)
    inputs = suite_inputs(model, pairs, dict.fromkeys(names, "A"), n_demos=1)
    assert inputs.readable == ("copy", "tiny")
    texts, left_out = inputs.texts_of(names, n=3, purpose="test")
    assert texts == inputs.texts("copy", n=3, purpose="test")
    assert list(left_out) == ["finished", "tiny"]
    assert "finished prompts" in left_out["finished"]
    assert "1 usable" in left_out["tiny"]
