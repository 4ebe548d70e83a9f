"""Means by role and donors, by hand: the model's z is the token id."""

from itertools import permutations
from typing import Any

import pytest
import torch
from batches import TokenModel, random_batch, random_role_batch, role_batch
from toys import tiny_model

from headcats.base.errors import DataError, HeadcatsError
from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.reference import Reference


@pytest.fixture
def model() -> TokenModel:
    return TokenModel()


def everywhere(batch: PromptBatch) -> torch.Tensor:
    return torch.ones_like(batch.clean, dtype=torch.bool)


def repeated(tokens: list[int], labels: list[str], *, times: int = 16, task: str) -> PromptBatch:
    return role_batch([tokens] * times, [labels] * times, task=task)


class TestMean:
    def test_by_role_within_a_task_then_over_tasks_with_equal_weight(self, model: TokenModel) -> None:
        # Task a: 16 prompts with x = 2 and 16 with x = 4, so 3. Task b: 48 prompts with x = 9. Equal weight: 6, where
        # equal weight of prompts would give 6.6.
        batches = [
            repeated([0, 2], ["bos", "x"], task="a"),
            repeated([0, 4], ["bos", "x"], task="a"),
            repeated([1, 9], ["bos", "x"], times=48, task="b"),
        ]
        scored = role_batch([[5, 5], [6, 7]], [["bos", "x"], ["bos", "x"]], task="a")
        for layer, scale in ((0, 1.0), (1, 10.0)):
            found = Reference(batches).mean(model, scored, layer, everywhere(scored))
            expected = torch.tensor([0.5, 6.0])[:, None] * scale + torch.tensor([0.0, 0.5])  # pos, head
            torch.testing.assert_close(found, expected[None, :, :, None].expand(2, 2, 2, 2))

    def test_by_role_label_not_by_index(self, model: TokenModel) -> None:
        batches = [
            repeated([0, 2, 3], ["bos", "x", "y"], task="a"),
            repeated([0, 5, 5, 8], ["bos", "between", "y", "x"], task="a"),
        ]
        scored = role_batch([[0, 1, 1, 1, 1]], [["y", "bos", "between", "x", "y"]], task="a")
        found = Reference(batches).mean(model, scored, 0, everywhere(scored))
        assert found[0, :, 0, 0].tolist() == [4.0, 0.0, 5.0, 5.0, 4.0]

    def test_a_role_counts_for_the_tasks_that_show_it_often_enough(self, model: TokenModel) -> None:
        # Task b shows y in 15 prompts only: it has no say in y, but in x.
        batches = [
            repeated([2, 6], ["x", "y"], task="a"),
            repeated([4, 9], ["x", "y"], times=15, task="b"),
            repeated([4, 9], ["x", "z"], times=20, task="b"),
        ]
        scored = role_batch([[1, 1]], [["x", "y"]], task="a")
        assert Reference(batches).mean(model, scored, 0, everywhere(scored))[0, :, 0, 0].tolist() == [3.0, 6.0]

    def test_a_rare_role_is_refused_by_name(self, model: TokenModel) -> None:
        rare = repeated([2, 6], ["x", "y"], times=15, task="a")
        often = repeated([2, 6], ["x", "z"], times=20, task="b")
        scored = role_batch([[1, 1]], [["x", "y"]])
        reference = Reference([rare, often], name="suite")
        with pytest.raises(DataError, match=r"'y' .* 15 reference prompts .* 16"):
            reference.mean(model, scored, 0, everywhere(scored))
        with pytest.raises(HeadcatsError, match=r"'unheard' .* 0 reference"):
            reference.mean(model, role_batch([[1, 1]], [["x", "unheard"]]), 0, everywhere(scored))
        # Where it is not asked for, it does not matter; tokens that are not asked for are zero.
        only_x = torch.tensor([[True, False]])
        assert reference.mean(model, scored, 0, only_x)[0, :, 0, 0].tolist() == [2.0, 0.0]

    def test_the_corrupted_run_goes_by_its_own_roles(self, model: TokenModel) -> None:
        # Enough for positions="last": only the last role stands at the same place in both.
        batch = role_batch(
            [[2, 3, 5]] * 16, [["x", "y", "last"]] * 16,
            corrupted=[[4, 9, 7]] * 16, corrupted_labels=[["y", "x", "last"]] * 16,
        )  # fmt: skip
        found = Reference(batch, run="corrupted").mean(model, batch, 0, everywhere(batch))
        assert found[0, :, 0, 0].tolist() == [9.0, 4.0, 7.0]

    def test_reference_prompts_run_once_however_often_they_are_asked(self, model: TokenModel) -> None:
        batch = repeated([2, 3], ["x", "y"], times=150, task="a")
        reference = Reference(batch)
        for layer in (0, 1, 0):
            reference.mean(model, batch, layer, everywhere(batch))
        assert model.prompts_run == 150

    def test_another_model_is_run_anew(self) -> None:
        batch = random_role_batch(16, task="a")
        reference, fresh = Reference(batch), Reference(batch)
        models = [adapt(tiny_model("gpt2", n_layers=2, seed=seed).model) for seed in (0, 1)]
        first, second = (reference.mean(model, batch, 1, everywhere(batch)) for model in models)
        assert (first - second).abs().max() > 0.01
        assert torch.equal(second, fresh.mean(models[1], batch, 1, everywhere(batch)))

    def test_the_order_of_tasks_does_not_matter_to_the_bit(self, model: TokenModel) -> None:
        # Sums of three such means differ in their last bit from one order to another.
        batches = [random_role_batch(17 + 2 * n, seed=n, task=task) for n, task in enumerate("abc")]
        scored = random_role_batch(3, seed=9)
        orders = [Reference(order).mean(model, scored, 1, everywhere(scored)) for order in permutations(batches)]
        assert all(torch.equal(found, orders[0]) for found in orders)

    def test_without_roles_by_index(self, model: TokenModel) -> None:
        reference = PromptBatch.from_tokens([[1, 2], [3, 8], [8, 8]], [[9, 9]] * 3, [1] * 3, [2] * 3)
        scored = PromptBatch.from_tokens([[0, 0]], [[1, 1]], [1], [2])
        found = Reference(reference).mean(model, scored, 0, everywhere(scored))
        assert found[0, :, 0, 0].tolist() == [4.0, 6.0]
        corrupted = Reference(reference, run="corrupted").mean(model, scored, 0, everywhere(scored))
        assert corrupted[0, :, 0, 0].tolist() == [9.0, 9.0]
        assert found.shape == (1, 2, 2, 2)

    def test_at_the_last_position_any_length_will_do(self, model: TokenModel) -> None:
        scored = PromptBatch.from_tokens([[0, 0, 0]], [[1, 1, 1]], [1], [2])
        last = torch.tensor([[False, False, True]])
        others = [
            PromptBatch.from_tokens(tokens, [[9] * len(tokens[0])] * len(tokens), [1] * len(tokens), [2] * len(tokens))
            for tokens in ([[1, 2], [1, 4]], [[5, 5, 5, 9]])
        ]
        for first in (0, 2):
            found = Reference(others).mean(model, scored, 1, last, first=first)
            assert found.shape == (1, 3 - first, 2, 2)
            assert found[0, -1, 0, 0] == 50.0  # (2 + 4 + 9) / 3, times 10 in layer 1
        assert Reference(others, run="corrupted").mean(model, scored, 0, last)[0, -1, 0, 0] == 9.0
        with pytest.raises(DataError, match=r"\[2, 4\] tokens .* 3.*positions='last'"):
            Reference(others).mean(model, scored, 0, everywhere(scored))

    def test_at_the_last_position_roles_do_not_matter(self, model: TokenModel) -> None:
        # Neither the name of the last role nor a prompt without roles: tasks have equal weight.
        others = [
            repeated([0, 2], ["x", "verb"], task="a"),
            repeated([8, 8, 4], ["x", "y", "other[1/2]"], times=40, task="b"),
            repeated([6, 9], ["x", "y"], task="c").without_roles(),
        ]
        scored = role_batch([[5, 5, 5, 5]], [["x", "other[0/3]", "other[1/3]", "other[2/3]"]], task="a")
        last = torch.tensor([[False, False, False, True]])
        assert Reference(others).mean(model, scored, 0, last)[0, -1, 0, 0] == 5.0

    def test_prompts_without_roles_have_no_say_in_the_roles_of_others(self, model: TokenModel) -> None:
        with_roles = repeated([2, 3], ["x", "y"], task="a")
        without = repeated([6, 7], ["x", "y"], task="b").without_roles()
        found = Reference([with_roles, without]).mean(model, with_roles, 0, everywhere(with_roles))
        assert found[0, :, 0, 0].tolist() == [2.0, 3.0]

    def test_roles_on_one_side_only_are_matched_by_index(self, model: TokenModel) -> None:
        with_roles = repeated([2, 3], ["x", "y"], task="a")
        without = with_roles.without_roles()
        for reference, scored in ((with_roles, without), (without, with_roles)):
            found = Reference(reference).mean(model, scored, 0, everywhere(scored))
            assert found[0, :, 0, 0].tolist() == [2.0, 3.0]

    def test_an_empty_reference_is_refused(self) -> None:
        with pytest.raises(DataError, match="one prompt"):
            Reference([])


class TestDonors:
    def batches(self) -> list[PromptBatch]:
        # The task can be told from the token: 1 to 3 in a, 4 to 6 in b, 7 to 9 in c, where roles stand elsewhere.
        draws = torch.Generator().manual_seed(0)
        lows = {"a": 1, "b": 4, "c": 7}
        tokens = {t: torch.randint(low, low + 3, (20, 3), generator=draws).tolist() for t, low in lows.items()}
        return [
            role_batch(tokens["a"], [["x", "y", "last"]] * 20, task="a"),
            role_batch(tokens["b"], [["x", "y", "last"]] * 20, task="b"),
            role_batch(tokens["c"], [["y", "x", "last"]] * 20, task="c"),
        ]

    def test_come_from_one_prompt_of_another_task_at_the_same_roles(self, model: TokenModel) -> None:
        batches = self.batches()
        donors = Reference(batches).donors(model, batches[0], everywhere(batches[0]))
        found = donors[0][..., 0, 0]
        expected = {tuple(map(float, row)) for row in batches[1].clean.tolist()}
        expected |= {(float(x), float(y), float(last)) for y, x, last in batches[2].clean.tolist()}
        rows = [tuple(row) for row in found.tolist()]
        assert set(rows) <= expected
        assert {row[0] >= 7 for row in rows} == {True, False}  # both other tasks take part
        # Every layer and head of a prompt has the same donor.
        torch.testing.assert_close(donors[1][..., 0, 0], 10 * found)
        torch.testing.assert_close(donors[1][..., 1, :], donors[1][..., 0, :] + 0.5)

    def test_a_suite_of_one_task_has_no_donors(self, model: TokenModel) -> None:
        batch = self.batches()[0]
        with pytest.raises(HeadcatsError, match=r"'a 0': .* another task"):
            Reference(batch).donors(model, batch, everywhere(batch))

    def test_the_corrupted_run_goes_by_its_own_roles(self, model: TokenModel) -> None:
        source = role_batch([[2, 3]], [["x", "y"]], corrupted=[[4, 9]], corrupted_labels=[["y", "x"]], task="b")
        scored = role_batch([[1, 1]], [["x", "y"]], task="a")
        found = Reference(source, run="corrupted").donors(model, scored, everywhere(scored))
        assert found[0][0, :, 0, 0].tolist() == [9.0, 4.0]

    def test_without_roles_another_prompt_at_the_same_index(self, model: TokenModel) -> None:
        tokens = [[n, n + 1] for n in range(1, 9)]
        batch = PromptBatch.from_tokens(tokens, [[0, 0]] * 8, [1] * 8, [2] * 8)
        found = Reference(batch).donors(model, batch, everywhere(batch))[0][..., 0, 0].tolist()
        assert sorted(found) == [list(map(float, row)) for row in tokens]  # each is the donor of exactly one
        assert all(row != list(map(float, own)) for row, own in zip(found, tokens, strict=True))


class SpreadModel(TokenModel):
    """Its second layer lies on another device than its first, one that computes shapes alone."""

    def capture(self, tokens: torch.Tensor, **options: Any) -> Any:
        logits, z = super().capture(tokens, **options)
        return logits, {layer: value.to("meta" if layer else "cpu") for layer, value in z.items()}


@pytest.mark.parametrize("by_role", [True, False])
def test_means_and_donors_lie_where_their_layer_is(model: TokenModel, by_role: bool) -> None:
    scored, others = random_role_batch(3), [random_role_batch(16, task="b", seed=5)]
    if not by_role:
        scored, others = random_batch(3), [random_batch(16, seed=5)]
    reference, mask = Reference(others), everywhere(scored)
    mask[0, 1] = False  # masked and unmasked positions in one prompt
    for layer, device in ((0, "cpu"), (1, "meta")):
        expected = (reference.mean(model, scored, layer, mask), reference.donors(model, scored, mask)[layer])
        spread, fresh = SpreadModel(), Reference(others)  # what was made for a model is kept
        found = (fresh.mean(spread, scored, layer, mask), fresh.donors(spread, scored, mask)[layer])
        for one, other in zip(found, expected, strict=True):
            assert one.device.type == device
            assert one.shape == other.shape
            assert device == "meta" or torch.equal(one, other)
