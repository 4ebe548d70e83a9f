"""What is left of passes with gradients: nothing; and what they keep is counted without the weights."""

import gc

import pytest
import torch
from toys import Toy, random_tokens, tiny_model

from headcats.models.adapter import adapt
from headcats.models.graphs import counting_kept, leaving_no_graph
from headcats.models.hooks import hook_z


def traced(toy: Toy, n_prompts: int) -> torch.Tensor:
    model, tokens = adapt(toy.model), random_tokens(n_prompts, 7)
    added = torch.zeros(n_prompts, 7, 4, model.d_head[0], requires_grad=True)
    with torch.enable_grad():
        return model.forward(tokens, hooks={hook_z(0): lambda z: z + added})


def graphs() -> int:
    gc.collect()
    return sum(type(one) is torch.Tensor and one.grad_fn is not None for one in gc.get_objects())


def test_gradients_can_be_taken_and_no_graph_stays() -> None:
    """After an error neither."""
    toy = tiny_model("llama")
    before = graphs()
    for context in (torch.no_grad, torch.inference_mode):
        with context(), leaving_no_graph(adapt(toy.model)):
            assert traced(toy, 2).requires_grad

    def failing() -> None:
        with leaving_no_graph(adapt(toy.model)):
            traced(toy, 2)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        failing()
    assert graphs() == before


def test_activations_are_counted_and_weights_are_not(toy: Toy) -> None:
    model, counts = adapt(toy.model), []
    with leaving_no_graph(model):
        for n_prompts in (1, 2, 3):
            with counting_kept(model) as kept:
                traced(toy, n_prompts)
            counts.append(sum(kept.values()))
    assert 0 < counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.05)
    weights = {weight.untyped_storage().data_ptr() for weight in toy.model.parameters()}
    assert not weights & set(kept)
