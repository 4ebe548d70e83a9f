"""Causal Head Gating as its formulas stand, text by text and gate by gate: the slow replica that fits are held to."""

from typing import Any

import torch

from headcats.prompts.answered import AnsweredBatch


def rows_of(*batches: AnsweredBatch) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [row for batch in batches for row in zip(batch.tokens, batch.targets, strict=True)]


def text_log_probs(raw: Any, rows: list[tuple[torch.Tensor, torch.Tensor]], gates: torch.Tensor) -> torch.Tensor:
    """Of each text the sum of the log-probabilities of its targets over their number; `raw` is of TransformerLens."""

    def times(layer: int) -> Any:
        def hook(z: torch.Tensor, hook: Any) -> torch.Tensor:
            return torch.stack([z[:, :, head] * gates[layer, head] for head in range(z.shape[2])], dim=2)

        return hook

    hooks = [(f"blocks.{layer}.attn.hook_z", times(layer)) for layer in range(len(gates))]
    of_texts = []
    for tokens, targets in rows:
        log_probs = raw.run_with_hooks(tokens[None], fwd_hooks=hooks)[0].log_softmax(-1)
        places = [place for place in range(len(tokens)) if targets[place]]
        of_texts.append(sum(log_probs[place - 1, tokens[place]] for place in places) / len(places))
    return torch.stack(of_texts)


def log_prob(raw: Any, rows: list[tuple[torch.Tensor, torch.Tensor]], gates: torch.Tensor) -> torch.Tensor:
    """Mean over texts of the mean log-probability of their targets."""
    of_texts = text_log_probs(raw, rows, gates)
    return sum(of_texts) / len(of_texts)


def adam(loss_of: Any, theta: torch.Tensor, *, rates: list[float], max_norm: float) -> tuple[torch.Tensor, list[float]]:
    """theta after one update per rate, and the norms of the gradients before they are clipped."""
    theta = theta.detach().clone()
    first, second, norms = torch.zeros_like(theta), torch.zeros_like(theta), []
    for step, rate in enumerate(rates, start=1):
        leaf = theta.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss_of(leaf), leaf)
        norms.append(float((gradient**2).sum().sqrt()))
        # As torch clips: its guard against a norm of 0 shortens the gradient by a millionth of its norm.
        gradient = gradient * min(1.0, max_norm / (norms[-1] + 1e-6))
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        theta = theta - rate * (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
    return theta, norms


def padded(rows: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and masks of texts of several lengths as one batch, filled up with token 0 on the right."""
    sides = ([row[side] for row in rows] for side in (0, 1))
    tokens, masks = (torch.nn.utils.rnn.pad_sequence(side, batch_first=True, padding_value=0) for side in sides)
    return tokens, masks


def padded_log_probs(raw: Any, tokens: torch.Tensor, masks: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
    """Of each text of a padded batch minus the masked cross-entropy, summed and divided by the number of targets."""

    def times(layer: int) -> Any:
        return lambda z, hook: z * gates[layer][None, None, :, None]

    hooks = [(f"blocks.{layer}.attn.hook_z", times(layer)) for layer in range(len(gates))]
    logits = raw.run_with_hooks(tokens[:, :-1], fwd_hooks=hooks)
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    return -(losses * masks[:, 1:]).sum(-1) / masks[:, 1:].sum(-1)


def trained(
    losses_of: Any, theta: torch.Tensor, *, rates: tuple[float, float], updates: int, max_norm: float
) -> torch.Tensor:
    """theta after torch's Adam under a linear schedule; the gradients of all losses of an update are added up, then
    clipped together. The last update has the last rate.
    """
    leaf = theta.detach().clone().requires_grad_()
    adam = torch.optim.Adam([leaf], lr=rates[0])
    schedule = torch.optim.lr_scheduler.LinearLR(
        adam, start_factor=1.0, end_factor=rates[1] / rates[0], total_iters=updates - 1
    )
    for _ in range(updates):
        adam.zero_grad()
        for loss in losses_of(leaf):
            loss.backward()
        torch.nn.utils.clip_grad_norm_(leaf, max_norm=max_norm)
        adam.step()
        schedule.step()
    return leaf.detach()
