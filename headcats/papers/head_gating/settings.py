"""Constants of Causal Head Gating, and presets."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from headcats.base.errors import OptionError
from headcats.papers.settings import check_at_least

STAGES = ("g0", "g_plus", "g_minus")
N_SEEDS = 10
"""Random starts."""
THRESHOLD = 0.5
"""Score from which a head counts."""
N_EXAMPLES, N_ORDERS = 10, 1
"""Number of questions that are examples for the others, and texts of each, with its options in another order."""


class Stage(NamedTuple):
    """A stage of the fit: lambda of `NLL - lambda * mean_heads clamp(theta)` (`push`), its first and last rate."""

    name: str
    push: float
    rates: tuple[float, float]


@dataclass(frozen=True)
class GatingSettings:
    """Constants of a fit of gates; defaults are the paper's.

    Attributes:
        batch: Texts per update.
        updates: Adam updates per stage.
        first_rates: Learning rate of the first and last update of G0, linear in between.
        later_rates: The same for G+ and G-.
        push: |lambda| of G+ (lambda above 0: gates up) and G- (below 0).
        clamp: theta counts for the push up to this absolute value.
        max_norm: Norm at which the gradient of all gates together is clipped.
        n_texts: Texts per data set in a study, held-out ones included; at least the number of scored prompts per task.
        held_out: Share of the items whose texts are held out, to measure losses on.

    Raises:
        OptionError: A number out of range.

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.

    Example:
        >>> import headcats as hc
        >>> [stage.name for stage in hc.papers.head_gating.GatingSettings(updates=20, batch=32).stages]
        ['g0', 'g_plus', 'g_minus']
    """

    batch: int = 64
    updates: int = 500
    first_rates: tuple[float, float] = (0.1, 0.01)
    later_rates: tuple[float, float] = (0.5, 0.1)
    push: float = 0.1
    clamp: float = 4.0
    max_norm: float = 1.0
    n_texts: int = 2048
    held_out: float = 0.125

    def __post_init__(self) -> None:
        check_at_least(1, self, "batch", "updates", "n_texts")
        if not 0 < self.held_out < 1:
            raise OptionError(f"held_out must be between 0 and 1; got {self.held_out}.")
        for name in ("first_rates", "later_rates"):
            if len(rates := getattr(self, name)) != 2:
                raise OptionError(f"{name} must be two learning rates, of the first and the last update; got {rates}.")
        above = (*self.first_rates, *self.later_rates, self.push, self.clamp, self.max_norm)
        if not all(math.isfinite(number) and number > 0 for number in above):
            raise OptionError(f"Learning rates, push, clamp and max_norm must be finite numbers above 0; got {self}.")

    @property
    def stages(self) -> tuple[Stage, Stage, Stage]:
        """G0, then G+ and G-, both of which start from G0."""
        return (
            Stage("g0", 0.0, self.first_rates),
            Stage("g_plus", self.push, self.later_rates),
            Stage("g_minus", -self.push, self.later_rates),
        )

    def rate(self, update: int, rates: tuple[float, float]) -> float:
        """Learning rate of an update; linear from the first to the last.

        Args:
            update: Number of the update, from 0.
            rates: First and last rate.
        """
        return rates[0] + update / max(1, self.updates - 1) * (rates[1] - rates[0])


PRESETS = {
    "chg2025": GatingSettings(),
    # 150 updates at these rates take theta far beyond the clamp, too.
    "chg-mini": replace(GatingSettings(), batch=32, updates=150),
}
