"""Shares of answers in which roles fall together, by hand."""

import numpy as np
import xarray as xr

from headcats.papers.token_probe.answers import AnswerShape
from headcats.papers.token_probe.summary import coincidences, explained_prompt_roles
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


def explained(roles: list[str]) -> list[str]:
    """The roles of every part, each of which goes on with what they mean."""
    parts = explained_prompt_roles(roles)
    assert all(len(part.partition(": ")[2].split()) > 1 for part in parts)
    return [part.partition(": ")[0] for part in parts]


def test_kinds_of_roles_are_explained_once_with_the_names_that_are_there() -> None:
    roles = ["bos", "x1", "between1", "y1", "after1", "x2", "between2", "y2", "after2[0/2]", "after2[1/2]"]
    assert explained([*roles, "x3", "x_query", "between_query"]) == [
        "bos", "x1 … x3", "between1, between2", "y1, y2", "after1, after2", "x_query", "between_query",
    ]  # fmt: skip
    input_of, output_of = (part.partition(": ")[2] for part in explained_prompt_roles(["x1", "y1"]))
    assert (input_of.split()[0], output_of.split()[0]) == ("input", "output")


def test_text_in_front_of_a_conversation_is_explained_among_roles_of_a_template() -> None:
    assert explained(["bos", "start[0/2]", "start[1/2]", "before_query", "x_query"]) == [
        "bos", "start", "before_query", "x_query",
    ]  # fmt: skip
    for roles in (["start", "other"], ["bos", "start", "other"]):
        assert explained(roles) == []  # a finished prompt may call anything so


def test_other_roles_are_left_to_their_names() -> None:
    assert explained(["bos", "other", "last_q", "exact_answer_first", "-1", "y", "x"]) == []
    assert explained(["before1", "before_query", "other"]) == ["before1", "before_query", "other"]
