"""The unpatched runs of a batch, made once and shared by every intervention on it."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.metrics import Targets
from headcats.models import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.intervention import Sources, Z
from headcats.sweeps.reference import Reference


@dataclass
class BaseRuns:
    """Clean and corrupted runs of one batch: last-position logits (fp32) and z of every layer.

    Attributes:
        model: The model.
        batch: The prompts.
    """

    model: HookedModel
    batch: PromptBatch

    @cached_property
    def clean(self) -> tuple[Float[Tensor, "prompt vocab"], dict[int, Z]]:
        """Logits and layer -> z of the clean prompts."""
        return self.model.capture(self.batch.clean)

    @cached_property
    def corrupted(self) -> tuple[Float[Tensor, "prompt vocab"], dict[int, Z]]:
        """Logits and layer -> z of the corrupted prompts."""
        return self.model.capture(self.batch.corrupted)

    @cached_property
    def targets(self) -> Targets:
        """Answers, distractors and clean logits, on the model's device."""
        device = self.model.device
        return Targets(self.batch.answer.to(device), self.batch.distractor.to(device), self.clean[0])


@dataclass
class LayerSources(Sources):
    """The sources of one layer (see `Sources`), taken from the base runs and the reference when asked for."""

    runs: BaseRuns
    layer: int
    reference: Reference
    mask: Bool[Tensor, "prompt pos"]
    donors: dict[int, Z] = field(default_factory=dict)

    @property
    def clean(self) -> Z:
        """Z of the clean runs."""
        return self.runs.clean[1][self.layer]

    @property
    def corrupted(self) -> Z:
        """Z of the corrupted runs."""
        return self.runs.corrupted[1][self.layer]

    @property
    def mean(self) -> Z:
        """Mean z of the reference prompts, by token role."""
        return self.reference.mean(self.runs.model, self.runs.batch, self.layer, self.mask)

    @property
    def resampled(self) -> Z:
        """Z of one reference prompt of another task per prompt, by token role."""
        if not self.donors:
            with torch.no_grad():
                self.donors.update(self.reference.donors(self.runs.model, self.runs.batch, self.mask))
        return self.donors[self.layer]
