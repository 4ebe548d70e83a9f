"""Interventions on a head: the run they act in, what replaces the head's output, and where."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from jaxtyping import Bool, Float
from torch import Tensor

from headcats.base.errors import OptionError
from headcats.base.registry import check_name

if TYPE_CHECKING:
    from headcats.sweeps.sources import Sources

Z = Float[Tensor, "prompt pos head d_head"]
Base = Literal["clean", "corrupted"]
What = Literal["z", "q", "k", "v", "pattern"]


@dataclass(frozen=True)
class Intervention:
    """Replace one head's output z, before W_O, in one of the two runs: what `hc.sweep` does with every head.

    Effect = (patched - corrupted) / gap if the corrupted run is edited, (clean - patched) / gap if the clean one is:
    positive = the head helps the task. `hc.methods.causal_method` makes it a method that studies know by name.

    Attributes:
        name: Name in results, such as "halved"; see `headcats.base.registry.check_name`.
        base: Run in which the head is replaced, "clean" or "corrupted".
        replacement: What z becomes, given the sources of the layer: `clean`, `corrupted` and `second`, z of these runs;
            `mean`, `resampled` and `other_item`, from the reference prompts. Each is `[prompt, pos, head, d_head]`, in
            the model's dtype, for all heads and for the positions that can change; it may be changed in place.
        positions: Where, unless the caller says otherwise: "last", "answer", "all" or a token role.
        uses_reference: Whether the replacement comes from reference prompts (`mean`, `resampled`, `other_item`).
        keeps_agreement: Promise that z stays what it is wherever both runs (base and second corruption if it is used)
            have the same, as when one z replaces the other. Nothing before the first differing token is computed then.
        uses_second: Whether the replacement reads the second corruption (`second`); every prompt must have one then.
        unprocessed: Whether what it removes depends on weight processing, so that processed weights need a warning.
        what: What is replaced of a head: its output "z"; its query "q", key "k" or value "v" (heads that share keys and
            values share these); or its "pattern", `[prompt, pos, head, key]` after the softmax. All but z take one
            ordinary forward pass per head (path "hooked") and no reference prompts.

    Raises:
        OptionError: Another base, no positions, or a replacement that cannot be called.
        DataError: A name that results cannot hold.

    Example:
        >>> import headcats as hc
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> halfway = hc.Intervention("halfway", "corrupted", lambda z: (z.clean + z.corrupted) / 2)
        >>> ds = hc.sweep(hc.load_model("mini"), batch, halfway)
        >>> ds.attrs["method"], ds.attrs["base"], ds.patched.shape
        ('halfway', 'corrupted', (1, 1, 6, 8))

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, for what can be replaced by what.
    """

    name: str
    base: Base
    replacement: "Callable[[Sources], Tensor]"
    positions: str = "last"
    uses_reference: bool = False
    keeps_agreement: bool = False
    uses_second: bool = False
    unprocessed: bool = False
    what: What = "z"

    def __post_init__(self) -> None:
        check_name("method", self.name)
        if self.base not in ("clean", "corrupted"):
            raise OptionError(
                f"The base of intervention {self.name!r} must be 'clean' or 'corrupted'; got {self.base!r}."
            )
        if self.what not in get_args(What):
            raise OptionError(f"`what` of {self.name!r} must be one of {', '.join(get_args(What))}; got {self.what!r}.")
        if self.what != "z" and self.uses_reference:
            raise OptionError(
                f"Intervention {self.name!r}: means and samples of reference prompts are those of z alone."
            )
        if not callable(self.replacement):
            raise OptionError(
                f"The replacement of intervention {self.name!r} must be a function of the sources of a layer, such as "
                f"lambda z: z.clean / 2; got a {type(self.replacement).__name__}."
            )
        if not isinstance(self.positions, str) or not self.positions:
            raise OptionError(
                f"The positions of intervention {self.name!r} must be 'last', 'answer', 'all', 'each' or a token role; "
                f"got {self.positions!r}."
            )


@dataclass(frozen=True)
class Change:
    """Positions of packed sequences at which z can change (see `Continued`), the same for every prompt."""

    first: int
    """The first of them, at most the last one of the prompts."""
    alone: bool = False
    """True if it is the only one."""

    @classmethod
    def under(cls, mask: Bool[Tensor, "prompt all_pos"], *, first: int) -> "Change":
        """Change under the part of a mask of all packed positions from `first` on."""
        return cls(first, alone=not bool(mask[:, first + 1 :].any()))
