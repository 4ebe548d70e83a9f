"""How the rows of a replay lie in the tensors that a block of a bridge gets, and attention for some of them alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class RowLayout:
    """Rows of `prompts` prompts, of `width` positions each: in the batch, or one after the other in one sequence."""

    prompts: int
    width: int
    one_sequence: bool

    def spread(self, value: Tensor) -> Tensor:
        """`[prompt, row, pos, ...]` of what a block gets or gives."""
        if self.one_sequence:
            return value.unflatten(1, (-1, self.width))
        return value.unflatten(0, (self.prompts, -1))

    def gather(self, value: Tensor) -> Tensor:
        """The reverse of `spread`."""
        return value.flatten(1, 2) if self.one_sequence else value.flatten(0, 1)

    @contextmanager
    def attending(self, attention: nn.Module, rows: int, *, of: Tensor) -> Iterator[None]:
        """Run an attention on the first `rows` rows alone of a residual stream `of` `[prompt, row, pos, d_model]`.

        The block goes on with all of them, so a hook at z has to append the head outputs of the others.
        """
        if rows == of.shape[1]:
            yield
            return
        stream = self.gather(of).shape[:2]

        def narrowed(value: Any) -> Any:
            if isinstance(value, Tensor) and value.ndim == 3 and value.shape[:2] == stream:
                # Contiguous, or each of the projections would copy it.
                return self.gather(self.spread(value)[:, :rows]).contiguous()
            return value

        def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return tuple(map(narrowed, args)), {name: narrowed(value) for name, value in kwargs.items()}

        handle = attention.register_forward_pre_hook(before, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()


def with_fresh(value: Tensor, unpatched: Tensor, fresh: int) -> Tensor:
    """Rows `[prompt, row, pos, ...]`, of which those after the changed ones are `fresh` copies of the unpatched run."""
    return torch.cat([value, unpatched[:, None].expand(-1, fresh, *unpatched.shape[1:])], 1) if fresh else value
