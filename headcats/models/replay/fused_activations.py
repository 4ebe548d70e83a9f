"""Activations that transformers writes out as a formula of many passes, computed in one while blocks are replayed.

GELU by its formula is a tenth of a replay of GPT-2. PyTorch has the same function in one pass, equal up to rounding.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

_TANH_GELU = (NewGELUActivation, FastGELUActivation)


def written_out(block: nn.Module) -> list[nn.Module]:
    """Modules of a block that `fused` can replace; none whose `forward` is already replaced."""
    return [module for module in block.modules() if type(module) in _TANH_GELU and "forward" not in vars(module)]


@contextmanager
def fused(activations: Iterable[nn.Module]) -> Iterator[None]:
    """Compute modules of `written_out` in one pass, with their hooks; hold the model's lock meanwhile.

    Only in fp32: in 16 bits the formula rounds after each pass, and one of the two has a constant of ten digits.
    """
    replaced: list[Any] = [module for module in activations if "forward" not in vars(module)]
    try:
        for module in replaced:
            module.forward = partial(_tanh_gelu, module)
        yield
    finally:
        for module in replaced:
            vars(module).pop("forward", None)


def _tanh_gelu(module: nn.Module, x: Tensor) -> Tensor:
    if x.dtype == torch.float32:
        return F.gelu(x, approximate="tanh")
    return type(module).forward(module, x)
