"""Who donates to whom: prompts of another task, or of the same task with another query."""

from collections.abc import Sequence

import pytest
import torch
from batches import TokenModel, random_batch, role_batch
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DataError
from headcats.prompts.batch import PromptBatch
from headcats.statistics.random_streams import stream
from headcats.sweeps.donors import UncoveredRoles, _derangement, choose_without_roles
from headcats.sweeps.reference import Reference

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


class TestAtTheLastPosition:
    """The last token of a prompt is matched with the last tokens of others, whatever their lengths and roles."""

    def last(self, batch: PromptBatch) -> torch.Tensor:
        return torch.arange(batch.length).eq(batch.length - 1).expand(len(batch), -1)

    def prompts(self, tokens: list[list[int]], *, task: str, low: int = 0) -> PromptBatch:
        n = len(tokens)
        items = [str(low + row) for row in range(n)]
        batch = PromptBatch.from_tokens(tokens, [[0] * len(tokens[0])] * n, [1] * n, [2] * n, items=items)
        return PromptBatch(**{**vars(batch), "task": task})

    @pytest.mark.parametrize("first", [0, 2])
    def test_without_roles_a_donor_of_any_length_gives_its_last_token(self, first: int) -> None:
        scored = self.prompts([[1, 2, 3], [1, 2, 4]], task="a")
        others = [self.prompts([[9, 5]], task="a", low=7), self.prompts([[9, 9, 9, 9, 6]], task="a", low=8)]
        z = Reference(others).donors(TokenModel(), scored, self.last(scored), first=first, of="another item")[0]
        assert z.shape[1] == 3 - first
        assert set(z[:, -1, 0, 0].tolist()) <= {5.0, 6.0}

    def test_without_roles_a_donor_of_another_task_is_none_of_its_own(self) -> None:
        scored = self.prompts([[1, 2, 3]] * 20, task="a")
        others = [self.prompts([[9, 5]] * 20, task="a", low=30), self.prompts([[9, 9, 6]] * 2, task="b")]
        z = Reference(others).donors(TokenModel(), scored, self.last(scored))[0]
        assert set(z[:, -1, 0, 0].tolist()) == {6.0}
        with pytest.raises(UncoveredRoles, match=r"Add a task\.$"):
            Reference(others[:1]).donors(TokenModel(), scored, self.last(scored))

    def test_with_other_roles_too(self) -> None:
        scored = role_batch([[1, 2, 3]], [["x", "y", "other[1/2]"]], task="a")
        donor = role_batch([[4, 5]], [["last", "verb"]], task="b")
        bare = self.prompts([[6, 7, 8, 9]], task="c")
        found = {
            Reference([donor, bare], seed=seed).donors(TokenModel(), scored, self.last(scored))[0][0, -1, 0, 0].item()
            for seed in range(8)
        }
        assert found == {5.0, 9.0}


def test_the_streams_of_the_two_kinds_differ_and_resampling_keeps_its_own() -> None:
    batch, others = random_batch(30, 7), random_batch(50, 7, seed=5)
    others = PromptBatch(**{**vars(others), "items": tuple(f"item {n}" for n in range(50))})
    draws = [int(stream(0, "", "donors", key).integers(50)) for key in batch.keys]
    in_order = sorted(range(50), key=lambda row: others.keys[row])
    resampled = choose_without_roles([others], batch, own=False, seed=0, of="another task")
    assert resampled == [(0, in_order[place]) for place in draws]
    assert choose_without_roles([others], batch, own=False, seed=0, of="another item") != resampled


def test_a_batch_of_one_prompt_has_no_other() -> None:
    batch = random_batch(1, 7)
    for of in ("another task", "another item"):
        with pytest.raises(DataError):
            Reference(batch).donors(TokenModel(), batch, everywhere(batch), of=of)


@given(n=st.integers(2, 40), seed=st.integers(0, 10**6))
def test_a_derangement_is_a_permutation_without_fixed_point(n: int, seed: int) -> None:
    order = _derangement(n, stream(seed, "donors"))
    assert sorted(order) == list(range(n))
    assert all(other != place for place, other in enumerate(order))
