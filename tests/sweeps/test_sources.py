"""Where new values of z come from, and from which position on they can change anything."""

from dataclasses import replace

import pytest
import torch
from batches import TokenModel, random_batch, random_role_batch, with_second

from headcats.base import registry
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.sources import Replacements, Sources, first_change

MASK = torch.ones(4, 7, dtype=torch.bool)
OWN = Intervention("own", "clean", lambda sources: sources.clean, uses_reference=True, uses_second=True)


def layers_of(
    runs: BaseRuns, reference: Reference, *, first: int = 0, mask: torch.Tensor = MASK
) -> tuple[Sources, Sources]:
    """Sources of both layers at positions `first` and later."""
    later = torch.arange(mask.shape[1]) >= first
    new = Replacements(runs, OWN, reference=reference, mask=mask & later)
    assert new.first == first
    return Sources(new, 0), Sources(new, 1)


@pytest.mark.parametrize("first", [0, 3, 6])
def test_sources_of_one_layer(first: int) -> None:
    batch = with_second(random_batch(4))
    runs = BaseRuns(TokenModel(), batch)
    for of, scale in zip(layers_of(runs, Reference(batch), first=first), (1.0, 10.0), strict=True):
        torch.testing.assert_close(of.clean[..., 0, 0], batch.clean[:, first:] * scale)
        torch.testing.assert_close(of.corrupted[..., 0, 0], batch.corrupted[:, first:] * scale)
        torch.testing.assert_close(of.second[..., 0, 0], batch.second[:, first:] * scale)
        torch.testing.assert_close(of.mean[2, :, 0, 0], batch.clean.float().mean(0)[first:] * scale)


def test_means_by_index_are_made_once_for_all_layers() -> None:
    model, batch = TokenModel(), random_batch(4)
    runs, reference = BaseRuns(model, batch), Reference(batch)
    for layer in layers_of(runs, reference, first=2):
        layer.mean  # noqa: B018
    assert model.prompts_run == 4
    layers_of(runs, reference, first=1)[0].mean  # noqa: B018
    assert model.prompts_run == 8


@pytest.mark.parametrize("first", [0, 4])
def test_donors_are_run_once_for_all_layers(first: int) -> None:
    model = TokenModel()
    batch, other = random_role_batch(5, task="a"), random_role_batch(6, seed=3, task="b")
    everywhere = torch.ones_like(batch.clean, dtype=torch.bool)
    layers = layers_of(BaseRuns(model, batch), Reference(other), first=first, mask=everywhere)
    zero, one = (layer.resampled for layer in layers)
    assert model.prompts_run == 5
    assert zero.shape[1] == batch.length - first
    torch.testing.assert_close(one[..., 0, 0], 10 * zero[..., 0, 0])
    rows = {tuple(row) for row in other.clean[:, first:].tolist()}
    assert all(tuple(row) in rows for row in zero[..., 0, 0].int().tolist())


def test_methods_that_promise_to_keep_agreement_do() -> None:
    batch = random_batch(4)
    promising = set()
    for name in registry.names("method"):
        intervention = getattr(registry.lookup("method", name), "intervention", None)
        if intervention is None or not intervention.keeps_agreement:
            continue
        promising.add(name)
        same = replace(batch, corrupted=batch.clean)
        if intervention.uses_second:
            same = replace(batch, second=batch.corrupted, second_tasks=("the same",) * 4)
        runs = BaseRuns(TokenModel(), same)
        new = Replacements(
            runs, replace(intervention, keeps_agreement=False), reference=Reference(batch), mask=MASK
        ).of_layer(0)
        assert torch.equal(new, runs.base_run(intervention.base).z(0, first=0)), name
    assert promising == {"denoising_patch", "noising_patch", "second_corruption_patch"}


def test_interventions_of_ones_own_promise_nothing() -> None:
    assert not Intervention("own", "clean", lambda sources: sources.corrupted).keeps_agreement


def test_a_replacement_may_write_into_its_sources() -> None:
    batch = random_batch(4)
    runs = BaseRuns(TokenModel(), batch)
    before = runs.clean.z(0, first=0).clone()
    layers_of(runs, Reference(batch))[0].clean[...] = 0
    assert torch.equal(runs.clean.z(0, first=0), before)


class TestFirstChange:
    def batch(self, shared: int) -> PromptBatch:
        batch = random_batch(4, 7)
        corrupted = batch.corrupted.clone()
        corrupted[:, :shared] = batch.clean[:, :shared]
        corrupted[0, :] = batch.clean[0, :]
        second = corrupted.clone()
        second[1:3, 2:] = (second[1:3, 2:] + 1) % 5 + 3
        return PromptBatch.from_tokens(batch.clean, corrupted, batch.answer, batch.distractor, second=second)

    def test_without_any_second_corruption_nothing_changes_before_the_end(self) -> None:
        patch = registry.lookup("method", "second_corruption_patch").intervention
        assert first_change(patch, random_batch(4, 7), MASK) == 6

    def test_in_the_clean_run_where_that_and_the_second_part(self) -> None:
        patch = replace(registry.lookup("method", "second_corruption_patch").intervention, base="clean")
        assert first_change(patch, self.batch(1), MASK) == 1

    @pytest.mark.parametrize(
        ("method", "shared", "masked", "expected"),
        [
            ("denoising_patch", 3, 0, 3),
            ("noising_patch", 3, 0, 3),
            ("denoising_patch", 3, 5, 5),
            ("denoising_patch", 7, 0, 6),
            ("zero_ablation", 3, 0, 0),
            ("mean_ablation", 3, 2, 2),
            ("resample_ablation", 3, 6, 6),
            ("other_item_patch", 3, 1, 1),
            # Corrupted and second part at position 2, wherever clean and corrupted do.
            ("second_corruption_patch", 3, 0, 2),
            ("second_corruption_patch", 0, 0, 2),
            ("second_corruption_patch", 3, 4, 4),
        ],
    )
    def test_the_first_difference_or_the_first_masked_token(
        self, method: str, shared: int, masked: int, expected: int
    ) -> None:
        batch = self.batch(shared)
        mask = torch.zeros(4, 7, dtype=torch.bool)
        mask[1:, masked:] = True
        mask[0, 6] = True
        assert first_change(registry.lookup("method", method).intervention, batch, mask) == expected

    def test_replacements_start_there(self) -> None:
        batch = self.batch(3)
        runs = BaseRuns(TokenModel(), batch)
        patch = registry.lookup("method", "denoising_patch").intervention
        new = Replacements(runs, patch, reference=Reference(batch), mask=MASK)
        assert (new.first, tuple(new.mask.shape), new.of_layer(1).shape[1]) == (3, (4, 4), 4)
        torch.testing.assert_close(new.of_layer(1)[..., 0, 0], batch.clean[:, 3:] * 10.0)
