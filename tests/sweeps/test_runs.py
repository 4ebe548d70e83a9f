"""Base runs are made once and shared; sources are what they say."""

import torch
from batches import TokenModel, random_batch, random_role_batch

from headcats.sweeps import Reference
from headcats.sweeps.runs import BaseRuns, LayerSources


def test_base_runs_are_made_when_asked_and_once() -> None:
    model = TokenModel()
    runs = BaseRuns(model, random_batch(4))
    assert model.prompts_run == 0
    assert runs.clean is runs.clean
    assert model.prompts_run == 4
    assert runs.corrupted[1] is runs.corrupted[1]
    assert model.prompts_run == 8


def test_targets_are_those_of_the_batch() -> None:
    batch = random_batch(4)
    runs = BaseRuns(TokenModel(), batch)
    assert torch.equal(runs.targets.answer, batch.answer)
    assert torch.equal(runs.targets.distractor, batch.distractor)
    assert runs.targets.clean_logits is runs.clean[0]


def test_sources_of_one_layer() -> None:
    batch = random_batch(4)
    runs, mask = BaseRuns(TokenModel(), batch), torch.ones(4, 7, dtype=torch.bool)
    of = {layer: LayerSources(runs, layer, Reference(batch), mask) for layer in (0, 1)}
    for layer, scale in ((0, 1.0), (1, 10.0)):
        torch.testing.assert_close(of[layer].clean[..., 0, 0], batch.clean * scale)
        torch.testing.assert_close(of[layer].corrupted[..., 0, 0], batch.corrupted * scale)
        torch.testing.assert_close(of[layer].mean[2, :, 0, 0], batch.clean.float().mean(0) * scale)


def test_donors_are_run_once_for_all_layers() -> None:
    model = TokenModel()
    batch, other = random_role_batch(5, task="a"), random_role_batch(6, seed=3, task="b")
    runs, mask = BaseRuns(model, batch), torch.ones_like(batch.clean, dtype=torch.bool)
    donors: dict[int, torch.Tensor] = {}
    first, second = (LayerSources(runs, layer, Reference(other), mask, donors).resampled for layer in (0, 1))
    assert model.prompts_run == 5
    torch.testing.assert_close(second[..., 0, 0], 10 * first[..., 0, 0])
