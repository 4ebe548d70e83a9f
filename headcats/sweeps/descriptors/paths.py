"""The direct paths of a model: from a token's embedding through a head, and from a head to the logits."""

from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.additive import not_additive
from headcats.models.circuit import Circuit
from headcats.results.finding import line

# A few tokens, the last of which has others to look at.
_LENGTH = 8


class DirectPaths(NamedTuple):
    """The weights on these paths, None where they cannot be read, and layer -> why its heads have no path."""

    circuit: Circuit | None
    without: dict[int, str]

    @property
    def layers(self) -> list[int]:
        """Layers whose heads add what they write to the residual stream."""
        return [] if self.circuit is None else [layer for layer in self.circuit.layers if layer not in self.without]


def direct_paths(model: HookedModel, tokens: Int[Tensor, "prompt pos"]) -> DirectPaths:
    """Checked on the beginning of two prompts, and on two tokens: three forward passes."""
    try:
        circuit = Circuit(model)
        _ = circuit.readout, circuit.reads_embeddings  # computed here, for errors of weights that are elsewhere
    except (ModelError, RuntimeError) as error:  # torch, of weights that are kept on the disk
        return DirectPaths(None, dict.fromkeys(model.layers, f"weights cannot be read: {error}"))
    notes = not_additive(model, tokens[:, :_LENGTH], model.layers)
    # Without the numbers of each layer: they are the same reason for many.
    reasons = {layer: line("direct.no_path") for layer in notes}
    reasons |= {
        layer: line("direct.no_check", **note.fields) for layer, note in notes.items() if "error" in note.fields
    }
    return DirectPaths(circuit, {layer: str(reason) for layer, reason in reasons.items()})
