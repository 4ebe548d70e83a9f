"""Heads as a user gives them."""

from typing import Any

import numpy as np
import pytest
from toys import tiny_model

import headcats as hc
from headcats.errors import DataError
from headcats.methods.function_vector.chosen import named_heads
from headcats.models.adapter import adapt
from headcats.models.head import Head


def test_the_forms_of_a_head() -> None:
    model = adapt(tiny_model("gpt2").model)
    given = ["L1H0", "0.2", hc.Head(2, 3), (0, 1), tuple(np.array([1, 1]))]
    assert named_heads(given, model) == (Head(1, 0), Head(0, 2), Head(2, 3), Head(0, 1), Head(1, 1))
    assert all(type(number) is int for head in named_heads(given, model) for number in head)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([6, 7], r"hc\.Head\(9, 6\).* got 6"),
        ([(1, 2, 3)], r"hc\.Head\(9, 6\).* got \(1, 2, 3\)"),
        ("L1H6", r"takes a list of heads; got 'L1H6'\. Pass \['L1H6'\]"),
        (hc.Head(1, 2), r"takes a list of heads; .*Pass \['L1H2'\]"),
        (6, r'takes a list of heads; got 6\. Pass "L1H6" or hc\.Head\(1, 6\), in a list'),
    ],
)
def test_what_is_no_list_of_heads_is_told_the_forms(heads: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        named_heads(heads, adapt(tiny_model("gpt2").model))
