"""What heads themselves write for the answer over the distractor, read through the frozen final norm."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.models.hooks import hook_after, hook_z, keeping
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.descriptors.paths import DirectPaths


@torch.no_grad()
def direct_logits(
    paths: DirectPaths, batches: Sequence[PromptBatch]
) -> tuple[dict[int, Float[Tensor, " head"]], dict[int, str]]:
    """Layer -> direct logit difference by each head, mean over clean prompts, and layer -> why it has none.

    `(z W_O) N (W_U[answer] - W_U[distractor])` at the last token of the prompt, N the final norm with the scale of this
    run, the answer's first token against the distractor's. One forward pass for each part of a batch.
    """
    circuit, layers, reasons = paths.circuit, paths.layers, dict(paths.without)
    if circuit is None or not layers:
        return {}, reasons
    if isinstance(readout := circuit.readout, str):
        return {}, reasons | dict.fromkeys(layers, readout)
    model = circuit.model
    totals = {layer: torch.zeros(model.n_heads[layer], dtype=torch.float64) for layer in layers}
    last = hook_after(model.n_layers - 1)
    for part in (part for batch in batches for part in batch.in_parts()):
        kept = dict[str, Tensor]()
        hooks = {name: keeping(kept, name, _last_position) for name in (last, *map(hook_z, layers))}
        model.run(part.clean, hooks=hooks)
        answer, distractor = circuit.unembedding_of(torch.stack([part.answer, part.distractor]))
        scale = circuit.final_scale(kept[last]).to(answer)
        direction = readout.factor * readout.norm.read(answer - distractor) / scale[:, None]
        for layer in layers:
            W_O = circuit.W_O(layer)
            read = torch.einsum("hdm,pm->phd", W_O, direction.to(W_O))
            totals[layer] += torch.einsum("phd,phd->h", kept[hook_z(layer)].to(read), read).double().cpu()
    n = sum(map(len, batches))
    return {layer: total / n for layer, total in totals.items()}, reasons


def _last_position(value: Tensor) -> Tensor:
    return value[:, -1].clone()
