"""New values of z, from the unpatched runs and the reference prompts, at the positions that change."""

import torch
from jaxtyping import Bool
from torch import Tensor

from headcats.errors import ModelError
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.intervention import Intervention, Sources, Z
from headcats.sweeps.reference import Donors, Reference
from headcats.sweeps.runs import BaseRuns


class _LayerSources(Sources):
    """The sources of one layer (see `Sources`) at positions `first` and later, computed when asked for."""

    def __init__(
        self,
        runs: BaseRuns,
        layer: int,
        reference: Reference,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
        donors: dict[tuple[str, int], Z] | None = None,
    ) -> None:
        self._runs = runs
        self._layer = layer
        self._reference = reference
        self._mask = mask
        self._first = first
        self._donors: dict[tuple[str, int], Z] = {} if donors is None else donors

    @property
    def clean(self) -> Z:
        return self._runs.clean.z(self._layer, first=self._first).clone()  # a replacement may write into it

    @property
    def corrupted(self) -> Z:
        return self._runs.corrupted.z(self._layer, first=self._first).clone()

    @property
    def second(self) -> Z:
        return self._runs.second.z(self._layer, first=self._first).clone()

    @property
    def mean(self) -> Z:
        return self._reference.mean(self._runs.model, self._runs.batch, self._layer, self._mask, first=self._first)

    @property
    def resampled(self) -> Z:
        return self._donated("another task")

    @property
    def other_item(self) -> Z:
        return self._donated("another item")

    def _donated(self, of: Donors) -> Z:
        if (of, self._layer) not in self._donors:
            runs = self._runs
            with torch.no_grad():
                donated = self._reference.donors(runs.model, runs.batch, self._mask, first=self._first, of=of)
            self._donors.update({(of, layer): z for layer, z in donated.items()})
        return self._donors[of, self._layer]


class Replacements:
    """New values of z for every head of a model, layer by layer.

    Attributes:
        first: First position that can change; earlier ones are those of the unpatched run.
        mask: Where z is replaced, at positions `first` and later.
    """

    def __init__(
        self, runs: BaseRuns, intervention: Intervention, *, reference: Reference, mask: Bool[Tensor, "prompt all_pos"]
    ) -> None:
        self.first = first_change(intervention, runs.batch, mask)
        self.mask = mask[:, self.first :]
        self._runs = runs
        self._intervention = intervention
        self._reference = reference
        self._whole_mask = mask
        self._donors: dict[tuple[str, int], Z] = {}
        self._made: dict[int, Z] = {}

    def of_layer(self, layer: int) -> Z:
        """New z of all heads of a layer.

        Raises:
            ModelError: The replacement has another shape than z.
        """
        if layer not in self._made:
            model = self._runs.model
            new = self._intervention.replacement(
                _LayerSources(
                    self._runs, layer, self._reference, self._whole_mask, first=self.first, donors=self._donors
                )
            )
            expected = (*self.mask.shape, model.n_heads[layer], model.d_head[layer])
            if tuple(new.shape) != expected:
                raise ModelError(f"A replacement must have z's shape {expected}; got {tuple(new.shape)}.")
            self._made[layer] = new
        return self._made[layer]


def expect(runs: BaseRuns, intervention: Intervention, *, first: int, replays: bool) -> None:
    """Announce to the unpatched runs what a sweep needs of them, so that each takes one forward pass."""
    base = runs.base_run(intervention.base)
    other_run = runs.clean if base is runs.corrupted else runs.corrupted
    if replays:
        base.replay(first)
        other_run.record()
    if intervention.uses_second:
        if replays:
            runs.second.record()
        runs.second.keep(first)
    elif not intervention.uses_reference:
        other_run.keep(first)


def first_change(intervention: Intervention, batch: PromptBatch, mask: Bool[Tensor, "prompt all_pos"]) -> int:
    """First position at which an intervention can change anything in any prompt.

    The first one that is masked; for interventions between two runs, the first one at which these differ, if that is
    later: before it the head outputs of both runs are the same, because models look back only.
    """
    masked = int(mask.any(0).nonzero()[0])
    if not intervention.keeps_agreement:
        return masked
    base_tokens, new_tokens = batch.clean, batch.corrupted
    if intervention.uses_second:
        base = batch.corrupted if intervention.base == "corrupted" else batch.clean
        base_tokens, new_tokens = base, base if batch.second is None else batch.second
    different = (base_tokens != new_tokens.to(base_tokens.device)).any(0).nonzero()
    return max(masked, int(different[0]) if len(different) else batch.length - 1)
