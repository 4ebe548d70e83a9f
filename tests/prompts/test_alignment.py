"""Which tokens belong together in prompts that do not align token by token."""

import pytest
import torch
from batches import role_batch
from toys import word_tokenizer

from headcats.prompts.alignment import aligned_places, at_places
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts

CLEAN = ("bos", "x1", "y1", "x_query", "end")
CORRUPTED = ("bos", "x1[0/2]", "x1[1/2]", "y1", "x_query", "end")


def unequal() -> PromptBatch:
    """Two prompts of 5 clean and 6 corrupted tokens: `x1` has one token, or two."""
    return role_batch(
        torch.arange(10).view(2, 5).tolist(),
        [CLEAN] * 2,
        corrupted=torch.arange(12).view(2, 6).tolist(),
        corrupted_labels=[CORRUPTED] * 2,
        task="t",
    )


def test_tokens_of_one_role_belong_together() -> None:
    batch = unequal()
    for role, base_place, source_place in (("y1", 3, 2), ("x_query", 4, 3), ("bos", 0, 0)):
        mask = batch.positions(role, of="corrupted")
        assert mask.nonzero()[:, 1].tolist() == [base_place] * 2
        places = aligned_places(batch, mask, base="corrupted", source="clean")
        assert places[:, base_place].tolist() == [source_place] * 2


@pytest.mark.parametrize("positions", ["last", "answer"])
def test_last_tokens_belong_together_whatever_their_roles(positions: str) -> None:
    batch = unequal()
    mask = batch.positions(positions, of="corrupted")
    assert aligned_places(batch, mask, base="corrupted", source="clean") is None


def test_prompts_that_align_need_no_places() -> None:
    batch = role_batch([[1, 2, 3]], [["bos", "x1", "end"]], task="t")
    assert aligned_places(batch, batch.positions("all"), base="clean", source="corrupted") is None


@pytest.mark.parametrize("positions", ["x1", "all"])
def test_a_role_of_another_number_of_tokens_is_refused_by_name(positions: str) -> None:
    batch = unequal()
    mask = batch.positions(positions, of="corrupted")
    with pytest.raises(UnmatchedPrompts, match=r"'t 0' .*token 1 .*'x1\[0/2\]'") as caught:
        aligned_places(batch, mask, base="corrupted", source="clean")
    assert caught.value.prompts == (0, 1)
    assert "Corrupted: [0, 1, 2, 3, 4, 5]. Clean: [0, 1, 2, 3, 4]." in str(caught.value)


def test_both_prompts_are_shown_as_text() -> None:
    tokenizer, batch = word_tokenizer(), unequal()
    mask = batch.positions("x1", of="corrupted")
    with pytest.raises(UnmatchedPrompts) as caught:
        aligned_places(batch, mask, base="corrupted", source="clean", tokenizer=tokenizer)
    for side, ids in (("Corrupted", range(6)), ("Clean", range(5))):
        assert f"{side}: {tokenizer.decode(list(ids))!r}." in str(caught.value)


def test_without_roles_prompts_of_unequal_length_are_refused() -> None:
    batch = unequal().without_roles()
    with pytest.raises(UnmatchedPrompts, match="6 and 5 tokens"):
        aligned_places(batch, batch.positions("all", of="corrupted"), base="corrupted", source="clean")


@pytest.mark.parametrize("places", [None, torch.tensor([[0, 2, 1], [3, 0, 3]])])
def test_values_are_taken_where_the_places_are(places: torch.Tensor | None) -> None:
    values = torch.arange(8).view(2, 4, 1)
    expected = [[2, 3], [6, 7]] if places is None else [[2, 1], [4, 7]]
    assert at_places(values, places, width=2)[..., 0].tolist() == expected
