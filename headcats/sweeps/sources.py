"""New values of z, from the unpatched runs and the reference prompts, at the positions that change."""

from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from headcats.base.errors import ModelError, OptionError
from headcats.base.guard import Guard, is_built_in
from headcats.prompts.alignment import aligned_places, at_places
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side
from headcats.sweeps.donors import Donors
from headcats.sweeps.intervention import Change, Intervention, Z
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns, Run


class Sources:
    """Head outputs of one layer that a replacement can be made of, each `[prompt, pos, head, d_head]`.

    `pos` runs over the positions that can change: from the first such one to the last. Which one that is depends on
    the prompts, so a replacement treats all positions alike; where it acts is said by `positions`.
    """

    def __init__(self, of: "Replacements", layer: int) -> None:
        self._all, self._layer = of, layer

    @property
    def clean(self) -> Z:
        """Z of the clean runs."""
        return self._of("clean")

    @property
    def corrupted(self) -> Z:
        """Z of the corrupted runs."""
        return self._of("corrupted")

    @property
    def second(self) -> Z:
        """Z of the runs of a second, independent corruption of the same queries."""
        if not self._all.intervention.uses_second:
            raise OptionError(
                f"Intervention {self._all.intervention.name!r} reads 'second', which some prompts may lack: they are "
                "looked for if it says so, uses_second=True."
            )
        return self._of("second")

    def _of(self, source: Side) -> Z:
        runs, mask, side = self._all.runs, self._all.whole_mask, self._all.intervention.base
        run: Run = getattr(runs, source)
        width, places = mask.shape[1] - self._all.first, None
        if source != side:
            places = aligned_places(runs.batch, mask, base=side, source=source, tokenizer=runs.model.tokenizer)
        if places is None:
            # A copy: a replacement may write into it.
            return run.z(self._layer, first=run.continued.packed_length - width).clone()
        return at_places(run.z(self._layer, first=0), places, width=width)

    @property
    def mean(self) -> Z:
        """Mean z of the reference prompts at the role of each token."""
        self._check_declared("mean")
        of, runs = self._all, self._all.runs
        mean = of.reference.mean(
            runs.model, runs.batch, self._layer, of.whole_mask, first=of.first, side=of.intervention.base
        )
        return mean.clone() if self._copies else mean

    @property
    def resampled(self) -> Z:
        """Z of one reference prompt of another task per prompt, at the role of each token."""
        return self._donated("another task")

    @property
    def other_item(self) -> Z:
        """Z of one reference prompt of the same task with another query per prompt, at the role of each token."""
        return self._donated("another item")

    @property
    def _copies(self) -> bool:
        return not is_built_in(self._all.intervention.replacement)

    def _check_declared(self, source: str) -> None:
        if not self._all.intervention.uses_reference:
            raise OptionError(
                f"Intervention {self._all.intervention.name!r} reads {source!r}, which comes from reference prompts: "
                "results name them if it says so, uses_reference=True."
            )

    def _donated(self, donors: Donors) -> Z:
        self._check_declared("resampled" if donors == "another task" else "other_item")
        z = self._all.donated(donors)[self._layer]
        return z.clone() if self._copies else z


class Replacements:
    """New z for every head of a model, layer by layer, where `mask` is true of positions `first` and later."""

    def __init__(
        self, runs: BaseRuns, intervention: Intervention, *, reference: Reference, mask: Bool[Tensor, "prompt all_pos"]
    ) -> None:
        self.runs, self.intervention, self.reference, self.whole_mask = runs, intervention, reference, mask
        self.first = first_change(intervention, runs.batch, mask)
        self.change = Change.under(mask, first=self.first)
        self.mask = mask[:, self.first :]
        self._donated: dict[Donors, dict[int, Z]] = {}
        self._new: dict[int, Z] = {}

    def of_layer(self, layer: int) -> Z:
        """New z of all heads of a layer; a ModelError for one of another shape, or that is not finite."""
        if layer not in self._new:
            replacement = self.intervention.replacement
            new = Guard("Method", self.intervention.name, replacement)(replacement, Sources(self, layer))
            new = self._checked(layer, new)
            # Somebody else's may give the same tensor for every layer, and write into it again.
            self._new[layer] = new if is_built_in(replacement) else new.clone()
        return self._new[layer]

    @torch.no_grad()
    def donated(self, donors: Donors) -> dict[int, Z]:
        """Layer -> z of the donors, which are run once."""
        if donors not in self._donated:
            self._donated[donors] = self.reference.donors(
                self.runs.model,
                self.runs.batch,
                self.whole_mask,
                first=self.first,
                of=donors,
                side=self.intervention.base,
            )
        return self._donated[donors]

    def _checked(self, layer: int, new: Any) -> Z:
        model, owner = self.runs.model, f"The replacement of {self.intervention.name!r}"
        expected = (*self.mask.shape, model.n_heads[layer], model.d_head[layer])
        if self.runs.what != "z":
            expected = (*self.mask.shape, *self.runs.base_run(self.intervention.base).z(layer, first=0).shape[2:])
        if not isinstance(new, Tensor) or tuple(new.shape) != expected or new.is_complex():
            came = f"shape {tuple(new.shape)}, {new.dtype}" if isinstance(new, Tensor) else f"a {type(new).__name__}"
            raise ModelError(f"{owner} must give a tensor of z's shape {expected}; got {came}.")
        if not bool(torch.isfinite(new).all()):
            raise ModelError(f"{owner} gives NaN or infinite values in layer {layer}.")
        return new


class AtPosition:
    """The new values of `Replacements` at one position alone."""

    def __init__(self, everywhere: Replacements, position: int) -> None:
        self._everywhere, self._skipped = everywhere, position - everywhere.first
        self.first, self.change = everywhere.first, Change(position, alone=True)
        self.mask = torch.zeros_like(everywhere.mask[:, self._skipped :])
        self.mask[:, 0] = everywhere.mask[:, self._skipped]

    def of_layer(self, layer: int) -> Z:
        """Replacements of a layer at this position and later ones."""
        return self._everywhere.of_layer(layer)[:, self._skipped :]


def expect(runs: BaseRuns, intervention: Intervention, *, first: int, replays: bool) -> None:
    """Announce to the unpatched runs what a sweep needs of them, so that each takes one forward pass."""
    base = runs.base_run(intervention.base)
    other_run = runs.clean if base is runs.corrupted else runs.corrupted
    width = base.continued.packed_length - first
    if replays:
        base.replay(first)
        other_run.record()
    if intervention.uses_second:
        if replays:
            runs.second.record()
        runs.second.keep(max(0, runs.second.continued.packed_length - width))
    elif not intervention.uses_reference:
        other_run.keep(max(0, other_run.continued.packed_length - width))


def first_change(intervention: Intervention, batch: PromptBatch, mask: Bool[Tensor, "prompt all_pos"]) -> int:
    """First position at which an intervention can change anything in any prompt; at most the last one of the prompts.

    The first one that is masked; for interventions between two runs, the first one at which these differ, if that is
    later.
    """
    base: Side = intervention.base
    new: Side = "corrupted" if base == "clean" else "clean"
    if intervention.uses_second:
        new = base if batch.second is None else "second"
    base_tokens, new_tokens = getattr(batch, base), getattr(batch, new)
    last = base_tokens.shape[1] - 1
    masked = min(int(mask.any(0).nonzero()[0]), last)
    if not intervention.keeps_agreement:
        return masked
    if new_tokens.shape != base_tokens.shape or batch.roles_of(base) != batch.roles_of(new):
        return masked
    different = (base_tokens != new_tokens.to(base_tokens.device)).any(0).nonzero()
    return max(masked, int(different[0]) if len(different) else last)
