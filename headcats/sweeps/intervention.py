"""What is done to a head: which run it happens in, and what replaces the head's output."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Z = Float[Tensor, "prompt pos head d_head"]
Base = Literal["clean", "corrupted"]


class Sources(ABC):
    """Head outputs of one layer that a replacement can be made of, each `[prompt, pos, head, d_head]`.

    `pos` runs over the positions that can change: from the first such one to the last. Which one that is depends on
    the prompts, so a replacement treats all positions alike; where it acts is said by `positions`.
    """

    @property
    @abstractmethod
    def clean(self) -> Tensor:
        """Z of the clean runs."""
        ...

    @property
    @abstractmethod
    def corrupted(self) -> Tensor:
        """Z of the corrupted runs."""
        ...

    @property
    @abstractmethod
    def mean(self) -> Tensor:
        """Mean z of the reference prompts at the role of each token."""
        ...

    @property
    @abstractmethod
    def resampled(self) -> Tensor:
        """Z of one reference prompt of another task per prompt, at the role of each token."""
        ...


@dataclass(frozen=True)
class Intervention:
    """Replace one head's output z, before W_O, in one of the two runs.

    Attributes:
        name: Name in results.
        base: Run in which the head is replaced. "corrupted": effect = (patched - corrupted) / gap; "clean": effect =
            (clean - patched) / gap. Either way positive = the head helps the task.
        replacement: What z becomes, given the sources of the layer.
        positions: Where, unless the caller says otherwise: "last", "all" or a token role.
        uses_reference: Whether the replacement comes from reference prompts (`mean`, `resampled`).
    """

    name: str
    base: Base
    replacement: Callable[[Sources], Tensor]
    positions: str = "last"
    uses_reference: bool = False

    @cached_property
    def keeps_agreement(self) -> bool:
        """Whether z stays what it is where it is the same in both runs: nothing changes before the runs differ.

        Asked of the replacement itself, on random values that both runs share; False in doubt, which is always right.
        """
        draws = torch.Generator().manual_seed(0)
        value = torch.randn(3, 2, 2, 4, generator=draws)
        try:
            return torch.equal(self.replacement(_Agreeing(value)), value)
        except Exception:  # noqa: BLE001 - a replacement may be made for the shapes of one model only
            return False


class _Agreeing(Sources):
    """Sources of two runs with the same z, and no reference that could be the same by chance."""

    def __init__(self, value: Tensor) -> None:
        self._value = value

    @property
    def clean(self) -> Tensor:
        return self._value.clone()

    @property
    def corrupted(self) -> Tensor:
        return self._value.clone()

    @property
    def mean(self) -> Tensor:
        return torch.full_like(self._value, float("nan"))

    @property
    def resampled(self) -> Tensor:
        return self.mean
