"""What taking gradients asks of a model, and that it leaves nothing behind."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from placements import placed
from prefixes import prefixed_batch
from toy_cases import graphs, left_as_it_is
from toys import Toy, random_tokens, tiny_model

import headcats as hc
from headcats.base.errors import ModelError, OptionError
from headcats.metrics import Targets, metric
from headcats.models.adapter import adapt
from headcats.models.hooks import hook_z
from headcats.papers.gradients import counting_kept, estimated_changes, leaving_no_graph
from headcats.sweeps.runs import BaseRuns

SMOOTH = ("logit_diff", "log_prob", "prob", "kl")


def estimate(model: Any, batch: hc.PromptBatch, *metrics: str, ig_steps: int = 0) -> np.ndarray:
    """`[metric, prompt, layer, head]`, all positions."""
    names = metrics or ("logit_diff",)
    runs = BaseRuns(adapt(model), batch)
    return estimated_changes(runs, metrics=names, mask=batch.positions("all"), ig_steps=ig_steps).numpy()


class TestModelIsLeftAsItIs:
    def test_weights_gradients_hooks_and_modes(self, toy: Toy) -> None:
        with left_as_it_is(toy):
            estimate(toy.model, random_batch(3, 6), *SMOOTH, ig_steps=2)

    @pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
    def test_a_caller_without_gradients_gets_them(self, toy: Toy, context: Any) -> None:
        expected = estimate(toy.model, random_batch(3, 6), "kl", ig_steps=2)
        with context():
            assert np.array_equal(estimate(toy.model, random_batch(3, 6), "kl", ig_steps=2), expected)

    def test_a_frozen_model_gives_them_too(self, toy: Toy) -> None:
        expected = estimate(toy.model, random_batch(3, 6))
        trained = [weight for weight in toy.model.parameters() if weight.requires_grad]
        for weight in trained:
            weight.requires_grad_(False)
        try:
            assert np.abs(estimate(toy.model, random_batch(3, 6)) - expected).max() < 1e-6
        finally:
            for weight in trained:
                weight.requires_grad_(True)

    def test_the_lock_is_held_from_forward_to_backward(self, toy: Toy) -> None:
        model, free = adapt(toy.model), []

        def look() -> None:
            free.append(model.lock.acquire(blocking=False))
            if free[-1]:
                model.lock.release()

        class Watch(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, logits: torch.Tensor) -> torch.Tensor:
                return logits.clone()

            @staticmethod
            def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
                other = threading.Thread(target=look)
                other.start()
                other.join()
                return gradient

        @metric
        def watched(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
            return Watch.apply(logits)[:, 0]

        estimate(model, random_batch(2, 5), "watched")
        assert free == [False]


class TestRefusals:
    def test_a_metric_without_gradient_that_does_not_say_so(self, toy: Toy) -> None:
        @metric
        def top(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
            return logits.argmax(-1).float()

        with pytest.raises(OptionError, match=r"'top' .*smooth=False"):
            estimate(toy.model, random_batch(2, 5), "logit_diff", "top")

    def test_a_model_without_gradient(self, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(toy.model, "run_with_hooks", torch.no_grad()(toy.model.run_with_hooks))
        with pytest.raises(ModelError, match=r"'toy' .* any head"):
            estimate(toy.model, random_batch(2, 5))

    def test_a_layer_that_is_cut_off(self, toy: Toy) -> None:
        point = toy.model.hook_dict["blocks.1.hook_resid_pre"]
        point.add_hook(lambda value, hook: value.detach())
        try:
            with pytest.raises(ModelError, match="heads of layer 0"):
                estimate(toy.model, random_batch(2, 5))
        finally:
            point.remove_hooks()

    def test_gradients_that_overflow(self, toy: Toy) -> None:
        @metric
        def steep(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
            return (logits[:, 0] - logits[:, 0].detach()).abs().sqrt()

        with pytest.raises(ModelError, match="'steep' hold NaN"):
            estimate(toy.model, random_batch(2, 5), "steep")

    def test_a_path_that_does_not_lead_to_the_clean_run(self, toy: Toy) -> None:
        # Tokens that act in the last block once more, as in models with embeddings for every layer.
        seen: list[torch.Tensor] = []
        model = toy.model
        embed = model.hook_dict["hook_embed"]
        embed.add_hook(lambda value, hook: seen.append(value) or value)
        model.hook_dict["blocks.1.hook_resid_pre"].add_hook(lambda value, hook: value + seen[-1])
        try:
            assert np.isfinite(estimate(model, random_batch(2, 5))).all()
            with pytest.raises(ModelError, match="another way"):
                estimate(model, random_batch(2, 5), ig_steps=1)
        finally:
            model.reset_hooks()
            for point in model.hook_dict.values():
                point.remove_hooks()


def traced(toy: Toy, n_prompts: int) -> torch.Tensor:
    model, tokens = adapt(toy.model), random_tokens(n_prompts, 7)
    added = torch.zeros(n_prompts, 7, 4, model.d_head[0], requires_grad=True)
    with torch.enable_grad():
        return model.forward_last(tokens, 1, hooks={hook_z(0): lambda z: z + added})[:, 0]


def test_gradients_can_be_taken_and_no_graph_stays() -> None:
    """After an error neither."""
    toy = tiny_model("llama")
    before = len(graphs())
    for context in (torch.no_grad, torch.inference_mode):
        with context(), leaving_no_graph(adapt(toy.model)):
            assert traced(toy, 2).requires_grad

    def failing() -> None:
        with leaving_no_graph(adapt(toy.model)):
            traced(toy, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        failing()
    assert len(graphs()) == before


def test_activations_are_counted_and_weights_are_not(each_toy: Toy) -> None:
    toy, model, counts = each_toy, adapt(each_toy.model), []
    with leaving_no_graph(model):
        for n_prompts in (1, 2, 3):
            with counting_kept(model) as kept:
                traced(toy, n_prompts)
            counts.append(sum(kept.values()))
    assert 0 < counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.05)
    weights = {weight.untyped_storage().data_ptr() for weight in toy.model.parameters()}
    assert not weights & set(kept)


@pytest.mark.needs_tl4("the bridge of 3.x reads offloaded weights where they are not")
@pytest.mark.filterwarnings("ignore:.*ordinary hooked forwards")
def test_weights_on_disk_give_the_same(tmp_path: Path) -> None:
    batch = prefixed_batch(3, 12, 5)
    here, there = (estimate(placed("llama", where, tmp_path), batch) for where in ("here", "disk"))
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)
