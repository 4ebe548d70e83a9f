"""What a fast path needs of a model: one unpatched run, kept so that its blocks can be run again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

Rows = Float[Tensor, "prompt _row _pos d_model"]
RowEdit = Callable[[Tensor], Tensor]
"""Gets z `[prompt, row, pos, head, d_head]` of all rows of a block, returns the z to go on with; it may change it."""


class Recording(ABC):
    """One unpatched run of a batch of prompts, from which blocks can be run again on changed residual streams.

    A *row* is one variant of every prompt: the residual stream at positions `first` and later, after some head was
    replaced. Earlier positions are those of the unpatched run, and so are their keys and values: a change at `first`
    cannot reach them. Nothing of the model stays changed, and its lock is held while it computes.

    Attributes:
        tokens: Prompts of one length, without padding.
        first: First position that rows have; `tokens.shape[1] - 1` means the last position only.
        logits: Logits at the last position, fp32.
        z: Layer -> head outputs at positions `first` and later; layers with heads only.
    """

    tokens: Int[Tensor, "prompt all_pos"]
    first: int
    logits: Float[Tensor, "prompt d_vocab"]
    z: Mapping[int, Float[Tensor, "prompt pos head d_head"]]

    @property
    def width(self) -> int:
        """Positions of a row."""
        return self.tokens.shape[1] - self.first

    @abstractmethod
    def block(self, layer: int, rows: Rows | None, *, fresh: int, edit: RowEdit | None, last_only: bool) -> Rows:
        """Run one block on rows that have changed before it and on rows that change in it.

        Args:
            layer: The block.
            rows: Residual stream before the block, of rows that have changed before; None if there are none.
            fresh: Number of rows of the unpatched run to add after them.
            edit: Changes z of all rows, the fresh ones last; None changes nothing. With `last_only` it is given and
                returns the last position only.
            last_only: Give the residual stream at the last position alone: always so for the last block, where no
                other position is read any more. The cost of the other positions is saved where possible.

        Returns:
            Residual stream after the block, `[prompt, row, pos, d_model]`, where `pos` has size 1 if `last_only`.
        """
        ...

    @abstractmethod
    def read(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Logits, in fp32, of residual streams after the last block: the rest of the model's own pass."""
        ...

    @abstractmethod
    def read_some(
        self, residual: Float[Tensor, "prompt row d_model"], ids: Int[Tensor, "prompt token"]
    ) -> Float[Tensor, "prompt row token"] | None:
        """Logits of a few tokens per prompt, in fp32, without those of the rest of the vocabulary.

        None where the model's readout is not a plain unembedding of single tokens (found out on the unpatched run).
        """
        ...


def reads_alike(found: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """Whether a shortcut of the readout gives the logits of the unpatched run, up to rounding of `dtype`."""
    limit = 64 * torch.finfo(dtype).eps * max(1.0, float(expected.abs().max()))
    return bool(((found.float().to(expected.device) - expected).abs() <= limit).all())
