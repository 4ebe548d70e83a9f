"""Batches of tokens: what is refused, what positions mean, and what a fingerprint sees."""

from dataclasses import replace

import pytest
import torch
from batches import misaligned
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DataError
from headcats.prompts.batch import PromptBatch

CLEAN = [[0, 5, 6, 7], [0, 8, 9, 7]]
CORRUPTED = [[0, 5, 4, 7], [0, 8, 3, 7]]
LABELS = (("bos", "x1[0/2]", "x1[1/2]", "y1"),) * 2


def tokens(clean=CLEAN, corrupted=CORRUPTED, answer=(10, 11), distractor=(12, 13), **options):
    return PromptBatch.from_tokens(clean, corrupted, answer, distractor, **options)


def with_roles(**changes):
    fields = {"labels": LABELS, "corrupted_labels": LABELS, "task": "german"} | changes
    return replace(tokens(items=["dog", "cat"], distractor_tasks=["a", "b"]), **fields)


def test_from_tokens_takes_lists_tensors_and_arrays():
    batch = tokens()
    from_arrays = tokens(
        *(torch.tensor(x, dtype=torch.int32) for x in (CLEAN, CORRUPTED)), torch.tensor([10, 11]).numpy()
    )
    assert batch.clean.dtype == from_arrays.clean.dtype == torch.int64
    assert batch.fingerprint() == from_arrays.fingerprint()
    assert (len(batch), batch.length) == (2, 4)
    assert batch.keys == batch.items == ("prompt 0", "prompt 1")
    assert batch.distractor_tasks == ("corrupted", "corrupted")
    assert batch.labels is None


def test_answers_of_several_tokens_are_filled_up_or_not():
    listed = tokens(answer=[[10, 14], [11]], distractor=[[12], [13]])
    filled = tokens(answer=torch.tensor([[10, 14], [11, -1]]), distractor=torch.tensor([[12, -1], [13, -1]]))
    assert listed.answers.tolist() == [[10, 14], [11, -1]]
    assert listed.fingerprint() == filled.fingerprint()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distractor": [12, 11]}, "'prompt 1': .* token 11 .1 of 2"),
        ({"clean": [[0, 5], [0]]}, "clean .* rectangular"),
        ({"answer": [True, False]}, "answer .* torch.bool"),
        ({"clean": CLEAN[:1]}, r"corrupted .* 1; got \(2, 4\)"),
        ({"clean": [[], []], "corrupted": [[], []]}, r"clean .* \(2, 0\)"),
        ({"distractor": [[12], [13]]}, r"distractor .* \[prompt\] .* \(2, 1\)"),
        ({"answer": [[10, -1, 14], [11]], "distractor": [[12], [13]]}, r"answer .* -1.*\[10, -1, 14\]"),
        ({"answer": [[-1, -1], [11, 14]], "distractor": [[12], [13]]}, "answer .* at least one"),
        ({"items": ["only one"]}, "^items .* 2 prompts, 1"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(DataError, match=message):
        tokens(**changes)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=4))
def test_select_takes_prompts_in_the_given_order(order):
    batch = with_roles(keys=("k0", "k1"))
    part = batch.select(order)
    assert part.clean.tolist() == [CLEAN[i] for i in order]
    assert part.corrupted.tolist() == [CORRUPTED[i] for i in order]
    assert part.answer.tolist() == [(10, 11)[i] for i in order]
    assert part.keys == tuple(f"k{i}" for i in order)
    assert part.distractor_tasks == tuple("ab"[i] for i in order)
    assert len(part.labels) == len(order)
    assert part.task == "german"


def test_masks_of_positions():
    batch = with_roles()
    assert batch.positions("last").tolist() == [[False, False, False, True]] * 2
    assert batch.positions("all").all()
    assert batch.positions("x1").tolist() == [[False, True, True, False]] * 2
    assert batch.positions("y1").tolist() == [[False, False, False, True]] * 2
    assert batch.positions("bos").tolist() == [[True, False, False, False]] * 2


def test_positions_that_do_not_exist_name_prompt_and_roles():
    with pytest.raises(DataError, match=r"'prompt 0' .* 'x2'.*bos, x1, y1"):
        with_roles().positions("x2")
    with pytest.raises(DataError, match=r"'x1'.*other, end"):
        tokens().positions("x1")
    assert tokens().positions("all").all()


def test_the_last_token_of_prompts_without_roles_is_their_end():
    batch = tokens()
    assert batch.labels is None
    assert batch.roles == (("other",) * (batch.length - 1) + ("end",),) * len(batch)
    assert torch.equal(batch.positions("end"), batch.positions("last"))
    assert torch.equal(batch.positions("other"), ~batch.positions("last"))
    assert with_roles().roles == with_roles().labels


def test_positions_are_those_of_the_side_that_is_asked_for():
    shifted = (LABELS[0], ("bos", "x1", "y1[0/2]", "y1[1/2]"))
    batch = with_roles(corrupted_labels=shifted)
    assert misaligned(batch) == ["prompt 1"]
    assert batch.positions("y1", of="corrupted").sum(1).tolist() == [batch.positions("y1").sum(1)[0], 2]
    assert batch.roles_of("corrupted") == shifted
    longer = tokens(corrupted=[[0, 0, 5, 4, 7], [0, 0, 8, 3, 7]])
    assert misaligned(longer) == ["prompt 0", "prompt 1"]
    assert longer.positions("last").tolist() == [[False] * 3 + [True]] * 2
    assert longer.positions("last", of="corrupted").tolist() == [[False] * 4 + [True]] * 2
    assert longer.positions("all", of="corrupted").shape == (2, 5)


CHANGES = {
    "clean": {"clean": torch.tensor([[0, 5, 6, 7], [0, 8, 9, 6]])},
    "corrupted": {"corrupted": torch.tensor([[0, 5, 4, 7], [0, 8, 3, 6]])},
    "answer": {"answer": torch.tensor([10, 14])},
    "distractor": {"distractor": torch.tensor([12, 14])},
    "items": {"items": ("dog", "sun")},
    "distractor_tasks": {"distractor_tasks": ("a", "c")},
    "labels": {"labels": (LABELS[0], ("bos", "x1", "z1", "y1"))},
    "corrupted_labels": {"corrupted_labels": (LABELS[0], ("bos", "x1", "z1", "y1"))},
    "task": {"task": "french"},
}


def test_the_fingerprint_sees_every_change_that_numbers_depend_on():
    changed = {replace(with_roles(), **changes).fingerprint() for changes in [{}, *CHANGES.values()]}
    assert len(changed) == 1 + len(CHANGES)
    assert with_roles().fingerprint() in changed


def test_the_fingerprint_sees_the_order_and_is_pinned():
    batch = with_roles()
    assert batch.select([1, 0]).fingerprint() != batch.fingerprint()
    assert tokens().fingerprint() == "35b06f41b7af2ce2a8893dcda09b3672"


# ----------------------------------------------------------------------------------------------- second corruption
SECOND = [[0, 5, 2, 7], [0, 8, 3, 7]]  # the second prompt's is its corrupted one: it has none


def test_a_second_corruption_of_some_prompts():
    batch = tokens(second=SECOND)
    assert batch.second.tolist() == SECOND
    assert batch.second_tasks == ("second", "")
    assert batch.lacks_second() == [1]
    turned = batch.select([1, 0])
    assert (turned.second.tolist(), turned.second_tasks, turned.lacks_second()) == (SECOND[::-1], ("", "second"), [0])
    assert batch.without_roles().second is batch.second


def test_no_second_corruption_at_all():
    for batch in (tokens(), tokens(second=CORRUPTED)):
        assert batch.second is batch.second_tasks is batch.select([1]).second is None
        assert batch.lacks_second() == [0, 1]


def test_a_second_corruption_changes_its_own_fingerprint_alone():
    batches = [tokens(), tokens(second=SECOND), tokens(second=[SECOND[0], [0, 8, 2, 7]])]
    assert len({batch.fingerprint() for batch in batches}) == 1
    renamed = replace(batches[1], second_tasks=("german", ""))
    assert len({batch.second_fingerprint() for batch in [*batches, renamed]}) == 4
    assert tokens(second=SECOND).second_fingerprint() == batches[1].second_fingerprint()


def test_a_second_corruption_of_another_shape_is_refused():
    with pytest.raises(DataError, match=r"got \(1, 4\)"):
        tokens(second=SECOND[:1])
    with pytest.raises(DataError, match=r"second .* integers"):
        tokens(second=[[0.5] * 4] * 2)
    with pytest.raises(DataError, match="second and second_tasks"):
        replace(tokens(), second=torch.tensor(SECOND))
    with pytest.raises(DataError, match=r"^second_tasks .* 1 entries"):
        replace(tokens(second=SECOND), second_tasks=("one",))
