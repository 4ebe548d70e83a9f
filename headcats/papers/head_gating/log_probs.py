"""Texts as tokens, and the log-probability of their targets under gates `[layer, head]` on z, with its gradient."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit, hook_z
from headcats.papers.chosen_logits import logits_at
from headcats.papers.gradients import counting_kept
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered

NextTokenData = Sequence[AnsweredText] | Sequence[AnsweredBatch]
"""Texts with marked targets, or batches of tokens for a model without a tokenizer."""
# Activations that one pass may keep for its backward pass. Fixed, so that texts are split into the same passes and give
# the same bits on every machine.
KEPT_BYTES = 1 << 31


class Pass(NamedTuple):
    """Texts of one length that go through the model together, and the token that follows each position."""

    tokens: Int[Tensor, "text pos"]
    predicts: Bool[Tensor, "text pos"]
    """True where the next token is a target; at least one per text."""
    following: Int[Tensor, "text pos"]
    order: tuple[int, ...]
    """Which of the texts that were asked for these are, from 0."""


class GateTexts:
    """Texts of any lengths, never padded: `(tokens, targets)`, `(task, item)` of each, and what was left out."""

    def __init__(
        self, rows: Sequence[tuple[Tensor, Tensor]], items: Sequence[tuple[str, str]], left_out: str = ""
    ) -> None:
        self.rows, self.items, self.left_out = tuple(rows), tuple(items), left_out

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def longest(self) -> int:
        """Place of a text of which the most tokens are read."""
        return max(range(len(self)), key=self._read)

    def passes(self, places: Sequence[int], *, at_once: int) -> Iterator[Pass]:
        """The texts at these places, grouped by length, at most `at_once` together; cut after the last target."""
        groups: dict[int, list[int]] = {}
        for number, place in enumerate(places):
            groups.setdefault(self._read(place), []).append(number)
        for length, group in groups.items():
            for start in range(0, len(group), at_once):
                order = tuple(group[start : start + at_once])
                rows = [self.rows[places[number]] for number in order]
                tokens, targets = (torch.stack([row[: length + 1] for row in side]) for side in zip(*rows, strict=True))
                yield Pass(tokens[:, :-1], targets[:, 1:], tokens[:, 1:], order)

    def _read(self, place: int) -> int:
        """Number of tokens before the last target."""
        return int(self.rows[place][1].nonzero()[-1])

    def split(self, share: float, draws: np.random.Generator) -> tuple["GateTexts", "GateTexts"]:
        """Texts to fit, and those of about `share` of the items, held out; a DataError if all ask the same."""
        items = list(dict.fromkeys(self.items))
        if len(items) < 2:
            raise DataError(
                f"Gates need texts of at least two items, one of them held out; got {len(self)} texts of "
                f"{len(items)}. Give more texts, each with its own `item` or without one."
            )
        n_held = min(len(items) - 1, max(1, round(share * len(items))))
        held_out = {items[place] for place in draws.permutation(len(items))[:n_held]}
        fitted = [place for place, item in enumerate(self.items) if item not in held_out]
        tested = [place for place, item in enumerate(self.items) if item in held_out]
        return self.select(fitted), self.select(tested)

    def select(self, places: Sequence[int]) -> "GateTexts":
        """The texts at these places, in this order."""
        return GateTexts([self.rows[place] for place in places], [self.items[place] for place in places])


def gate_texts(model: HookedModel, data: Sequence[Any], *, name: str) -> GateTexts:
    """Data as tokens of a model; `name` is for messages of a DataError or ModelError."""
    data = list(data)
    kinds = {type(text_or_batch) for text_or_batch in data}
    if not data or kinds not in ({AnsweredText}, {AnsweredBatch}):
        got = ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
        raise DataError(f"Data set {name!r} must be a list of AnsweredText; got {got}.")
    left_out = ""
    if kinds == {AnsweredText}:
        data, report = encode_answered(data, model.tokenizer, n_ctx=model.n_ctx)
        left_out = report.summary() if report.dropped else ""
        if not data:
            raise DataError(f"No text of data set {name!r} can be read by model {model.name!r}: {left_out}.")
    rows: list[tuple[Tensor, Tensor]] = []
    items: list[tuple[str, str]] = []
    for batch in data:
        model.check_tokens(batch.tokens)
        rows += zip(batch.tokens.cpu(), batch.targets.cpu(), strict=True)
        for text in batch.texts:
            # A text without an item is an item of its own.
            items.append((text.task, text.item) if text.item else ("", f"text {len(items)}"))
    return GateTexts(rows, items, left_out)


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
    logits = logits_at(model, texts.tokens, texts.predicts, hooks=gate_edits(model, gates))
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
    model: HookedModel, texts: GateTexts, places: Sequence[int], theta: Float[Tensor, "layer head"], *, at_once: int
) -> tuple[Float[Tensor, " text"], Float[Tensor, "layer head"]]:
    """Log-probabilities of the texts at `places`, and the gradient of their mean in `theta`, logits of the gates."""
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
    """Texts that a pass may hold, measured on the longest of each data set; call it within `leaving_no_graph`."""
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
