"""What joint methods share: texts of the tasks that can give some, and attempts that may fail one by one."""

import pytest
from toys import tiny_model

from headcats.errors import DataError
from headcats.methods.joint.inputs import SuiteInputs, attempt_each
from headcats.models.adapter import HookedModel
from headcats.prompts.template import ARROW
from headcats.tasks.definition import Task


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
    inputs = SuiteInputs(
        model=HookedModel(tiny_model("gpt2", n_layers=1).model),
        tasks=tuple(Task(name, "A", "made up", lambda n, *, seed: []) for name in names),
        categories=dict.fromkeys(names, "A"),
        pairs={"copy": [(f"w{i}", f"w{i}") for i in range(4)], "tiny": [("w1", "w2")]},
        template=ARROW,
        n_demos=1,
        n_prompts=4,
        seed=0,
    )
    assert inputs.readable == ("copy", "tiny")
    texts, left_out = inputs.texts_of(names, n=3, purpose="test")
    assert texts == inputs.texts("copy", n=3, purpose="test")
    assert list(left_out) == ["finished", "tiny"]
    assert "finished prompts" in left_out["finished"]
    assert "1 usable" in left_out["tiny"]
