"""Quantities over layers and token roles: what each is called, its colours, and what its interval is held against."""

from dataclasses import dataclass

import numpy as np

from headcats.figures.panels.colour_scale import ColourScale, fixed_scale, rising_scale, signed_scale


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


def quantity_scale(values: np.ndarray, quantity: Quantity) -> ColourScale:
    """The colours of a quantity."""
    if quantity.scale == "auc":
        clipped = (bool(np.nanmin(values, initial=1.0) < 0.5), False)
        return fixed_scale((0.5, 1.0), clipped=clipped, colours="Blues", name=quantity.name)
    if quantity.scale == "signed":
        # Nothing lies beyond the limit: a few cells of such a map hold nearly all of the effect.
        return signed_scale(values, name=quantity.name, quantile=1.0)
    return rising_scale(values, colours="Blues", name=quantity.name)
