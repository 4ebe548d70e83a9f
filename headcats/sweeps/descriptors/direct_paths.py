"""The direct paths of a model: from a token's embedding through a head (copying), and from a head to the logits."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import HeadcatsError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.checks import noise_floor
from headcats.models.circuit import Circuit
from headcats.models.head import Head
from headcats.models.hooks import Edit, hook_after, hook_before, hook_z, keeping
from headcats.prompts.batch import PromptBatch
from headcats.results.finding import Finding, line

# A few tokens, the last of which has others to look at.
_LENGTH = 8
# Tokens at once.
_CHUNK = 4096
# Of sums in fp32; those of the bundled models' heads are 1e5 times larger.
_ROUNDING = 1e-6
_CHECKED_PROMPTS = 2


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


@torch.no_grad()
def copying_scores(paths: DirectPaths) -> tuple[dict[int, Float[Tensor, " head"]], dict[int, str]]:
    """Layer -> score of each head, and layer -> why it, or one of its heads, has none.

    `M = W_E N_1 W_V W_O N_f W_U` of a head, with the norms before the attention and at the end without their scales,
    has rank d_head, so its eigenvalues other than 0 are those of `W_O (N_f W_U W_E N_1) W_V`, whose middle all heads
    share.
    """
    circuit, layers, reasons = paths.circuit, paths.layers, dict(paths.without)
    if circuit is None:
        return {}, reasons
    if isinstance(readout := circuit.readout, str):
        return {}, reasons | dict.fromkeys(layers, readout)
    if not circuit.reads_embeddings:
        return {}, reasons | dict.fromkeys(layers, "the residual stream begins with something else than embeddings")
    scores, product = dict[int, Tensor](), None
    for layer in layers:
        norm = circuit.attention_norm(layer)
        if isinstance(norm, str):
            reasons[layer] = norm
            continue
        product = _unembedding_by_embedding(circuit) if product is None else product
        # Rows are what is written, columns what is read.
        middle = norm.linear(readout.norm.read(product.T).T)
        values, W_O = circuit.values(middle, layer=layer), circuit.W_O(layer)
        inner = torch.bmm(W_O.to(values), values).double().cpu()
        try:
            # Not by torch, which does not converge on an exact permutation.
            eigenvalues = np.linalg.eigvals(inner.numpy())
        except np.linalg.LinAlgError as error:
            reasons[layer] = f"its eigenvalues cannot be computed ({error})"
            continue
        sizes = np.abs(eigenvalues).sum(-1)
        rounding = _ROUNDING * (W_O.norm(dim=(1, 2)) * values.norm(dim=(1, 2)).to(W_O)).cpu().numpy()
        score = np.full_like(sizes, np.nan)
        np.divide(eigenvalues.real.sum(-1), sizes, out=score, where=sizes > rounding)
        scores[layer] = torch.from_numpy(score)
        if zero := np.flatnonzero(np.isnan(score)).tolist():
            reasons[layer] = f"{', '.join(str(Head(layer, head)) for head in zero)}: no token changes any logit"
    return scores, reasons


def _unembedding_by_embedding(circuit: Circuit) -> Float[Tensor, "d_model d_model"]:
    """`W_U W_E` over the tokens that both have; W_U less its mean over the vocabulary, which no probability sees."""
    n = min(circuit.d_vocab, circuit.model.d_vocab)
    starts = range(0, circuit.d_vocab, _CHUNK)
    sums = [circuit.unembedding(start, min(start + _CHUNK, circuit.d_vocab)).sum(-1) for start in starts]
    mean = torch.stack(sums).sum(0) / circuit.d_vocab
    product = mean.new_zeros(len(mean), len(mean))
    for start in range(0, n, _CHUNK):
        tokens = torch.arange(start, min(start + _CHUNK, n))
        columns = circuit.unembedding(start, min(start + _CHUNK, n)) - mean[:, None]
        product += columns @ circuit.embeddings(tokens).to(columns)
    return product


@torch.no_grad()
def direct_logits(
    paths: DirectPaths, batches: Sequence[PromptBatch]
) -> tuple[dict[int, Float[Tensor, " head"]], dict[int, str]]:
    """Layer -> direct logit difference by each head, mean over clean prompts, and layer -> why it has none.

    `(z W_O) N (W_U[answer] - W_U[distractor])` at the last token of the prompt, N the final norm with the scale of this
    run.
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
        hooks = {name: keeping(kept, name, lambda value: value[:, -1].clone()) for name in (last, *map(hook_z, layers))}
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


def not_additive(model: HookedModel, tokens: Tensor, layers: Iterable[int]) -> dict[int, Finding]:
    """Layer -> why its heads do not add `z W_O` to the residual stream, or why that is not known; {} where all do.

    Measured in two forward passes: with z at the last position set to 0, and what the block reads and the output of its
    MLP held, the residual stream after the block must change by `-z W_O`, summed over heads.
    """
    tokens, layers, seen = tokens[:_CHECKED_PROMPTS], list(layers), dict[str, Tensor]()
    mlps = [name for layer in layers if (name := f"blocks.{layer}.hook_mlp_out") in model.model.hook_dict]
    held = [*map(hook_before, layers), *mlps]
    read = [*map(hook_z, layers), *map(hook_after, layers)]
    try:
        model.run(tokens, hooks={name: keeping(seen, name) for name in dict.fromkeys([*held, *read])})
        changed = dict[str, Tensor]()
        hooks: dict[str, Edit] = {name: seen[name].to for name in held}  # as it was
        hooks |= {hook_z(layer): _last_is_zero for layer in layers}
        hooks |= {hook_after(layer): keeping(changed, hook_after(layer)) for layer in layers}
        model.run(tokens, hooks=hooks)
    except HeadcatsError as error:
        return {layer: line("direct.unknown", layer=layer, error=str(error)) for layer in layers}
    notes = {}
    for layer in layers:
        before, after = (stream[hook_after(layer)][:, -1] for stream in (seen, changed))
        z = seen[hook_z(layer)][:, -1]
        expected = -torch.einsum("phd,hdm->pm", z, model.W_O(layer).to(z)).float().to(before.device)
        difference = (after - before).float()
        off, size = float((difference - expected).abs().max()), float(expected.abs().max())
        if not off <= max(1e-3 * size, noise_floor(before.float(), model.dtype)):
            largest = float(difference.abs().max())
            notes[layer] = line("direct.not_additive", layer=layer, changed=largest, size=size, off=off)
    return notes


def _last_is_zero(z: Tensor) -> Tensor:
    z = z.clone()
    z[:, -1] = 0
    return z
