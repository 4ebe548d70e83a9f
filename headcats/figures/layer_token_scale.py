"""Quantities over layers and token roles: what each is called, its colours, and what its interval is held against."""

from dataclasses import dataclass

import numpy as np

from headcats.figures.colour_bar import (
    fixed_colour_axis,
    rising_colour_axis,
    rising_limit,
    signed_colour_axis,
)


@dataclass(frozen=True)
class Quantity:
    """How a variable is drawn."""

    name: str
    """Along the colour bar."""
    scale: str
    """"auc": Blues from .5 to 1; "signed": red below 0, blue above; "rising": Blues from 0."""
    interval: tuple[str, str] | None
    """Variables that hold its interval."""
    chance: float
    """What its interval is compared with."""
    title: str
    """Of a map that was given none."""


_PROBE = "Probe for wrong answers"
QUANTITIES = {
    "auc": Quantity("ROC-AUC", "auc", ("low", "high"), 0.5, _PROBE),
    "within_task": Quantity(
        "ROC-AUC within tasks", "auc", ("within_low", "within_high"), 0.5, f"{_PROBE}, within tasks"
    ),
    "shuffled": Quantity(
        "ROC-AUC, shuffled labels",
        "auc",
        ("shuffled_low", "shuffled_high"),
        0.5,
        f"{_PROBE}, shuffled labels",
    ),
    "effect": Quantity("effect (share of the gap)", "signed", ("low", "high"), 0.0, "Effect of patching"),
    "attention": Quantity("mean attention", "rising", None, 0.0, "Mean attention from the last token"),
}


def quantity_colour_axis(
    values: np.ndarray, quantity: Quantity, *, at: tuple[float, float], length: int
) -> tuple[dict[str, object], tuple[float, float]]:
    """The colour axis, and the values between which its colours are light: marks there are black, elsewhere white."""
    if quantity.scale == "auc":
        clipped = (bool(np.nanmin(values, initial=1.0) < 0.5), False)
        axis = fixed_colour_axis((0.5, 1.0), clipped=clipped, colours="Blues", at=at, length=length, name=quantity.name)
        return axis, (-np.inf, 0.78)
    if quantity.scale == "signed":
        limits = _whole_range(values)
        return signed_colour_axis(limits, at=at, length=length, name=quantity.name), (
            -0.55 * limits[0],
            0.55 * limits[0],
        )
    rising = rising_limit(values)
    return rising_colour_axis(rising, colours="Blues", at=at, length=length, name=quantity.name), (
        -np.inf,
        0.55 * rising[0],
    )


def _whole_range(effects: np.ndarray) -> tuple[float, bool, bool]:
    """Symmetric limit that nothing lies beyond: a few cells of such a map hold nearly all of the effect."""
    sizes = np.abs(effects[np.isfinite(effects)])
    return float(sizes.max(initial=0.0)) or 1.0, False, False
