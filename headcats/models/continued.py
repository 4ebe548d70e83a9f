"""Prompts and their continuations, as the rows of a forward pass and packed into one sequence per prompt."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

PADDING = torch.iinfo(torch.int32).min
"""Id of a place in front of a prompt that is shorter than others of its batch; the model does not see it."""


class Standing(NamedTuple):
    """Where the positions of a packed sequence, or some of them, stand in the rows of a forward pass."""

    places: Int[Tensor, " packed"]
    """Position of each one in its row."""
    sees: Bool[Tensor, "packed packed"]
    """Mask of those that each one sees: those before it in its own row, and itself."""

    def at(self, some: slice) -> "Standing":
        """Only some of them, next to each other."""
        return Standing(self.places[some], self.sees[some, some])


def in_order(length: int) -> Standing:
    """Positions one after the other, from the first on."""
    places = torch.arange(length)
    return Standing(places, places <= places[:, None])


@dataclass(frozen=True, eq=False)
class Continued:
    """Prompts `[prompt, pos]`, shorter ones filled up in front, and, where answers have several tokens, what follows.

    An answer of k tokens is scored on one pass over the prompt and its first k - 1 tokens. A prompt is followed by two
    branches `[branch, prompt, step]`, its answer and its distractor, which do not see each other; shorter ones are
    filled up at the end, with any id. As *rows* each branch has a copy of the prompt: `[branch * prompt, pos]`.
    *Packed*, a prompt stands once, followed by its branches: `[prompt, length + branches * steps]`. `predicted` is the
    token whose probability is read at each place of a branch; -1 for none.
    """

    prompts: Int[Tensor, "prompt pos"]
    branches: Int[Tensor, "branch prompt step"]
    predicted: Int[Tensor, "branch prompt step"]

    @classmethod
    def alone(cls, prompts: Int[Tensor, "prompt pos"]) -> "Continued":
        """Prompts that nothing follows."""
        nothing = prompts.new_empty(0, len(prompts), 0)
        return cls(prompts, nothing, nothing)

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def length(self) -> int:
        """Tokens of a prompt."""
        return self.prompts.shape[1]

    @property
    def steps(self) -> int:
        """Tokens of a branch."""
        return self.branches.shape[2]

    @property
    def packed_length(self) -> int:
        """Positions of a packed sequence."""
        return self.length + len(self.branches) * self.steps

    @property
    def tail(self) -> int:
        """Positions, at the end of a packed sequence, that logits are read at: the prompt's last and all after it."""
        return self.packed_length - self.length + 1

    @property
    def rows(self) -> Int[Tensor, "row row_pos"]:
        """Prompts and what comes after them, branch by branch."""
        if not len(self.branches):
            return self.prompts
        copies = self.prompts.expand(len(self.branches), -1, -1)
        return torch.cat([copies, self.branches.to(copies.device)], 2).flatten(0, 1)

    def select(self, prompts: slice | list[int]) -> "Continued":
        """Some of the prompts."""
        return Continued(self.prompts[prompts], self.branches[:, prompts], self.predicted[:, prompts])

    def pack(self, of_rows: Shaped[Tensor, "row kept_pos *rest"]) -> Shaped[Tensor, "prompt kept_packed *rest"]:
        """Values at the last positions of rows, one of the prompt's among them, as values of packed sequences."""
        if not len(self.branches):
            return of_rows
        by_branch = of_rows.unflatten(0, (len(self.branches), -1))
        of_prompt, of_branches = by_branch.split([of_rows.shape[1] - self.steps, self.steps], 2)
        return torch.cat([of_prompt[0], of_branches.transpose(0, 1).flatten(1, 2)], 1)

    def unpack(self, packed: Shaped[Tensor, "prompt kept_packed *rest"]) -> Shaped[Tensor, "row kept_pos *rest"]:
        """The reverse of `pack`: every branch gets the values of the prompt and its own."""
        if not len(self.branches):
            return packed
        width = packed.shape[1] - len(self.branches) * self.steps
        of_prompt, *of_branches = packed.split([width, *[self.steps] * len(self.branches)], 1)
        return torch.cat([torch.cat([of_prompt, branch], 1) for branch in of_branches])

    @property
    def standing(self) -> Standing:
        """Where packed positions stand in rows."""
        after = torch.arange(self.length, self.length + self.steps)
        places = torch.cat([torch.arange(self.length), after.repeat(len(self.branches))])
        branch = torch.cat(
            [torch.zeros(self.length), torch.arange(1, len(self.branches) + 1).repeat_interleave(self.steps)]
        )
        together = (branch == 0) | (branch == branch[:, None])
        return Standing(places, together & (places <= places[:, None]))
