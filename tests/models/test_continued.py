"""Prompts and their continuations, as rows and packed, by hand."""

import torch

from headcats.models.continued import Continued, in_order

PROMPTS = torch.tensor([[10, 11, 12], [20, 21, 22]])
ANSWERS = torch.tensor([[[13, 14], [23, 24]], [[15, 16], [25, 26]]])  # [branch, prompt, step]
CONTINUED = Continued(PROMPTS, ANSWERS, ANSWERS)


def test_rows_and_packed_sequences_hold_the_same() -> None:
    assert (len(CONTINUED), CONTINUED.length, CONTINUED.steps) == (2, 3, 2)
    assert (CONTINUED.packed_length, CONTINUED.tail) == (7, 5)
    rows = CONTINUED.rows
    assert rows.tolist() == [[10, 11, 12, 13, 14], [20, 21, 22, 23, 24], [10, 11, 12, 15, 16], [20, 21, 22, 25, 26]]
    packed = CONTINUED.pack(rows[:, 1:])
    assert packed.tolist() == [[11, 12, 13, 14, 15, 16], [21, 22, 23, 24, 25, 26]]
    assert torch.equal(CONTINUED.unpack(packed), rows[:, 1:])
    assert CONTINUED.select(slice(1, 2)).rows.tolist() == [rows[1].tolist(), rows[3].tolist()]


def test_branches_see_the_prompt_and_not_each_other() -> None:
    places, sees = CONTINUED.standing
    assert places.tolist() == [0, 1, 2, 3, 4, 3, 4]
    assert [row.nonzero()[:, 0].tolist() for row in sees] == [
        [0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 5], [0, 1, 2, 5, 6]
    ]  # fmt: skip
    some = CONTINUED.standing.at(slice(4, 6))
    assert (some.places.tolist(), some.sees.tolist()) == ([4, 3], [[True, False], [False, True]])


def test_without_branches_both_are_the_prompts() -> None:
    alone = Continued.alone(PROMPTS)
    assert (alone.packed_length, alone.tail) == (3, 1)
    assert alone.rows is alone.pack(PROMPTS) is alone.unpack(PROMPTS) is PROMPTS
    assert torch.equal(alone.standing.sees, in_order(3).sees)
