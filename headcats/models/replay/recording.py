"""Recordings: one unpatched run of a model, from which fast paths replay its blocks; of either model class."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from headcats.base.errors import ModelError
from headcats.models.continued import Continued

LOGITS_AT_A_TIME = 2**22
"""Numbers that are looked at together: temporaries of more would leave a processor's caches."""

Rows = Float[Tensor, "prompt _row _pos d_model"]
RowEdit = Callable[[Tensor], Tensor]
"""Takes z `[prompt, row, pos, head, d_head]` of all rows of a block and returns the new z; may edit in place."""


class Unreplayable(ModelError):
    """Blocks of this model cannot be replayed, so callers use the hooked path. The text is the reason, as a clause."""


class Recording(ABC):
    """One unpatched run of a batch of prompts, from which blocks can be replayed on changed residual streams.

    A *row* is one variant of every prompt: the residual stream at positions `first` and later, after some head was
    replaced. Earlier positions, with their keys and values, are those of the unpatched run. Positions are those of
    packed sequences (see `Continued`). The model is left unchanged, and its lock is held while it computes.
    """

    continued: Continued  # prompts of one length, without padding, and what follows them
    first: int  # first position that rows have, at most the last one of the prompts
    logits: Float[Tensor, "prompt d_vocab"]  # logits at the last position of the prompts, fp32
    z: Mapping[int, Float[Tensor, "prompt pos head d_head"]]
    """Layer -> head outputs at positions `first` and later; layers with heads only."""
    final: Float[Tensor, "prompt tail d_model"]
    """Residual stream after the last block, at the last position of the prompts and all after it."""
    _model: Any
    _plain = True
    """True if the readout is the last norm and the unembedding alone."""
    _columns: tuple[Tensor, Tensor, Tensor | None] | None = None
    _plain_columns = False

    @property
    def width(self) -> int:
        """Positions of a row."""
        return self.continued.packed_length - self.first

    @abstractmethod
    def block(
        self,
        layer: int,
        rows: Rows | None,
        *,
        fresh: int,
        edit: RowEdit | None,
        last_only: bool,
        width: int | None = None,
    ) -> Rows:
        """Run a block on `rows` that changed before it, and on `fresh` ones that change in it: the residual stream
        after it.

        `edit` changes z of all rows, the fresh ones last. `last_only`: return, and edit, the last position of the
        prompts and those after it alone; always so for the last block. `width`: compute only so many positions, from
        `first` on: all but those of continuations if that is the last one of the prompts; elsewhere one, of fresh rows
        before the last block.
        """

    @abstractmethod
    def entering(self, layer: int) -> Float[Tensor, "prompt pos d_model"]:
        """Residual stream of the unpatched run before a block, at positions `first` and later."""

    @abstractmethod
    def read(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Logits, in fp32, of residual streams after the last block."""

    @torch.no_grad()
    def read_some(
        self, residual: Float[Tensor, "prompt row d_model"], ids: Int[Tensor, "prompt token"]
    ) -> Float[Tensor, "prompt row token"] | None:
        """Logits of a few tokens per prompt only, in fp32; None if the readout is not a plain unembedding."""
        if not self._plain:
            return None
        with self._model.lock:
            if self._columns is None or not torch.equal(self._columns[0], ids):
                self._columns = (ids.clone(), *self._columns_of(ids))
                logits = self._dot(self.final[:, :1], *self._columns[1:])[:, 0]
                expected = self.logits.gather(1, ids.to(self.logits.device))
                self._plain_columns = reads_alike(logits, expected, self._model.dtype)
            return self._dot(residual, *self._columns[1:]) if self._plain_columns else None

    def _columns_of(self, ids: Int[Tensor, "prompt token"]) -> tuple[Tensor, Tensor | None]:
        """Weights and biases of the unembedding of a few tokens per prompt."""
        with self._unembedding() as (weight, bias):
            index = ids.to(weight.device)
            return weight[index], None if bias is None else bias[index]

    @cached_property
    def reads_parts(self) -> bool:
        """True if `log_probs` can be used: the readout is a plain unembedding, whose parts give what the whole does."""
        if not self._plain:
            return False
        likeliest = self.logits.argmax(-1)
        expected = self.logits.log_softmax(-1).gather(1, likeliest[:, None])[:, 0]
        return reads_alike(self.log_probs(self.final[:, 0], likeliest), expected, self._model.dtype)

    @torch.no_grad()
    def log_probs(self, residual: Float[Tensor, "row d_model"], tokens: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
        """Log-probability of one token per row, in fp32; a part of the vocabulary is held at a time."""
        with self._model.lock, self._unembedding() as (weight, bias):
            return self._log_probs(self._normed(residual).to(weight), tokens.to(weight.device), weight, bias)

    def _log_probs(self, normed: Tensor, tokens: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        # As many columns of the unembedding at a time as stay in a processor's caches.
        columns = max(1, LOGITS_AT_A_TIME // len(normed))
        of_tokens, totals = torch.full_like(tokens, math.nan, dtype=torch.float32), []
        for start in range(0, len(weight), columns):
            part = slice(start, start + columns)
            logits = functional.linear(normed, weight[part], None if bias is None else bias[part])
            logits = self._capped(logits).float()
            totals.append(logits.logsumexp(-1))
            place = tokens - start
            here = (place >= 0) & (place < logits.shape[1])
            chosen = logits.gather(1, place.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
            of_tokens = torch.where(here, chosen, of_tokens)
        return of_tokens - torch.stack(totals).logsumexp(0)

    @abstractmethod
    def _unembedding(self) -> AbstractContextManager[tuple[Tensor, Tensor | None]]:
        """Weights `[d_vocab, d_model]` and biases of the unembedding, with their values inside."""

    @abstractmethod
    def _normed(self, residual: Tensor) -> Tensor:
        """Residual streams after the last norm, as the unembedding takes them."""

    @abstractmethod
    def _dot(self, residual: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Logits of some columns of the unembedding, with weights `[prompt, token, d_model]`."""

    def _capped(self, logits: Tensor) -> Tensor:
        """Apply the model's soft cap to its logits, in place where possible."""
        return logits


def reads_alike(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """True if logits agree up to rounding of `dtype`."""
    limit = 64 * torch.finfo(dtype).eps * max(1.0, float(expected.abs().max()))
    return bool(((actual.float().to(expected.device) - expected).abs() <= limit).all())


def compact_slice(value: Tensor, positions: slice, axis: int) -> Tensor:
    """Some positions of a tensor, detached; a copy if a view would keep much more memory alive."""
    part = value.detach()[(slice(None),) * axis + (positions,)]
    return part.clone() if 4 * part.numel() * part.itemsize < 3 * part.untyped_storage().nbytes() else part
