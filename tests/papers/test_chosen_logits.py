"""Logits at chosen positions against plain transformers, on both classes."""

from typing import Any

import pytest
import torch
from architectures import ARCHITECTURES, tiny_bridge
from toy_cases import TOYS, shared_toy
from toys import Toy, put, random_tokens, tiny_model

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.hooks import hook_z
from headcats.papers.chosen_logits import logits_at

TOLERANCE = 2e-5  # on fp32 log-probabilities, against another implementation
CHOSEN = torch.zeros(3, 9, dtype=torch.bool)
CHOSEN[0, 5] = CHOSEN[0, 8] = CHOSEN[2, 4] = True


@pytest.fixture
def toy() -> Toy:
    return shared_toy()


@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_logits_are_those_of_the_chosen_positions(layout: Any, backend: Any) -> None:
    tokens, toy = random_tokens(3, 9), tiny_model(layout, backend)
    found = logits_at(adapt(toy.model), tokens, CHOSEN, hooks={}).detach()
    with torch.no_grad():
        expected = toy.oracle(tokens).logits[CHOSEN]
    assert found.dtype == torch.float32
    assert (found.log_softmax(-1) - expected.log_softmax(-1)).abs().max() < TOLERANCE
    assert found.untyped_storage().nbytes() == found.numel() * 4


def test_every_architecture_gives_them() -> None:
    tokens = random_tokens(3, 9)
    for name in ARCHITECTURES:
        model = adapt(tiny_bridge(name))
        with torch.no_grad():
            found = logits_at(model, tokens, CHOSEN, hooks={})
        # The last positions of shorter prompts.
        expected = torch.cat([model.logits(tokens[[row], : pos + 1]) for row, pos in CHOSEN.nonzero().tolist()])
        assert (found - expected).abs().max() < 2e-5 * expected.abs().max(), name


def test_logits_before_the_first_are_not_computed(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, seen = random_tokens(3, 9), []
    run = type(toy.model).run_with_hooks

    def watched(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(run(self, *args, **options))
        return seen[-1]

    monkeypatch.setattr(type(toy.model), "run_with_hooks", watched)
    logits_at(adapt(toy.model), tokens, CHOSEN, hooks={})
    assert seen[0].shape[1] == 5
    assert not toy.model.unembed._forward_pre_hooks  # nothing stays behind
    assert adapt(toy.model).logits(tokens).shape == (3, 60)


def test_gradients_reach_the_tensors_of_hooks_at_all_earlier_positions(toy: Toy) -> None:
    tokens, model = random_tokens(3, 9), adapt(toy.model)
    added = torch.zeros(3, 9, 4, model.d_head[0], requires_grad=True)
    with model.lock:
        logits = logits_at(model, tokens, CHOSEN, hooks={hook_z(0): lambda z: z + added})
        (gradient,) = torch.autograd.grad(logits[:, 7].sum(), added)
    size = gradient.abs().sum((2, 3))
    assert (size[0] > 0).all()
    assert (size[1] == 0).all()  # nothing of it is read
    assert (size[2, :5] > 0).all()
    assert (size[2, 5:] == 0).all()


def test_what_is_refused(toy: Toy) -> None:
    model: HookedModel = adapt(toy.model)
    with pytest.raises(DataError, match="all are False"):
        logits_at(model, random_tokens(3, 9), torch.zeros(3, 9, dtype=torch.bool), hooks={})
    with pytest.raises(DataError, match="token id 60"):
        logits_at(model, torch.full((3, 9), 60), CHOSEN, hooks={})
    with pytest.raises(ModelError, match="no hook named"):
        logits_at(model, random_tokens(3, 9), CHOSEN, hooks={"blocks.0.nothing": put(0, 0.0)})
