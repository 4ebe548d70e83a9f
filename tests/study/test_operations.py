"""Operations that plans count, where a literal version takes one head after another and PyTorch counts."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from covering import pairwise
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headcats.models.random_weights import is_gpt2, random_model
from headcats.models.shape import ModelShape
from headcats.sweeps import flops

SHAPES = {
    "gpt2": ModelShape(3, 4, 4, 32, 8, 128, 60, tied=True),
    "llama": ModelShape(3, 4, 2, 32, 16, 64, 60, 3),
}


@torch.no_grad()
def counted(function: Any, *arguments: Any, **options: Any) -> int:
    # The counter does not see into a fused kernel.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        function(*arguments, **options)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", SHAPES)
def test_a_forward_pass(name):
    shape, model = SHAPES[name], random_model(SHAPES[name])
    tokens = torch.ones(3, 10, dtype=torch.long)
    for logits in (1, 10):
        expected = flops.forward(shape, prompts=3, length=10, logits=logits)
        assert counted(model, tokens, logits_to_keep=logits) == expected


@pytest.mark.parametrize(("name", "first", "whole_vocabulary"), pairwise(list(SHAPES), [0, 6, 9], [False, True]))
def test_heads_replaced_from_a_position_on_and_at_it_alone(name, first, whole_vocabulary):
    shape, sizes = SHAPES[name], {"length": 10, "whole_vocabulary": whole_vocabulary}
    onwards, alone = (counted(literal_sweep, shape, first=first, alone=alone, **sizes) for alone in (False, True))
    assert 3 * onwards == flops.suffix(shape, prompts=3, first=first, **sizes)
    assert 3 * alone == flops.one_position(shape, prompts=3, at=first, **sizes)
    if first == 9:
        assert 3 * onwards == flops.last_position(shape, prompts=3, **sizes)


@pytest.mark.parametrize("name", SHAPES)
def test_an_unpatched_run(name):
    """An ordinary forward pass, less what a literal version leaves out in the last block, and the readout's choice."""
    shape, sizes = SHAPES[name], {"prompts": 3, "length": 10}
    whole, one_less = (flops.forward(s, **sizes, logits=0) for s in (shape, replace(shape, n_layers=1)))
    for whole_vocabulary in (False, True):
        last = counted(block, shape, length=10, first=0, last=True)
        last += counted(readout, shape, whole_vocabulary=whole_vocabulary)
        found = flops.unpatched(shape, **sizes, whole_vocabulary=whole_vocabulary)
        assert found == whole - one_less + 3 * last


def literal_sweep(shape: ModelShape, *, length: int, first: int, whole_vocabulary: bool, alone: bool) -> None:
    """One prompt; matrices of the right sizes stand for weights and activations.

    Heads are replaced at `first` and later positions, or at `first` `alone`.
    """
    for layer in range(shape.n_layers):
        for _ in range(shape.n_heads):
            if alone and layer == shape.n_layers - 1 and first < length - 1:
                continue  # nobody reads what is written there
            rows = 1 if alone or layer == shape.n_layers - 1 else length - first
            mlp(shape, torch.ones(rows, shape.d_head) @ torch.ones(shape.d_head, shape.d_model))
            for later in range(layer + 1, shape.n_layers):
                block(shape, length=length, first=first, last=later == shape.n_layers - 1)
            readout(shape, whole_vocabulary=whole_vocabulary)


def block(shape: ModelShape, *, length: int, first: int, last: bool) -> None:
    """One block on the positions from `first` on; the last block is read at the last position."""
    d, width, kv = shape.d_model, shape.n_heads * shape.d_head, shape.n_kv_heads * shape.d_head
    x = torch.ones(length - first, d)
    read = x[-1:] if last else x
    x @ torch.ones(d, kv), x @ torch.ones(d, kv), read @ torch.ones(d, width)
    for _ in range(shape.n_heads):
        scores = torch.ones(len(read), shape.d_head) @ torch.ones(shape.d_head, length)
        scores @ torch.ones(length, shape.d_head)
    mlp(shape, torch.ones(len(read), width) @ torch.ones(width, d))


def mlp(shape: ModelShape, x: torch.Tensor) -> None:
    for _ in range(1 if is_gpt2(shape) else 2):
        hidden = x @ torch.ones(shape.d_model, shape.d_mlp)
    hidden @ torch.ones(shape.d_mlp, shape.d_model)


def readout(shape: ModelShape, *, whole_vocabulary: bool) -> None:
    torch.ones(1, shape.d_model) @ torch.ones(shape.d_model, shape.d_vocab if whole_vocabulary else 2)
