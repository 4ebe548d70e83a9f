"""Interventions on a head: the run they act in and what replaces the head's output."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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

    @property
    @abstractmethod
    def corrupted(self) -> Tensor:
        """Z of the corrupted runs."""

    @property
    @abstractmethod
    def second(self) -> Tensor:
        """Z of the runs of a second, independent corruption of the same queries."""

    @property
    @abstractmethod
    def mean(self) -> Tensor:
        """Mean z of the reference prompts at the role of each token."""

    @property
    @abstractmethod
    def resampled(self) -> Tensor:
        """Z of one reference prompt of another task per prompt, at the role of each token."""

    @property
    @abstractmethod
    def other_item(self) -> Tensor:
        """Z of one reference prompt of the same task with another query per prompt, at the role of each token."""


@dataclass(frozen=True)
class Intervention:
    """Replace one head's output z, before W_O, in one of the two runs.

    Attributes:
        name: Name in results.
        base: Run in which the head is replaced. "corrupted": effect = (patched - corrupted) / gap; "clean": effect =
            (clean - patched) / gap. Either way positive = the head helps the task.
        replacement: What z becomes, given the sources of the layer.
        positions: Where, unless the caller says otherwise: "last", "answer", "all" or a token role.
        uses_reference: Whether the replacement comes from reference prompts (`mean`, `resampled`, `other_item`).
        keeps_agreement: Promise that z stays what it is wherever both runs have the same, as when the one run's z
            replaces the other's. Then nothing before the first differing token is computed. "Both runs" are the base
            run and that of the second corruption for a replacement that uses it.
        uses_second: Whether the replacement reads the second corruption (`second`).
        unprocessed: Whether what it removes depends on weight processing, so that processed weights need a warning.
    """

    name: str
    base: Base
    replacement: Callable[[Sources], Tensor]
    positions: str = "last"
    uses_reference: bool = False
    keeps_agreement: bool = False
    uses_second: bool = False
    unprocessed: bool = False
