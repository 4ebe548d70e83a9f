"""The batch's own clean prompts as reference of one another."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Bool
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side, is_at_last
from headcats.sweeps.given_runs import GivenRun
from headcats.sweeps.intervention import Z
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

NAME = "this batch's clean prompts, same position"


class OwnPrompts(Reference):
    """Clean prompts whose run was given, matched by index: their head outputs are read from it."""

    def __init__(self, runs: BaseRuns) -> None:
        super().__init__(runs.batch.without_roles(), name=NAME)
        self._run = runs.clean

    def mean(
        self,
        model: HookedModel,
        batch: PromptBatch,
        layer: int,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
        side: Side = "clean",
    ) -> Z:
        """See `Reference.mean`."""
        if batch.steps:
            return super().mean(model, batch, layer, mask, first=first, side=side)
        at_last = is_at_last(batch, mask)
        z = self._run.z(layer, first=self._run.continued.length - 1 if at_last else first)
        # Apple's processors have no fp64.
        total = (z.cpu() if z.device.type == "mps" else z).double().sum(0)
        mean = (total / len(batch)).to(z.device, z.dtype)
        return mean.expand(len(batch), mask.shape[1] - first if at_last else len(mean), *mean.shape[1:])

    def _z(self, model: HookedModel, tokens: Tensor, *, source: int, rows: Sequence[int], first: int) -> dict[int, Any]:
        if self.batches[source].steps:
            return super()._z(model, tokens, source=source, rows=rows, first=first)
        return {layer: self._run.z(layer, first=first)[list(rows)] for layer in model.layers}


def reference_of(runs: BaseRuns, reference: "Reference | PromptBatch | Sequence[PromptBatch] | None") -> Reference:
    """The reference that was given, or the batch's own clean prompts, which are run once more unless their run was."""
    if reference is None:
        own = isinstance(runs.clean, GivenRun)
        return OwnPrompts(runs) if own else Reference(runs.batch.without_roles(), name=NAME)
    return reference if isinstance(reference, Reference) else Reference(reference)
