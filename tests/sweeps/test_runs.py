"""Unpatched runs are made when asked for, once, and kept as far as they are needed."""

from typing import Any

import pytest
import torch
from batches import TokenModel, random_batch, with_second
from toys import Toy

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.models.replay.record import record
from headcats.models.replay.recording import Unreplayable
from headcats.sweeps.batch_sweep import announce, find_intervention, sweep, sweep_runs
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns, Run


class CountingModel(HookedModel):
    """Counts the prompts that go through the whole model."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.prompts_run = 0
        embed = model.hook_dict["hook_embed"]
        self.handle = embed.register_forward_hook(self._count)

    def _count(self, module: Any, args: Any, output: torch.Tensor) -> None:
        self.prompts_run += len(output)


def test_they_are_made_when_asked_and_once() -> None:
    model = TokenModel()
    runs = BaseRuns(model, random_batch(4))
    assert model.prompts_run == 0
    first = runs.clean.logits
    assert runs.clean.logits is first
    assert model.prompts_run == 4
    runs.clean.z(0, first=6)
    assert model.prompts_run == 4
    assert runs.base_run("corrupted").logits is runs.corrupted.logits
    assert model.prompts_run == 8


class TestSecond:
    def test_is_made_when_asked_for_and_once(self) -> None:
        model, batch = TokenModel(), with_second(random_batch(4), lacking=[2])
        runs = BaseRuns(model, batch)
        assert len(runs.clean.logits) == len(runs.corrupted.logits) == 4
        assert model.prompts_run == 8
        torch.testing.assert_close(runs.second.z(0, first=5)[..., 0, 0], batch.second[:, 5:] * 1.0)
        torch.testing.assert_close(runs.second.z(1, first=6)[2, 0, 0, 0], batch.corrupted[2, 6] * 10.0)
        assert model.prompts_run == 12
        assert torch.equal(runs.select([3, 1]).second.continued.prompts, batch.second[[3, 1]])

    def test_a_batch_without_one_says_so(self) -> None:
        with pytest.raises(DataError, match="second corruption"):
            BaseRuns(TokenModel(), random_batch(4)).second  # noqa: B018


class TestPositions:
    def test_only_those_that_are_needed_are_kept(self, toy: Toy) -> None:
        batch, model = random_batch(3, 7), adapt(toy.model)
        _, whole = model.capture(batch.clean)
        run = Run(model, Continued.alone(batch.clean), budget=10**9)
        assert torch.equal(run.z(1, first=6), whole[1][:, 6:])
        assert run._results().z[1].shape[1] == 1
        assert torch.equal(run.z(1, first=4), whole[1][:, 4:])
        assert run._results().z[1].shape[1] == 3
        assert torch.equal(run.z(1, first=6), whole[1][:, 6:])

    def test_what_was_announced_comes_from_one_forward_pass(self, toy: Toy) -> None:
        model = CountingModel(toy.model)
        run = Run(model, Continued.alone(random_batch(3, 7).clean), budget=10**9)
        assert model.max_heads == 4
        model.prompts_run = 0  # it was looked at once, for its number of heads
        run.keep(3)
        run.replay(5)
        run.keep(4)
        run.logits, run.z(0, first=4)
        assert [prompts for prompts, _ in run.recordings(3)] == [slice(0, 3)]
        assert model.prompts_run == 3
        model.handle.remove()

    def test_a_run_that_may_be_a_recording_is_no_ordinary_pass(self, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        batch, model = random_batch(3, 7), adapt(toy.model)
        logits, z = model.capture(batch.clean)
        assert model.max_heads == 4  # looked at once, by an ordinary pass
        monkeypatch.setattr(HookedModel, "forward_last", None)
        run = Run(model, Continued.alone(batch.clean), budget=10**9)
        run.record()
        run.keep(4)
        assert (run.logits - logits).abs().max() < 1e-5
        assert (run.z(1, first=4) - z[1][:, 4:]).abs().max() < 1e-5
        assert run._recordings == []  # nobody will replay it

    def test_numbers_do_not_depend_on_what_else_is_asked(self, each_toy: Toy) -> None:
        """Else a study that is resumed, or extended, would not have the bits of one that ran at once."""
        model, tokens = adapt(each_toy.model), random_batch(3, 7).clean
        runs = [record(model, Continued.alone(tokens), first=first) for first in (6, 5, 2, 0)]
        for run in runs[1:]:
            assert torch.equal(run.logits, runs[0].logits)
            for layer in model.layers:
                assert torch.equal(run.z[layer][:, -1], runs[0].z[layer][:, -1])

    def test_a_model_that_cannot_be_recorded_is_run_as_it_is(self, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuses(*args: Any, **options: Any) -> Any:
            raise Unreplayable("its blocks are odd")

        monkeypatch.setattr("headcats.sweeps.runs.record", refuses)
        batch, model = random_batch(3, 7), adapt(toy.model)
        run = Run(model, Continued.alone(batch.clean), budget=10**9)
        run.record()
        assert torch.equal(run.logits, model.logits(batch.clean))

    def test_a_recording_from_a_later_position_is_made_anew(self, toy: Toy) -> None:
        run = Run(adapt(toy.model), Continued.alone(random_batch(3, 7).clean), budget=10**9)
        run.replay(2)
        run.logits  # noqa: B018
        assert [recording.first for _, recording in run.recordings(5)] == [5]
        assert [recording.first for _, recording in run.recordings(2)] == [2]


DEFAULT_METHODS = ("denoising_patch", "second_corruption_patch", "other_item_patch", "mean_ablation")


def test_the_methods_of_a_plain_run_share_three_passes(toy: Toy) -> None:
    """Over clean, corrupted and second prompts, whatever their order, with the numbers of each method alone."""
    model, batch = CountingModel(toy.model), with_second(random_batch(3, 7))
    reference = Reference(random_batch(4, 7, seed=1))
    for method in DEFAULT_METHODS:
        sweep(model, batch, method, reference=reference)  # checks the path, and takes the means
    runs = BaseRuns(model, batch)
    interventions = [find_intervention(method) for method in DEFAULT_METHODS]
    for intervention in interventions:
        announce(runs, intervention, positions=intervention.positions)
    model.prompts_run = 0
    found = [
        sweep_runs(runs, intervention, metrics=["logit_diff"], positions=None, reference=reference)
        for intervention in interventions
    ]
    donors = 3  # of `other_item_patch`, which reads another prompt for each
    assert model.prompts_run == 3 * len(batch) + donors
    for ds, method in zip(found, DEFAULT_METHODS, strict=True):
        assert torch.equal(
            torch.tensor(ds.patched.values),
            torch.tensor(sweep(model, batch, method, reference=reference).patched.values),
        )
    model.handle.remove()
