"""New values of z, from the unpatched runs and the reference prompts, at the positions that change."""

from functools import partial
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from headcats.base.errors import ModelError, OptionError
from headcats.base.guard import Guard, is_built_in
from headcats.prompts.alignment import aligned_places, at_places
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side
from headcats.sweeps.change import Change
from headcats.sweeps.donors import Donors
from headcats.sweeps.intervention import Intervention, Sources, Z
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns, Run


class _LayerSources(Sources):
    """The sources of one layer (see `Sources`) at positions `first` and later of the base run, made when asked for."""

    def __init__(
        self,
        runs: BaseRuns,
        layer: int,
        reference: Reference,
        mask: Bool[Tensor, "prompt all_pos"],
        *,
        first: int = 0,
        donors: dict[tuple[str, int], Z] | None = None,
        side: Side = "clean",
        of: Intervention | None = None,
    ) -> None:
        self._intervention, self._copies = of, of is not None and not is_built_in(of.replacement)
        self._runs, self._layer, self._reference, self._mask, self._first = runs, layer, reference, mask, first
        self._width, self._side = mask.shape[1] - first, side
        self._donors: dict[tuple[str, int], Z] = {} if donors is None else donors

    @property
    def clean(self) -> Z:
        return self._of("clean")

    @property
    def corrupted(self) -> Z:
        return self._of("corrupted")

    @property
    def second(self) -> Z:
        if self._intervention is not None and not self._intervention.uses_second:
            raise OptionError(
                f"Intervention {self._intervention.name!r} reads 'second', which some prompts may lack: they are "
                "looked for if it says so, uses_second=True."
            )
        return self._of("second")

    def _of(self, source: Side) -> Z:
        run: Run = getattr(self._runs, source)
        places = None
        if source != self._side:
            runs = self._runs
            places = aligned_places(
                runs.batch, self._mask, base=self._side, source=source, tokenizer=runs.model.tokenizer
            )
        if places is None:
            # A copy: a replacement may write into it.
            return run.z(self._layer, first=run.continued.packed_length - self._width).clone()
        return at_places(run.z(self._layer, first=0), places, width=self._width)

    @property
    def mean(self) -> Z:
        self._check_declared("mean")
        mean = self._reference.mean(
            self._runs.model, self._runs.batch, self._layer, self._mask, first=self._first, side=self._side
        )
        return mean.clone() if self._copies else mean

    @property
    def resampled(self) -> Z:
        return self._donated("another task")

    @property
    def other_item(self) -> Z:
        return self._donated("another item")

    def _check_declared(self, source: str) -> None:
        if self._intervention is not None and not self._intervention.uses_reference:
            raise OptionError(
                f"Intervention {self._intervention.name!r} reads {source!r}, which comes from reference prompts: "
                "results name them if it says so, uses_reference=True."
            )

    def _donated(self, of: Donors) -> Z:
        self._check_declared("resampled" if of == "another task" else "other_item")
        if (of, self._layer) not in self._donors:
            model, batch = self._runs.model, self._runs.batch
            with torch.no_grad():
                donated = self._reference.donors(model, batch, self._mask, first=self._first, of=of, side=self._side)
            self._donors.update({(of, layer): z for layer, z in donated.items()})
        z = self._donors[of, self._layer]
        return z.clone() if self._copies else z


class Replacements:
    """New values of z for every head of a model, layer by layer, where `mask` is true of positions `first` and later.

    No earlier position can change.
    """

    def __init__(
        self, runs: BaseRuns, intervention: Intervention, *, reference: Reference, mask: Bool[Tensor, "prompt all_pos"]
    ) -> None:
        self.first = first_change(intervention, runs.batch, mask)
        self.change = Change.under(mask, first=self.first)
        self.mask = mask[:, self.first :]
        self._sources = partial(
            _LayerSources,
            runs,
            reference=reference,
            mask=mask,
            first=self.first,
            donors={},
            side=intervention.base,
            of=intervention,
        )
        self._model, self._intervention = runs.model, intervention
        self._new: dict[int, Z] = {}

    def of_layer(self, layer: int) -> Z:
        """New z of all heads of a layer; a ModelError for one of another shape, or that is not finite."""
        if layer not in self._new:
            replacement = self._intervention.replacement
            new = Guard("Method", self._intervention.name, replacement)(replacement, self._sources(layer))
            new = self._checked(layer, new)
            # Somebody else's may give the same tensor for every layer, and write into it again.
            self._new[layer] = new if is_built_in(replacement) else new.clone()
        return self._new[layer]

    def _checked(self, layer: int, new: Any) -> Z:
        expected = (*self.mask.shape, self._model.n_heads[layer], self._model.d_head[layer])
        owner = f"The replacement of {self._intervention.name!r}"
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
        self.change = Change(position, alone=True, recorded=everywhere.first)
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
    later: before it the head outputs of both runs are the same, because models look back only.
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
