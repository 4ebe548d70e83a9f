"""Who donates to whom: prompts of another task, or of the same task with another query."""

from collections.abc import Sequence

import pytest
import torch
from batches import TokenModel, random_batch, role_batch
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import DataError
from headcats.prompts.batch import PromptBatch
from headcats.statistics.random_streams import stream
from headcats.sweeps.reference import Reference, UncoveredRoles, _derangement, choose_by_index

ROLES = ["x", "y", "last"]


def of_items(items: Sequence[int], *, task: str, low: int = 0, roles: list[str] = ROLES) -> PromptBatch:
    """One prompt per item, all of whose tokens are the item's number plus `low`."""
    batch = role_batch([[low + item] * len(roles) for item in items], [roles] * len(items), task=task)
    return PromptBatch(**{**vars(batch), "items": tuple(map(str, items))})


def everywhere(batch: PromptBatch) -> torch.Tensor:
    return torch.ones_like(batch.clean, dtype=torch.bool)


def donated(reference: Reference, batch: PromptBatch, mask: torch.Tensor | None = None) -> torch.Tensor:
    mask = everywhere(batch) if mask is None else mask
    return reference.donors(TokenModel(), batch, mask, of="another item")[0][..., 0, 0]


class TestAnotherItem:
    def test_comes_from_the_same_task_with_another_query(self) -> None:
        scored = of_items([0, 1, 2, 0, 1, 2] * 5, task="a")
        reference = Reference([of_items([0, 1, 2] * 4, task="a"), of_items([0, 1, 2] * 4, task="b", low=5)])
        found = donated(reference, scored)
        assert (found == found[:, :1]).all()  # one donor for all tokens
        assert found.max() <= 2
        own = torch.tensor([float(item) for item in scored.items])
        assert (found[:, 0] != own).all()
        for item in (0, 1, 2):  # both others take part
            assert set(found[own == item, 0].tolist()) == {0.0, 1.0, 2.0} - {item}

    def test_at_the_same_roles_wherever_they_stand(self) -> None:
        scored = of_items([0, 1], task="a")
        donor = role_batch([[7, 8, 9, 6]], [["last", "extra", "x", "y"]], task="a")
        found = donated(Reference(PromptBatch(**{**vars(donor), "items": ("5",)})), scored)
        assert found.tolist() == [[9.0, 6.0, 7.0]] * 2

    def test_only_asked_tokens_need_a_role_and_are_kept(self) -> None:
        scored = of_items([0, 1], task="a", roles=["other", "z", "last"])
        reference = Reference(of_items([3, 4], task="a"))
        last = torch.tensor([[False, False, True]] * 2)
        found = donated(reference, scored, last)
        assert not found[:, :2].any()
        assert set(found[:, 2].tolist()) <= {3.0, 4.0}
        with pytest.raises(UncoveredRoles, match=r"'a 0': .* another query"):
            donated(reference, scored)

    def test_prompts_without_another_item_are_named(self) -> None:
        scored, reference = of_items([0, 1, 0], task="a"), Reference(of_items([0, 0], task="a"))
        with pytest.raises(UncoveredRoles, match="2 of 3 prompts") as caught:
            donated(reference, scored)
        assert caught.value.prompts == (0, 2)
        with pytest.raises(UncoveredRoles):
            donated(Reference(of_items([0, 1], task="b")), scored)

    def test_the_seed_decides_and_later_prompts_do_not(self) -> None:
        scored, others = of_items(range(8), task="a"), of_items(range(8), task="a")
        found = donated(Reference(others), scored)
        assert torch.equal(donated(Reference(others), scored), found)
        assert torch.equal(donated(Reference(others), scored.select(range(3))), found[:3])
        assert not torch.equal(donated(Reference(others, seed=1), scored), found)

    def test_without_roles_another_prompt_of_the_batch(self) -> None:
        tokens = [[n, n] for n in range(1, 9)]
        batch = PromptBatch.from_tokens(tokens, [[0, 0]] * 8, [1] * 8, [2] * 8, items=[str(n % 2) for n in range(8)])
        found = donated(Reference(batch), batch)
        assert all(int(row[0]) % 2 != int(own[0]) % 2 for row, own in zip(found, tokens, strict=True))

    def test_without_roles_from_given_prompts(self) -> None:
        batch = random_batch(4, 7)
        other = PromptBatch(**{**vars(random_batch(3, 7, seed=5)), "items": ("a", "b", "prompt 0")})
        found = donated(Reference(other), batch).int()
        assert {tuple(row) for row in found.tolist()} <= {tuple(row) for row in other.clean.tolist()}
        assert found[0].tolist() != other.clean[2].tolist()


def test_the_streams_of_the_two_kinds_differ_and_resampling_keeps_its_own() -> None:
    tokens, batch = torch.arange(50)[:, None], random_batch(30, 7)
    items = [f"item {n}" for n in range(50)]
    draws = stream(0, "", "donors").integers(50, size=30)
    resampled = choose_by_index(tokens, items, batch, seed=0, of="another task")
    assert resampled.flatten().tolist() == draws.tolist()
    assert not torch.equal(choose_by_index(tokens, items, batch, seed=0, of="another item"), resampled)


def test_a_batch_of_one_prompt_has_no_other() -> None:
    batch = random_batch(1, 7)
    for of in ("another task", "another item"):
        with pytest.raises(DataError):
            choose_by_index(batch.clean, batch.items, batch, seed=0, of=of)


@given(n=st.integers(2, 40), seed=st.integers(0, 10**6))
def test_a_derangement_is_a_permutation_without_fixed_point(n: int, seed: int) -> None:
    order = _derangement(n, stream(seed, "donors"))
    assert sorted(order) == list(range(n))
    assert all(other != place for place, other in enumerate(order))
