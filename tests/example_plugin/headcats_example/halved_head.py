"""A method that scores task by task: one intervention on z, and a preset that runs it."""

from typing import TYPE_CHECKING

from headcats.methods import Declaration, Sources, add_preset, causal_method

if TYPE_CHECKING:  # whoever lists methods need not wait for torch
    from torch import Tensor


@causal_method(
    base="clean",
    positions="last",
    declares=Declaration(figure="layer_means", paper="an example", cost="one sweep per task"),
)
def halved_head(sources: Sources) -> "Tensor":
    """In the clean run, halve z of one head.

    Effect = (clean - patched) / gap, averaged over prompts; positive = the head helps.
    """
    return sources.clean / 2


add_preset("halves", "an example", {"methods": (halved_head.name,), "n_prompts": 8})
