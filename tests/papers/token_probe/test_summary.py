"""Shares of answers in which roles fall together, by hand."""

import numpy as np
import xarray as xr

from headcats.papers.token_probe.answers import AnswerShape
from headcats.papers.token_probe.summary import coincidences
from headcats.papers.token_probe.token_map import role_places

# Six and eight tokens of an answer after four of a question; the exact answer ends one and two tokens before the end.
SHAPES = [AnswerShape(4, 10, 6, 8), AnswerShape(4, 12, 6, 9), AnswerShape(4, 12, 6, 9), AnswerShape(4, 12, 6, 10)]
ROLES = ("last_q", "first_answer", "exact_answer_last", "-8", "-6", "-2")


def block() -> xr.Dataset:
    return xr.Dataset(role_places(SHAPES, ROLES), coords={"role": list(ROLES), "other_role": list(ROLES)})


def test_shares_are_of_answers() -> None:
    shares = block()
    # The eighth token from the end of the short one is two before its answer: in the question, and not its last token.
    assert shares.in_question.values.tolist() == [1, 0, 0, 0.25, 0, 0]
    same = shares.same_position
    assert float(same.sel(role="last_q", other_role="-8")) == 0
    assert float(same.sel(role="first_answer", other_role="-8")) == 0.75
    assert float(same.sel(role="first_answer", other_role="-6")) == 0.25
    assert float(same.sel(role="exact_answer_last", other_role="-2")) == 0.5
    assert np.array_equal(same, same.T)


def test_the_most_frequent_come_first() -> None:
    early, same = coincidences(block(), at_most=2)
    assert "-8 in 25 %" in early
    assert same.index("answer is -8 in 75 %") < same.index("last is -2 in 50 %")
    assert same.endswith("1 more pair")


def test_roles_that_stay_apart_are_not_mentioned() -> None:
    assert coincidences(block().sel(role=["last_q", "-6"]), at_most=3) == []
    assert coincidences(xr.Dataset(coords={"role": ["last_q"]}), at_most=3) == []
