"""Unpatched runs that the caller has made: what `run_with_cache` of TransformerLens returns."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from headcats.base.errors import DataError
from headcats.metrics.rest import NO_REST
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.hooks import hook_z
from headcats.models.replay.recording import Recording, reads_alike
from headcats.sweeps.intervention import Z
from headcats.sweeps.runs import BaseRuns, Run, Unpatched

_EMBEDDINGS = "hook_embed"


class GivenRun(Run):
    """A run whose logits and head outputs are given: nothing of it is computed again.

    A replay needs keys, values and residual streams beside them: one forward pass, whose logits must be the given ones.
    """

    def __init__(self, model: HookedModel, continued: Continued, *, side: str, given: Any, budget: int) -> None:
        super().__init__(model, continued, budget=budget)
        self._side, self._first = side, 0
        self._given = self._done = _read(model, continued, side, given)

    def keep(self, first: int) -> None:
        """See `Run.keep`: every position is there."""

    def replay(self, first: int) -> None:
        """See `Run.replay`."""
        self._records = self._replays = True
        if first != self._first:
            self._first, self._recordings = first, []

    def z(self, layer: int, *, first: int) -> Z:
        """See `Run.z`."""
        return self._given.z[layer][:, first:]

    def recordings(self, first: int) -> Iterator[tuple[slice, Recording]]:
        """See `Run.recordings`."""
        self.replay(first)
        made = iter(self._recordings or self._record(first))
        if not self._recordings and self._footprint.keeps_recordings(self._budget):
            self._recordings = list(made)
            made = iter(self._recordings)
        for prompts, recording in made:
            expected = self.logits[prompts].to(recording.logits.device)
            if not reads_alike(recording.logits, expected, self.model.dtype):
                difference = float((recording.logits - expected).abs().max())
                raise DataError(
                    f"The {self._side} logits that were given are not those of this model on batch.{self._side}: they "
                    f"differ by {difference:.2g}. Give {self._side}=model.run_with_cache(batch.{self._side})."
                )
            yield prompts, recording


def take_given(runs: BaseRuns, *, clean: Any, corrupted: Any) -> None:
    """Put runs that are given, logits and cache, in the place of those that would be made."""
    for side, given in (("clean", clean), ("corrupted", corrupted)):
        if given is not None:
            continued = getattr(runs, side).continued
            setattr(runs, side, GivenRun(runs.model, continued, side=side, given=given, budget=runs.budget))


def given_sides(runs: BaseRuns) -> str:
    """The runs that were given, such as "clean, corrupted"."""
    return ", ".join(side for side in ("clean", "corrupted") if isinstance(getattr(runs, side), GivenRun))


def _read(model: HookedModel, continued: Continued, side: str, given: Any) -> Unpatched:
    """Last-position logits and head outputs of a pair (logits, cache); a DataError unless it fits the prompts."""
    call = f"{side}=model.run_with_cache(batch.{side})"
    if continued.steps:
        raise DataError(
            f"{side}= takes the run of prompts alone, and answers of several tokens need one behind each answer too: "
            "leave it out."
        )
    if not isinstance(given, tuple) or len(given) != 2:
        raise DataError(f"{side}= takes a pair (logits, cache), as {call} gives it; got a {type(given).__name__}.")
    logits, cache = given
    n, length = continued.prompts.shape
    expected = (n, length, model.d_vocab)
    if not isinstance(logits, Tensor) or logits.ndim != 3 or tuple(logits.shape[:2]) != (n, length):
        came = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise DataError(f"{side} logits must be [prompt, pos, d_vocab], {expected}, as {call} gives them; got {came}.")
    z = {}
    for layer in model.layers:
        name, shape = hook_z(layer), (n, length, model.n_heads[layer], model.d_head[layer])
        if name not in cache:
            raise DataError(
                f"The {side} cache lacks {name!r}: leave names_filter out, or keep all names that end in 'hook_z'."
            )
        if tuple(cache[name].shape) != shape:
            raise DataError(f"{name!r} of the {side} cache must be {shape}; got {tuple(cache[name].shape)}.")
        z[layer] = cache[name].detach()
    if _EMBEDDINGS in cache:
        _check_tokens(model, continued.prompts, cache[_EMBEDDINGS].detach(), side)
    return Unpatched(logits[:, -1].detach().to(model.device, torch.float32), NO_REST, z)


@torch.no_grad()
def _check_tokens(model: HookedModel, prompts: Tensor, embeddings: Tensor, side: str) -> None:
    """A look-up, no forward pass; caches that keep z alone cannot be told from those of other prompts."""
    with model.lock:
        own = model.model.embed(prompts.to(model.device).flatten()[None])
    if own.numel() != embeddings.numel():
        return  # something else goes by this name
    differs = (own.view(*prompts.shape, -1) - embeddings.to(own.device).view(*prompts.shape, -1)).abs().amax((1, 2))
    wrong = (differs > 1e-3 * own.abs().max()).nonzero().flatten().tolist()
    if wrong:
        raise DataError(
            f"The {side} cache is of other tokens than batch.{side} ({len(wrong)} of {len(prompts)} prompts, prompt "
            f"{wrong[0]} first): cache the prompts of the batch, in their order."
        )
