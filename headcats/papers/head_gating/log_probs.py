"""Log-probability of targets under gates on all heads, and its gradient with respect to the gates.

Gates `G [layer, head]` in [0, 1] multiply the head outputs z at all positions; rows are `model.layers`. Entries for
heads that a layer lacks are never read.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.graphs import counting_kept
from headcats.models.hooks import Edit, hook_z
from headcats.papers.head_gating.texts import GateTexts, Pass

# Activations that one pass may keep for its backward pass. Fixed, so that texts are split into the same passes and give
# the same bits on every machine.
KEPT_BYTES = 1 << 31


def existing_heads(model: HookedModel) -> Bool[Tensor, "layer head"]:
    """True for existing heads; layers may have different numbers of them."""
    counts = torch.tensor([model.n_heads[layer] for layer in model.layers])
    return torch.arange(model.max_heads)[None] < counts[:, None]


def gate_edits(model: HookedModel, gates: Float[Tensor, "layer head"]) -> dict[str, Edit]:
    """Hooks that multiply z of every head by its gate, at all positions."""

    def multiplied(row: int, n_heads: int) -> Edit:
        def multiply(z: Tensor) -> Tensor:
            return (z * gates[row, :n_heads, None].to(z.device)).to(z.dtype)

        return multiply

    return {hook_z(layer): multiplied(row, model.n_heads[layer]) for row, layer in enumerate(model.layers)}


def target_log_probs(model: HookedModel, texts: Pass, gates: Float[Tensor, "layer head"]) -> Float[Tensor, " text"]:
    """Mean log-probability of the targets of each text, in nats, in the caller's gradient mode."""
    logits = model.forward_at(texts.tokens, texts.predicts, hooks=gate_edits(model, gates))
    predicts, following = texts.predicts.to(logits.device), texts.following.to(logits.device)
    log_probs = logits.log_softmax(-1).gather(1, following[predicts][:, None])[:, 0]
    placed = torch.zeros(predicts.shape, device=logits.device).masked_scatter(predicts, log_probs)
    return placed.sum(1) / predicts.sum(1)


def mean_log_prob(model: HookedModel, texts: GateTexts, gates: Float[Tensor, "layer head"], *, at_once: int) -> float:
    """Mean over texts of the mean log-probability of their targets, in nats and double precision; no gradients."""
    log_probs = torch.zeros(len(texts), dtype=torch.float64)
    with torch.no_grad():
        for texts_of_pass in texts.passes(range(len(texts)), at_once=at_once):
            log_probs[list(texts_of_pass.order)] = target_log_probs(model, texts_of_pass, gates).double().cpu()
    return float(log_probs.mean())


def log_prob_gradient(
    model: HookedModel,
    texts: GateTexts,
    places: Sequence[int],
    theta: Float[Tensor, "layer head"],
    *,
    at_once: int,
) -> tuple[Float[Tensor, " text"], Float[Tensor, "layer head"]]:
    """Log-probabilities of the texts at `places`, and the gradient of their mean in `theta`; gates are sigmoid(theta).

    A ModelError if no gradient reaches the gates.
    """
    values, gradient = torch.zeros(len(places), dtype=torch.float64), torch.zeros_like(theta)
    for texts_of_pass in texts.passes(places, at_once=at_once):
        order = list(texts_of_pass.order)
        with _differentiable(model):
            log_probs = target_log_probs(model, texts_of_pass, theta.sigmoid())
            values[order] = log_probs.detach().double().cpu()
            part = log_probs.sum() / len(places)
            if not part.requires_grad:
                raise ModelError(
                    f"Model {model.name!r} gives no gradient with respect to its heads: part of its forward pass runs "
                    "without gradients, so gates cannot be fitted. Ablations need none."
                )
            gradient += torch.autograd.grad(part, theta)[0]
    return values, gradient


def texts_at_once(model: HookedModel, *data: GateTexts) -> int:
    """Number of texts that a pass may hold, measured with gradients on the longest text of each data set.

    Call it within `leaving_no_graph`.
    """
    most = 1
    for texts in data:
        theta = torch.zeros(len(model.layers), model.max_heads, requires_grad=True)
        longest_text = next(texts.passes([texts.longest], at_once=1))
        with _differentiable(model), counting_kept(model) as sizes:
            target_log_probs(model, longest_text, theta.sigmoid())
        most = max(most, sum(sizes.values()))
    return max(1, KEPT_BYTES // most)


@contextmanager
def _differentiable(model: HookedModel) -> Iterator[None]:
    """One forward and backward pass with the weights frozen, which saves keeping their inputs."""
    with model.lock, torch.enable_grad():
        trained = [weight for weight in model.model.parameters() if weight.requires_grad]
        try:
            for weight in trained:
                weight.requires_grad_(False)
            yield
        finally:
            for weight in trained:
                weight.requires_grad_(True)
