"""Operations of sweeps by formula: where a literal version takes one head after another, PyTorch counts."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from covering import pairwise
from random_weights import is_gpt2, random_hooked_model, random_model
from sweep_speed.sides import one_position
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headcats.prompts.batch import PromptBatch
from headcats.scale import costs
from headcats.scale.shape import ModelShape
from headcats.sweeps.batch_sweep import sweep

SHAPES = {"gpt2": ModelShape(3, 4, 4, 32, 8, 128, 60, tied=True), "llama": ModelShape(3, 4, 2, 32, 16, 64, 60, 3)}
SIZES: dict[str, Any] = {"prompts": 3, "length": 10}
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@torch.no_grad()
def counted(function: Any, *arguments: Any, **options: Any) -> int:
    # The counter does not see into a fused kernel.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        function(*arguments, **options)
    return counter.get_total_flops()


@each_shape
def test_a_forward_pass(shape: ModelShape) -> None:
    model, tokens = random_model(shape), torch.ones(3, 10, dtype=torch.long)
    angles = 0  # of the rotation: a matrix product in older versions of transformers, and none of the forward pass's
    if rotary := getattr(model.base_model, "rotary_emb", None):
        angles = counted(rotary, torch.ones(3, 10, 32), torch.arange(10)[None])
    for logits in (1, 10):
        done = counted(model, tokens, logits_to_keep=logits) - angles
        assert done == costs.forward(shape, **SIZES, logits=logits)


@pytest.mark.parametrize(("name", "first", "whole_vocabulary"), pairwise(list(SHAPES), [0, 6, 9], [False, True]))
def test_heads_replaced_from_a_position_on_and_at_it_alone(name: str, first: int, whole_vocabulary: bool) -> None:
    shape, options = SHAPES[name], {"whole_vocabulary": whole_vocabulary}
    onwards, alone = (counted(literal_sweep, shape, first=first, alone=alone, **options) for alone in (False, True))
    assert 3 * onwards == costs.swept(shape, **SIZES, first=first, **options)
    assert 3 * alone == one_position(shape, **SIZES, at=first, **options)


@each_shape
def test_an_unpatched_run(shape: ModelShape) -> None:
    """An ordinary forward pass, less what a literal version leaves out in the last block, and the readout's choice."""
    whole, one_less = (costs.forward(s, **SIZES, logits=0) for s in (shape, replace(shape, n_layers=1)))
    for whole_vocabulary in (False, True):
        last = counted(block, shape, length=10, first=0, last=True)
        last += counted(readout, shape, whole_vocabulary=whole_vocabulary)
        found = costs.unpatched(shape, **SIZES, whole_vocabulary=whole_vocabulary)
        assert found == whole - one_less + 3 * last


@each_shape
def test_answers_of_several_tokens(shape: ModelShape) -> None:
    """Both answers of a prompt, token by token, in every block of an unpatched run and in those behind a head."""
    tokens = sum(counted(block, shape, length=length, first=length - 1, last=False) for length in (11, 12))
    read = counted(readout, shape, whole_vocabulary=True)
    unpatched = costs.unpatched(shape, **SIZES, whole_vocabulary=False)
    both = costs.unpatched(shape, **SIZES, whole_vocabulary=False, steps=2)
    assert both == unpatched + 3 * 2 * (3 * tokens + 2 * read)
    behind = 4 * (2 + 1 + 0)  # heads of the first, second and third block
    last = SIZES | {"first": 9, "whole_vocabulary": False}
    swept = costs.swept(shape, **last)
    assert costs.swept(shape, **last, steps=2) == swept + 3 * 2 * (behind * tokens + 12 * 2 * read)


def test_of_a_bridge_at_all_positions() -> None:
    """Within 3 %: left out are a row through the attention where a walk begins, and the look at the readout."""
    shape = ModelShape(4, 12, 12, 192, 16, 768, 500, name="small")
    model = random_hooked_model(shape, "bridge")
    clean = torch.randint(1, 500, (8, 20), generator=torch.Generator().manual_seed(0))
    ones = torch.ones(8, dtype=torch.long)
    batch = PromptBatch.from_tokens(clean, 1 + clean % 499, ones, ones + 1)
    sweep(model, batch, "denoising_patch", positions="all")  # with the check of the path
    sizes = {"prompts": 8, "length": 20}
    expected = 2 * costs.unpatched(shape, **sizes, whole_vocabulary=True)
    expected += costs.swept(shape, **sizes, first=0, whole_vocabulary=False)
    expected += costs.bridge_extras(shape, **sizes, first=0)
    assert expected == pytest.approx(counted(sweep, model, batch, "denoising_patch", positions="all"), rel=0.03)


def literal_sweep(shape: ModelShape, *, first: int, whole_vocabulary: bool, alone: bool) -> None:
    """One prompt; matrices of the right sizes stand for weights and activations.

    Heads are replaced at `first` and later positions, or at `first` `alone`.
    """
    length = SIZES["length"]
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
