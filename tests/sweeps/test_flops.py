"""Operations of sweeps by formula, where PyTorch counts what is done."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headcats.models.random_weights import random_hooked_model
from headcats.models.shape import ModelShape
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import flops
from headcats.sweeps.batch_sweep import sweep

N_PROMPTS, LENGTH = 8, 20


def test_operations_of_a_bridge_at_all_positions_are_counted() -> None:
    """Within 3 %: left out are a row through the attention where a walk begins, and the look at the readout."""
    shape = ModelShape(4, 12, 12, 192, 16, 768, 500, name="small")
    model = random_hooked_model(shape, "bridge")
    clean = torch.randint(1, 500, (N_PROMPTS, LENGTH), generator=torch.Generator().manual_seed(0))
    ones = torch.ones(N_PROMPTS, dtype=torch.long)
    batch = PromptBatch.from_tokens(clean, 1 + clean % 499, ones, ones + 1)
    sweep(model, batch, "denoising_patch", positions="all")  # with the check of the path
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        sweep(model, batch, "denoising_patch", positions="all")
    sizes = {"prompts": N_PROMPTS, "length": LENGTH}
    counted = 2 * flops.unpatched(shape, **sizes, whole_vocabulary=True)
    counted += flops.suffix(shape, **sizes, first=0, whole_vocabulary=False)
    counted += flops.fresh_rows(shape, **sizes, first=0)
    counted += flops.unread_queries(shape, **sizes, first=0)
    assert counted == pytest.approx(counter.get_total_flops(), rel=0.03)
