"""Where an intervention changes head outputs."""

from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor


@dataclass(frozen=True)
class Change:
    """Positions of packed sequences at which z can change (see `Continued`), the same for every prompt."""

    first: int
    """The first of them, at most the last one of the prompts."""
    alone: bool = False
    """True if it is the only one."""
    recorded: int | None = None
    """First position of the recordings that are narrowed to `first`; None: they begin at `first`."""

    @property
    def begins(self) -> int:
        """First position of the recordings."""
        return self.first if self.recorded is None else self.recorded

    @classmethod
    def under(cls, mask: Bool[Tensor, "prompt all_pos"], *, first: int) -> "Change":
        """Change under the part of a mask of all packed positions from `first` on."""
        return cls(first, alone=not bool(mask[:, first + 1 :].any()))
