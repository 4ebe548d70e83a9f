"""Causal methods: an intervention that is also a plain function, and that a study can run on a task."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcats.base.errors import OptionError
from headcats.base.guard import function_name
from headcats.base.registry import register
from headcats.methods.causal.method import CausalMethod
from headcats.results.declaration import Declaration, Strength

if TYPE_CHECKING:
    from torch import Tensor

    from headcats.sweeps.sources import Sources
else:
    # Files of methods name these two and are read without torch.
    Sources = Tensor = Any

__all__ = ["CausalMethod", "Sources", "Tensor", "causal_method"]

_COST = "one patched run per head and prompt; on fast paths a part of it"


def causal_method(
    *,
    base: str,
    positions: str,
    references: tuple[str, ...] = (),
    keeps_agreement: bool = False,
    uses_second: bool = False,
    what: str = "z",
    declares: Declaration | None = None,
) -> "Callable[[Callable[[Sources], Tensor]], CausalMethod]":
    """Decorator: turn `replacement(sources) -> z` into a registered causal method of the function's name.

    Args:
        base: Run in which heads are replaced, "clean" or "corrupted".
        positions: Where by default: "last", "answer", "all" or a token role.
        references: Reference prompts that a study can give it ("suite", "task", "corrupted", "other_tasks",
            "other_items"), the default first; empty for none.
        keeps_agreement: See `Intervention`.
        uses_second: See `Intervention`.
        what: See `Intervention`.
        declares: What else the method declares; its name, its strength (the effect) and its cost are filled in.

    Returns:
        The decorator; it makes a `CausalMethod` of the function.

    Raises:
        OptionError: Another base, no positions, or a function without a name.
        DataError: A name that cannot be one of results or files.

    Example:
        >>> import headcats as hc
        >>> @hc.methods.causal_method(base="clean", positions="last")
        ... def half_ablation(sources):
        ...     return sources.clean / 2
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> hc.sweep(hc.load_model("mini"), batch, "half_ablation").patched.shape
        (1, 1, 6, 8)

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, for what can be replaced by what.
    """
    if base not in ("clean", "corrupted"):
        raise OptionError(f"base must be 'clean' or 'corrupted'; got {base!r}.")
    if not isinstance(positions, str) or not positions:
        raise OptionError(f"positions must be 'last', 'all' or a token role; got {positions!r}.")

    def decorate(replacement: "Callable[[Sources], Tensor]") -> CausalMethod:
        name, about = function_name("method", replacement), declares or Declaration()
        strength, cost = about.strength or Strength(), about.cost or _COST
        method = CausalMethod(
            replacement,
            declaration=replace(about, name=name, strength=strength, cost=cost),
            references=references,
            base=base,
            positions=positions,
            keeps_agreement=keeps_agreement,
            uses_second=uses_second,
            what=what,
        )
        return register("method", method.name, method)

    return decorate
