from dataclasses import replace

import numpy as np
import pytest
from function_worlds import texts_of

from headcats.base.errors import DataError
from headcats.papers.function_probe.splits import held_out_texts, in_order, left_out_tasks, rounds_of, usable_functions

FUNCTIONS = ("a", "b", "c")


def test_an_item_is_on_one_side_and_every_function_on_both() -> None:
    # Tasks of two functions ask about the same items.
    texts = [replace(text, item=text.item.split()[1]) for text in texts_of(FUNCTIONS, n=30)]
    held_out = held_out_texts(texts, FUNCTIONS, folds=5, seed=0, probe=0)
    sides: dict[str, set[bool]] = {}
    for text, out in zip(texts, held_out.tolist(), strict=True):
        sides.setdefault(text.item, set()).add(out)
    assert all(len(side) == 1 for side in sides.values())
    shares = [
        np.mean([out for text, out in zip(texts, held_out, strict=True) if text.category == f]) for f in FUNCTIONS
    ]
    assert shares == pytest.approx([0.2] * 3)


def test_a_function_whose_items_cannot_be_divided_is_named() -> None:
    texts = [replace(text, item="the same") if text.category == "b" else text for text in texts_of(FUNCTIONS, n=12)]
    with pytest.raises(DataError, match="'b' cannot"):
        held_out_texts(texts, FUNCTIONS, folds=5, seed=0, probe=0)


def test_each_task_is_left_out_once_and_never_two_of_one_function() -> None:
    texts = [*texts_of(("a",), tasks=4), *texts_of(("b", "c"), tasks=2), *texts_of(("d",), tasks=1)]
    rounds = left_out_tasks(texts, seed=0, probe=0)
    assert len(rounds) == rounds_of({"a": 4, "b": 2, "c": 2, "d": 1}) == 4
    everything = [task for tasks in rounds for task in tasks]
    assert len(everything) == len(set(everything)) == 4 + 2 + 2
    for tasks in rounds:
        functions = [function for function, _ in tasks]
        assert len(functions) == len(set(functions))
    assert "d" not in {function for function, _ in everything}


def test_functions_with_too_few_items_are_skipped_and_named() -> None:
    texts = [*texts_of(("a", "b")), *texts_of(("c",), n=9)]
    repeated = [replace(text, item="again") for text in texts_of(("d",), n=50)]
    assert usable_functions([*texts, *repeated], least_items=10) == (("a", "b"), {"c": 9, "d": 1})
    with pytest.raises(DataError, match=r"2 functions .*a 40, c 9"):
        usable_functions([*texts_of(("a",)), *texts_of(("c",), n=9)], least_items=10)
    with pytest.raises(DataError, match="no texts"):
        usable_functions([], least_items=10)
    with pytest.raises(DataError, match="'a/0'"):
        usable_functions([replace(texts[0], category="")], least_items=10)


def test_other_functions_come_after_those_of_the_scheme() -> None:
    assert in_order({"Translation", "Retrieval", "Knowledge Recall", "Algorithmic"}) == (
        "Knowledge Recall",
        "Retrieval",
        "Algorithmic",
        "Translation",
    )
